-- CreateTable
CREATE TABLE "entity_merge" (
    "merged_id" UUID NOT NULL,
    "entity_id" UUID NOT NULL,

    CONSTRAINT "entity_merge_pkey" PRIMARY KEY ("merged_id")
);

-- CreateIndex
CREATE INDEX "entity_merge_entity_id_idx" ON "entity_merge"("entity_id");

-- AddForeignKey
ALTER TABLE "entity_merge" ADD CONSTRAINT "entity_merge_entity_id_fkey" FOREIGN KEY ("entity_id") REFERENCES "entity"("id") ON DELETE CASCADE ON UPDATE CASCADE;
