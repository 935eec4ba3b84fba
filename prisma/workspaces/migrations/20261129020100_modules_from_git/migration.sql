-- Modules whose versions come from a repository: from its tags, or from commits of a branch.
ALTER TABLE "registry_module"
    ADD COLUMN "oauth_token_id" TEXT,
    ADD COLUMN "vcs_identifier" TEXT,
    ADD COLUMN "vcs_branch" TEXT,
    ADD COLUMN "tag_prefix" TEXT NOT NULL DEFAULT '',
    ADD COLUMN "source_directory" TEXT NOT NULL DEFAULT '',
    ADD COLUMN "initial_version" TEXT,
    ADD COLUMN "looked_at" TIMESTAMPTZ(3),
    ADD COLUMN "withdrawn" TEXT[] NOT NULL DEFAULT '{}';
CREATE INDEX "registry_module_oauth_token_id_idx" ON "registry_module"("oauth_token_id");
ALTER TABLE "registry_module" ADD CONSTRAINT "registry_module_oauth_token_id_fkey"
    FOREIGN KEY ("oauth_token_id") REFERENCES "oauth_token"("id") ON DELETE SET NULL ON UPDATE CASCADE;
CREATE TRIGGER "module_leaves_repository" AFTER UPDATE OF "oauth_token_id", "vcs_identifier" ON "registry_module" FOR EACH ROW
  WHEN (OLD."oauth_token_id" IS NOT NULL AND OLD."vcs_identifier" IS NOT NULL
    AND (OLD."oauth_token_id" IS DISTINCT FROM NEW."oauth_token_id" OR OLD."vcs_identifier" IS DISTINCT FROM NEW."vcs_identifier"))
  EXECUTE FUNCTION look_at_left_repository();
CREATE TRIGGER "module_gone_from_repository" AFTER DELETE ON "registry_module" FOR EACH ROW
  WHEN (OLD."oauth_token_id" IS NOT NULL AND OLD."vcs_identifier" IS NOT NULL) EXECUTE FUNCTION look_at_left_repository();

ALTER TABLE "registry_module_version"
    ADD COLUMN "source" TEXT NOT NULL DEFAULT 'tfe-api',
    ADD COLUMN "source_directory" TEXT NOT NULL DEFAULT '',
    ADD COLUMN "tag" TEXT,
    ADD COLUMN "deprecated_at" TIMESTAMPTZ(3),
    ADD COLUMN "deprecation_reason" TEXT,
    ADD COLUMN "deprecation_link" TEXT;

-- Commits that versions of modules wait for: fetched by a worker, and published by any node.
CREATE TABLE "module_fetch" (
    "id" TEXT NOT NULL,
    "module_version_id" TEXT NOT NULL,
    "repository_id" TEXT NOT NULL,
    "clone_url" TEXT NOT NULL,
    "commit_sha" TEXT NOT NULL,
    "ref" TEXT,
    "status" TEXT NOT NULL DEFAULT 'fetching',
    "problem" TEXT,
    "blob_id" TEXT,
    "fetch_failures" INTEGER NOT NULL DEFAULT 0,
    "fetch_worker_id" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "claim" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "module_fetch_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "module_fetch_module_version_id_key" ON "module_fetch"("module_version_id");
CREATE INDEX "module_fetch_repository_id_idx" ON "module_fetch"("repository_id");
CREATE INDEX "module_fetch_next_at_idx" ON "module_fetch"("next_at");
ALTER TABLE "module_fetch" ADD CONSTRAINT "module_fetch_module_version_id_fkey"
    FOREIGN KEY ("module_version_id") REFERENCES "registry_module_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "module_fetch" ADD CONSTRAINT "module_fetch_repository_id_fkey"
    FOREIGN KEY ("repository_id") REFERENCES "vcs_repository"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The archive goes with its fetch; a version whose fetch went before it came waits no longer.
CREATE FUNCTION end_module_fetch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."blob_id";
  UPDATE "registry_module_version"
     SET "status" = 'clone_failed', "error" = 'the module is not connected to the repository any more', "updated_at" = now()
   WHERE "id" = OLD."module_version_id" AND "status" = 'cloning';
  RETURN NULL;
END $$;
CREATE TRIGGER "module_fetch_gone" AFTER DELETE ON "module_fetch" FOR EACH ROW EXECUTE FUNCTION end_module_fetch();
