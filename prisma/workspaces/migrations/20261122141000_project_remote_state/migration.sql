-- State that is open to the workspaces of its project.
ALTER TABLE "workspace" ADD COLUMN     "project_remote_state" BOOLEAN NOT NULL DEFAULT false;
