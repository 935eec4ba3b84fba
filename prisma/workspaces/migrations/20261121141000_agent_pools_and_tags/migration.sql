-- CreateTable
CREATE TABLE "agent_pool" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "organization_scoped" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "agent_pool_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agent_pool_workspace" (
    "agent_pool_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,

    CONSTRAINT "agent_pool_workspace_pkey" PRIMARY KEY ("agent_pool_id","workspace_id")
);

-- CreateTable
CREATE TABLE "tag" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tag_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workspace_tag" (
    "workspace_id" TEXT NOT NULL,
    "tag_id" TEXT NOT NULL,
    "position" BIGSERIAL NOT NULL,

    CONSTRAINT "workspace_tag_pkey" PRIMARY KEY ("workspace_id","tag_id")
);

-- CreateTable
CREATE TABLE "tag_binding" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT,
    "project_id" TEXT,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL DEFAULT '',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tag_binding_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "agent_pool_organization_id_name_key" ON "agent_pool"("organization_id", "name");

-- CreateIndex
CREATE INDEX "agent_pool_workspace_workspace_id_idx" ON "agent_pool_workspace"("workspace_id");

-- CreateIndex
CREATE UNIQUE INDEX "tag_organization_id_name_key" ON "tag"("organization_id", "name");

-- CreateIndex
CREATE INDEX "workspace_tag_tag_id_idx" ON "workspace_tag"("tag_id");

-- CreateIndex
CREATE UNIQUE INDEX "tag_binding_workspace_id_key_key" ON "tag_binding"("workspace_id", "key");

-- CreateIndex
CREATE UNIQUE INDEX "tag_binding_project_id_key_key" ON "tag_binding"("project_id", "key");

-- AddForeignKey
ALTER TABLE "workspace" ADD CONSTRAINT "workspace_agent_pool_id_fkey" FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_pool" ADD CONSTRAINT "agent_pool_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_pool_workspace" ADD CONSTRAINT "agent_pool_workspace_agent_pool_id_fkey" FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_pool_workspace" ADD CONSTRAINT "agent_pool_workspace_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tag" ADD CONSTRAINT "tag_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace_tag" ADD CONSTRAINT "workspace_tag_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace_tag" ADD CONSTRAINT "workspace_tag_tag_id_fkey" FOREIGN KEY ("tag_id") REFERENCES "tag"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tag_binding" ADD CONSTRAINT "tag_binding_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tag_binding" ADD CONSTRAINT "tag_binding_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;



CREATE TRIGGER "agent_pool_revision" BEFORE INSERT OR UPDATE ON "agent_pool"
  FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER "workspace_tag_touch" AFTER INSERT OR DELETE ON "workspace_tag"
  FOR EACH ROW EXECUTE FUNCTION touch_parents();
CREATE TRIGGER "tag_binding_touch" AFTER INSERT OR UPDATE OR DELETE ON "tag_binding"
  FOR EACH ROW EXECUTE FUNCTION touch_parents();

-- A tag goes with the last workspace that has it.
CREATE FUNCTION drop_unused_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "tag" t USING (SELECT DISTINCT "tag_id" FROM gone) g
    WHERE t."id" = g."tag_id" AND NOT EXISTS (SELECT 1 FROM "workspace_tag" w WHERE w."tag_id" = t."id");
  RETURN NULL;
END $$;
CREATE TRIGGER "workspace_tag_gone" AFTER DELETE ON "workspace_tag" REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION drop_unused_tags();
