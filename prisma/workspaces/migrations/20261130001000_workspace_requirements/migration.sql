-- The modules and providers that the newest plan of a workspace installed, with the versions that its configuration
-- accepts. They replace what was known from downloads, which was only modules, and without constraints.
CREATE TABLE "workspace_requirement" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "constraint" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workspace_requirement_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "workspace_requirement_workspace_id_idx" ON "workspace_requirement"("workspace_id");
CREATE INDEX "workspace_requirement_kind_source_idx" ON "workspace_requirement"("kind", "source");
ALTER TABLE "workspace_requirement" ADD CONSTRAINT "workspace_requirement_workspace_id_fkey"
    FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
DROP TABLE "registry_module_usage";
