-- Who announced a version of a module, and the signed statement about the published one.
ALTER TABLE "registry_module_version" ADD COLUMN "created_by" JSONB, ADD COLUMN "provenance" TEXT;
