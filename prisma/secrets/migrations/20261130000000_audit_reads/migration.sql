-- Who read which secret: one row for all reads of an hour by the same token, from the same address, of the same path.
CREATE TABLE "audit_read" (
    "id" BYTEA NOT NULL,
    "hour" INTEGER NOT NULL,
    "first_ms" BIGINT NOT NULL,
    "last_ms" BIGINT NOT NULL,
    "times" BIGINT NOT NULL,
    "namespace" TEXT NOT NULL,
    "path" TEXT COLLATE "C" NOT NULL,
    "entity_id" TEXT NOT NULL,
    "entry" TEXT NOT NULL,

    CONSTRAINT "audit_read_pkey" PRIMARY KEY ("id", "hour")
);

CREATE INDEX "audit_read_first_ms_id_idx" ON "audit_read" ("first_ms", "id");

CREATE INDEX "audit_read_path_first_ms_idx" ON "audit_read" ("path", "first_ms");

CREATE INDEX "audit_read_entity_id_first_ms_idx" ON "audit_read" ("entity_id", "first_ms");
