-- Every order in which workspaces are listed has an index, so that a page reads its own rows and no others.
ALTER TABLE "workspace" ADD COLUMN "current_run_created_at" TIMESTAMPTZ(3);

CREATE FUNCTION note_current_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."current_run_created_at" := (SELECT r."created_at" FROM "run" r WHERE r."id" = NEW."current_run_id");
  RETURN NEW;
END $$;
CREATE TRIGGER "workspace_current_run" BEFORE UPDATE OF "current_run_id" ON "workspace"
  FOR EACH ROW WHEN (OLD."current_run_id" IS DISTINCT FROM NEW."current_run_id") EXECUTE FUNCTION note_current_run();
