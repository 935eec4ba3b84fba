-- Policy sets whose versions come from a branch of a repository.
ALTER TABLE "policy_set"
    ADD COLUMN "oauth_token_id" TEXT,
    ADD COLUMN "vcs_identifier" TEXT,
    ADD COLUMN "vcs_branch" TEXT,
    ADD COLUMN "vcs_ingress_submodules" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "policies_path" TEXT NOT NULL DEFAULT '',
    ADD COLUMN "seen_commit" TEXT;
ALTER TABLE "policy_set" ADD CONSTRAINT "policy_set_oauth_token_id_fkey"
    FOREIGN KEY ("oauth_token_id") REFERENCES "oauth_token"("id") ON DELETE SET NULL ON UPDATE CASCADE NOT VALID;
CREATE TRIGGER "policy_set_leaves_repository" AFTER UPDATE OF "oauth_token_id", "vcs_identifier" ON "policy_set" FOR EACH ROW
  WHEN (OLD."oauth_token_id" IS NOT NULL AND OLD."vcs_identifier" IS NOT NULL
    AND (OLD."oauth_token_id" IS DISTINCT FROM NEW."oauth_token_id" OR OLD."vcs_identifier" IS DISTINCT FROM NEW."vcs_identifier"))
  EXECUTE FUNCTION look_at_left_repository();
CREATE TRIGGER "policy_set_gone_from_repository" AFTER DELETE ON "policy_set" FOR EACH ROW
  WHEN (OLD."oauth_token_id" IS NOT NULL AND OLD."vcs_identifier" IS NOT NULL) EXECUTE FUNCTION look_at_left_repository();

ALTER TABLE "policy_set_version"
    ADD COLUMN "commit_sha" TEXT,
    ADD COLUMN "commit_url" TEXT,
    ADD COLUMN "vcs_identifier" TEXT,
    ADD COLUMN "service_provider" TEXT,
    ADD COLUMN "policies_path" TEXT NOT NULL DEFAULT '';

-- A commit is for a version of a module, or for one of a policy set.
ALTER TABLE "module_fetch"
    ALTER COLUMN "module_version_id" DROP NOT NULL,
    ADD COLUMN "policy_set_version_id" TEXT,
    ADD COLUMN "submodules" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "module_fetch" ADD CONSTRAINT "module_fetch_policy_set_version_id_fkey"
    FOREIGN KEY ("policy_set_version_id") REFERENCES "policy_set_version"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;

CREATE OR REPLACE FUNCTION end_module_fetch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."blob_id";
  UPDATE "registry_module_version"
     SET "status" = 'clone_failed', "error" = 'the module is not connected to the repository any more', "updated_at" = now()
   WHERE "id" = OLD."module_version_id" AND "status" = 'cloning';
  UPDATE "policy_set_version"
     SET "status" = 'errored', "error" = 'the policy set is not connected to the repository any more', "updated_at" = now()
   WHERE "id" = OLD."policy_set_version_id" AND "status" = 'ingressing';
  RETURN NULL;
END $$;
