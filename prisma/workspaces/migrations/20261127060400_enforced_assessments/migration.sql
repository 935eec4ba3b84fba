-- Workspaces that are due to be assessed because their organization wants it.
CREATE INDEX CONCURRENTLY "workspace_enforced_assessment_due" ON "workspace" ("organization_id", (coalesce("assessment_due_at", timestamptz '-infinity')))
  WHERE "current_state_version_id" IS NOT NULL AND "resource_count" > 0;
