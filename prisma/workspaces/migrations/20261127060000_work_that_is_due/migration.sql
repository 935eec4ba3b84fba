-- Commits of which a host is still to be told are found without looking at the others, which are closed until somebody starts
-- another run of them.
ALTER TABLE "ingress_attributes" ADD COLUMN "status_open" BOOLEAN NOT NULL DEFAULT true;
CREATE INDEX "ingress_attributes_open" ON "ingress_attributes"("status_at") WHERE "status_open";

CREATE FUNCTION open_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "ingress_attributes" SET "status_open" = true, "status_at" = now()
   WHERE "configuration_version_id" = NEW."configuration_version_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "run_opens_commit" AFTER INSERT ON "run" FOR EACH ROW
  WHEN (NEW."configuration_version_id" IS NOT NULL AND NOT NEW."is_assessment") EXECUTE FUNCTION open_commit();

-- A repository that a workspace is no longer connected to is looked at now: nobody else may be.
CREATE FUNCTION look_at_left_repository() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "vcs_repository" SET "next_at" = now()
   WHERE "oauth_token_id" = OLD."oauth_token_id" AND "identifier" = OLD."vcs_identifier" AND "orphaned_at" IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER "workspace_leaves_repository" AFTER UPDATE OF "oauth_token_id", "vcs_identifier" ON "workspace" FOR EACH ROW
  WHEN (OLD."oauth_token_id" IS NOT NULL AND OLD."vcs_identifier" IS NOT NULL
    AND (OLD."oauth_token_id" IS DISTINCT FROM NEW."oauth_token_id" OR OLD."vcs_identifier" IS DISTINCT FROM NEW."vcs_identifier"))
  EXECUTE FUNCTION look_at_left_repository();
CREATE TRIGGER "workspace_gone_from_repository" AFTER DELETE ON "workspace" FOR EACH ROW
  WHEN (OLD."oauth_token_id" IS NOT NULL AND OLD."vcs_identifier" IS NOT NULL) EXECUTE FUNCTION look_at_left_repository();
