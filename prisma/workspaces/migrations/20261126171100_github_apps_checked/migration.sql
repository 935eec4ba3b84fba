-- Workspaces are read beside those who write to them.
ALTER TABLE "workspace" VALIDATE CONSTRAINT "workspace_vcs_installation_id_fkey";
