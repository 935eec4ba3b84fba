-- Workspaces of an organization by their latest change.
CREATE INDEX CONCURRENTLY "workspace_by_change_idx" ON "workspace" ("organization_id", "latest_change_at", "id");
