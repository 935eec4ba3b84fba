-- Workspaces of an organization by their current run. Those without one come last in both directions, which no index does by itself.
CREATE INDEX CONCURRENTLY "workspace_by_run_idx" ON "workspace" ("organization_id", "current_run_created_at", "id");
