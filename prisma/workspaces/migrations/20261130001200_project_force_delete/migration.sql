-- Whether workspaces of a project may be deleted while they manage resources; null: as the organization says.
ALTER TABLE "project" ADD COLUMN "allow_force_delete_workspaces" BOOLEAN;
