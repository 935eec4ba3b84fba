-- Workspaces of the whole installation by their current run.
CREATE INDEX CONCURRENTLY "workspace_all_by_run_idx" ON "workspace" ("current_run_created_at", "id") INCLUDE ("organization_id");
