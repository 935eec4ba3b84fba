-- The assessments of a workspace, apart from its runs.
CREATE INDEX CONCURRENTLY "run_assessments" ON "run" ("workspace_id", "finished_at") WHERE "is_assessment";
