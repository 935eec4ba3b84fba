-- The same in the other direction.
CREATE INDEX CONCURRENTLY "workspace_by_run_desc_idx" ON "workspace" ("organization_id", "current_run_created_at" DESC NULLS LAST, "id");
