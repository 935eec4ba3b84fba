-- Workspaces show how the host describes their repository.
CREATE FUNCTION touch_workspaces_of_repository() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "workspace" SET "revision" = 0
    WHERE "oauth_token_id" = NEW."oauth_token_id" AND "vcs_identifier" = NEW."identifier";
  RETURN NULL;
END $$;
CREATE TRIGGER "vcs_repository_touch" AFTER UPDATE OF "display_identifier", "http_url" ON "vcs_repository"
  FOR EACH ROW WHEN (OLD."display_identifier" IS DISTINCT FROM NEW."display_identifier" OR OLD."http_url" IS DISTINCT FROM NEW."http_url")
  EXECUTE FUNCTION touch_workspaces_of_repository();

-- They also show their variables, ordered by key.
CREATE TRIGGER "variable_rename_touch" AFTER UPDATE OF "key" ON "variable"
  FOR EACH ROW WHEN (OLD."key" IS DISTINCT FROM NEW."key") EXECUTE FUNCTION touch_parents();
