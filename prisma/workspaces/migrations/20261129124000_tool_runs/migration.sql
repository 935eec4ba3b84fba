-- Tests of modules, and queries: runs of the tool that change no state of a workspace.
CREATE TABLE "tool_run" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "module_id" TEXT,
    "workspace_id" TEXT,
    "configuration_version_id" TEXT,
    "module_version_id" TEXT,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "variables" BYTEA,
    "infra_version" TEXT,
    "source" TEXT NOT NULL DEFAULT 'tfe-api',
    "results" JSONB,
    "created_by_type" TEXT NOT NULL DEFAULT 'users',
    "created_by_id" TEXT,
    "canceled_by_type" TEXT,
    "canceled_by_id" TEXT,
    "canceled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "tool_run_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "tool_run_organization_id_idx" ON "tool_run"("organization_id");
CREATE INDEX "tool_run_module_id_created_at_idx" ON "tool_run"("module_id", "created_at");
CREATE INDEX "tool_run_workspace_id_created_at_idx" ON "tool_run"("workspace_id", "created_at");
CREATE INDEX "tool_run_configuration_version_id_idx" ON "tool_run"("configuration_version_id");
CREATE INDEX "tool_run_module_version_id_idx" ON "tool_run"("module_version_id");
ALTER TABLE "tool_run" ADD CONSTRAINT "tool_run_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "tool_run" ADD CONSTRAINT "tool_run_module_id_fkey"
    FOREIGN KEY ("module_id") REFERENCES "registry_module"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "tool_run" ADD CONSTRAINT "tool_run_workspace_id_fkey"
    FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "tool_run" ADD CONSTRAINT "tool_run_configuration_version_id_fkey"
    FOREIGN KEY ("configuration_version_id") REFERENCES "configuration_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "tool_run" ADD CONSTRAINT "tool_run_module_version_id_fkey"
    FOREIGN KEY ("module_version_id") REFERENCES "registry_module_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Its phase and its job are those of the tables of runs; the phase has its id.
ALTER TABLE "run_phase" ALTER COLUMN "run_id" DROP NOT NULL;
ALTER TABLE "run_job" ALTER COLUMN "run_id" DROP NOT NULL;
CREATE FUNCTION drop_phase_of_tool_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "run_phase" WHERE "id" = OLD."id";
  RETURN NULL;
END $$;
CREATE TRIGGER "tool_run_gone" AFTER DELETE ON "tool_run"
  FOR EACH ROW EXECUTE FUNCTION drop_phase_of_tool_run();

-- What is tested of a module, by whom, and with what.
ALTER TABLE "registry_module" ADD COLUMN "tests_enabled" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "test_execution_mode" TEXT,
    ADD COLUMN "test_agent_pool_id" TEXT;
ALTER TABLE "configuration_version" ALTER COLUMN "workspace_id" DROP NOT NULL, ADD COLUMN "module_id" TEXT;
ALTER TABLE "configuration_version" ADD CONSTRAINT "configuration_version_module_id_fkey"
    FOREIGN KEY ("module_id") REFERENCES "registry_module"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;
ALTER TABLE "variable" ADD COLUMN "module_id" TEXT;
ALTER TABLE "variable" ADD CONSTRAINT "variable_module_id_fkey"
    FOREIGN KEY ("module_id") REFERENCES "registry_module"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;
