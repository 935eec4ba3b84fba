-- Every order in which workspaces are listed has an index, so that a page reads its own rows and no others.
ALTER TABLE "workspace" ADD COLUMN "current_run_created_at" TIMESTAMPTZ(3);
UPDATE "workspace" w SET "current_run_created_at" = r."created_at" FROM "run" r WHERE r."id" = w."current_run_id";

CREATE FUNCTION note_current_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."current_run_created_at" := (SELECT r."created_at" FROM "run" r WHERE r."id" = NEW."current_run_id");
  RETURN NEW;
END $$;
CREATE TRIGGER "workspace_current_run" BEFORE UPDATE OF "current_run_id" ON "workspace"
  FOR EACH ROW WHEN (OLD."current_run_id" IS DISTINCT FROM NEW."current_run_id") EXECUTE FUNCTION note_current_run();

-- Workspaces without a run come last in both directions, which no index does by itself.
CREATE INDEX "workspace_by_run_idx" ON "workspace" ("organization_id", "current_run_created_at", "id");
CREATE INDEX "workspace_by_run_desc_idx" ON "workspace" ("organization_id", "current_run_created_at" DESC NULLS LAST, "id");
CREATE INDEX "workspace_by_change_idx" ON "workspace" ("organization_id", "latest_change_at", "id");

-- The same of the whole installation.
CREATE INDEX "workspace_all_by_name_idx" ON "workspace" ("name" COLLATE "C", "id") INCLUDE ("organization_id");
CREATE INDEX "workspace_all_by_run_idx" ON "workspace" ("current_run_created_at", "id") INCLUDE ("organization_id");
CREATE INDEX "workspace_all_by_run_desc_idx" ON "workspace" ("current_run_created_at" DESC NULLS LAST, "id")
  INCLUDE ("organization_id");
