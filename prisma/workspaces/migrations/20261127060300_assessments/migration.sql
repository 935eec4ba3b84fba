-- Workspaces that are due to be assessed by themselves.
CREATE INDEX CONCURRENTLY "workspace_assessment_due" ON "workspace" ((coalesce("assessment_due_at", timestamptz '-infinity')))
  WHERE "assessments_enabled" AND "current_state_version_id" IS NOT NULL AND "resource_count" > 0;
