-- The same in the other direction.
CREATE INDEX CONCURRENTLY "workspace_all_by_run_desc_idx" ON "workspace" ("current_run_created_at" DESC NULLS LAST, "id")
  INCLUDE ("organization_id");
