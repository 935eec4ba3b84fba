-- A workspace shows the README.md of its configuration.
ALTER TABLE "configuration_version" ADD COLUMN "readme_blob_id" TEXT;
ALTER TABLE "workspace" ADD COLUMN "readme_id" TEXT;

-- It goes when the configuration does, or its files.
CREATE FUNCTION drop_configuration_readme() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."readme_blob_id";
  UPDATE "workspace" SET "readme_id" = NULL WHERE "id" = OLD."workspace_id" AND "readme_id" = OLD."id";
  RETURN NULL;
END $$;
CREATE TRIGGER "configuration_version_readme_gone" AFTER DELETE ON "configuration_version"
  FOR EACH ROW WHEN (OLD."readme_blob_id" IS NOT NULL) EXECUTE FUNCTION drop_configuration_readme();
CREATE TRIGGER "configuration_version_emptied" AFTER UPDATE OF "blob_id" ON "configuration_version"
  FOR EACH ROW WHEN (OLD."readme_blob_id" IS NOT NULL AND NEW."blob_id" IS NULL)
  EXECUTE FUNCTION drop_configuration_readme();
