-- The duration of the project holds where a workspace has neither a time nor a duration of its own.
ALTER TABLE "workspace" ADD COLUMN     "inherits_project_auto_destroy" BOOLEAN NOT NULL DEFAULT true;
UPDATE "workspace" SET "inherits_project_auto_destroy" = false
 WHERE "auto_destroy_at" IS NOT NULL OR "auto_destroy_activity_duration" IS NOT NULL;
