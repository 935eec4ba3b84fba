-- Workspaces show the webhook of their repository as soon as the row of the repository exists.
CREATE OR REPLACE FUNCTION touch_workspaces_of_repository() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  repository "vcs_repository" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
  UPDATE "workspace" SET "revision" = 0
    WHERE "oauth_token_id" = repository."oauth_token_id" AND "vcs_identifier" = repository."identifier";
  RETURN NULL;
END $$;
CREATE TRIGGER "vcs_repository_comes_and_goes" AFTER INSERT OR DELETE ON "vcs_repository"
  FOR EACH ROW EXECUTE FUNCTION touch_workspaces_of_repository();
