-- The workspaces of an installation of an app.
CREATE INDEX CONCURRENTLY "workspace_vcs_installation_id_idx" ON "workspace"("vcs_installation_id") WHERE "vcs_installation_id" IS NOT NULL;
