-- Workspaces of the whole installation by name.
CREATE INDEX CONCURRENTLY "workspace_all_by_name_idx" ON "workspace" ("name" COLLATE "C", "id") INCLUDE ("organization_id");
