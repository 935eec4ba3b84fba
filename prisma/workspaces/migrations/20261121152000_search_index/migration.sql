-- New names go into the index at once: a list of pending ones would be read by every search.
ALTER INDEX IF EXISTS "workspace_name_trgm_idx" SET (fastupdate = off);

-- A move to another project changes who sees the workspace in lists.
CREATE TRIGGER "workspace_moved_in_lists" AFTER UPDATE OF "project_id" ON "workspace"
  FOR EACH ROW WHEN (OLD."project_id" IS DISTINCT FROM NEW."project_id") EXECUTE FUNCTION move_tally();
