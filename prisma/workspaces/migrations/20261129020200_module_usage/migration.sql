-- Versions of modules that the newest run of a workspace installed.
CREATE TABLE "registry_module_usage" (
    "id" TEXT NOT NULL,
    "module_version_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "registry_module_usage_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "registry_module_usage_module_version_id_workspace_id_key" ON "registry_module_usage"("module_version_id", "workspace_id");
CREATE INDEX "registry_module_usage_workspace_id_idx" ON "registry_module_usage"("workspace_id");
ALTER TABLE "registry_module_usage" ADD CONSTRAINT "registry_module_usage_module_version_id_fkey"
    FOREIGN KEY ("module_version_id") REFERENCES "registry_module_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "registry_module_usage" ADD CONSTRAINT "registry_module_usage_workspace_id_fkey"
    FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
