-- Workspaces that will be destroyed, in the order in which they are.
CREATE INDEX CONCURRENTLY "workspace_auto_destroy" ON "workspace" ("auto_destroy_due_at") WHERE "auto_destroy_due_at" IS NOT NULL;
