-- Chunks of a blob lie in the database, or in an object store outside it. A provisional blob is complete, but nothing
-- refers to it yet: it is swept like an unfinished one unless it is kept.
ALTER TABLE "blob"
    ADD COLUMN "store" TEXT NOT NULL DEFAULT 'database',
    ADD COLUMN "provisional" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "alive_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

DROP INDEX "blob_created_at_idx";
CREATE INDEX "blob_waiting_idx" ON "blob"("alive_at") WHERE "completed_at" IS NULL OR "provisional";

-- Objects whose blob is gone: what remains to be deleted outside, until it is.
CREATE TABLE "object_removal" (
    "blob_id" TEXT NOT NULL,
    "not_before" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "object_removal_pkey" PRIMARY KEY ("blob_id")
);
CREATE INDEX "object_removal_not_before_idx" ON "object_removal"("not_before");

CREATE FUNCTION note_object_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "object_removal" ("blob_id") VALUES (OLD."id") ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER "blob_gone" AFTER DELETE ON "blob"
  FOR EACH ROW WHEN (OLD."store" <> 'database') EXECUTE FUNCTION note_object_removal();

-- States whose outputs and resources are still to be read, each by one node at a time.
ALTER TABLE "state_version"
    ADD COLUMN "processing_until" TIMESTAMPTZ(3),
    ADD COLUMN "processing_attempts" INTEGER NOT NULL DEFAULT 0;
CREATE INDEX "state_version_unprocessed_idx" ON "state_version"("processing_until")
    WHERE "status" = 'finalized' AND NOT "resources_processed";

-- A holder who opted in shows signs of life, and loses the lock when they stop.
ALTER TABLE "workspace_lock"
    ADD COLUMN "heartbeat_seconds" INTEGER,
    ADD COLUMN "expires_at" TIMESTAMPTZ(3);
CREATE INDEX "workspace_lock_expires_at_idx" ON "workspace_lock"("expires_at")
    WHERE "unlocked_at" IS NULL AND "expires_at" IS NOT NULL;

-- What the tool exchanges for a token after its user has signed in.
CREATE TABLE "login_code" (
    "hash" BYTEA NOT NULL,
    "user_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "redirect_uri" TEXT NOT NULL,
    "challenge" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "login_code_pkey" PRIMARY KEY ("hash")
);
CREATE INDEX "login_code_user_id_idx" ON "login_code"("user_id");
ALTER TABLE "login_code" ADD CONSTRAINT "login_code_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "user_account"("id") ON DELETE CASCADE ON UPDATE CASCADE;
