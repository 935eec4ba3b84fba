-- What configurations are made of, and who brought them.
ALTER TABLE "configuration_version"
    ADD COLUMN "blob_id" TEXT,
    ADD COLUMN "size" BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN "created_by_type" TEXT NOT NULL DEFAULT 'users',
    ADD COLUMN "created_by_id" TEXT,
    ADD COLUMN "creator_applies" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "deleted_at" TIMESTAMPTZ(3);

ALTER TABLE "run"
    ADD COLUMN "number" BIGSERIAL NOT NULL,
    ADD COLUMN "status_reason" TEXT,
    ADD COLUMN "trigger_reason" TEXT NOT NULL DEFAULT 'manual',
    ADD COLUMN "save_plan" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "auto_apply" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "allow_empty_apply" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "allow_config_generation" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "refresh" BOOLEAN NOT NULL DEFAULT true,
    ADD COLUMN "refresh_only" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "debugging_mode" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "forced" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "target_addrs" TEXT[] DEFAULT ARRAY[]::TEXT[],
    ADD COLUMN "replace_addrs" TEXT[] DEFAULT ARRAY[]::TEXT[],
    ADD COLUMN "variables" BYTEA,
    ADD COLUMN "infra_version" TEXT,
    ADD COLUMN "created_by_type" TEXT NOT NULL DEFAULT 'users',
    ADD COLUMN "confirmed_by_type" TEXT,
    ADD COLUMN "confirmed_by_id" TEXT,
    ADD COLUMN "canceled_by_type" TEXT,
    ADD COLUMN "canceled_by_id" TEXT,
    ADD COLUMN "canceled_at" TIMESTAMPTZ(3),
    ADD COLUMN "force_cancel_at" TIMESTAMPTZ(3),
    ADD COLUMN "input_state_version_id" TEXT;

CREATE TABLE "run_phase" (
    "id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "has_changes" BOOLEAN,
    "additions" INTEGER,
    "changes" INTEGER,
    "destructions" INTEGER,
    "imports" INTEGER,
    "generated_configuration" BOOLEAN NOT NULL DEFAULT false,
    "error_message" TEXT,
    "timestamps" JSONB NOT NULL DEFAULT '{}',
    "log_size" BIGINT NOT NULL DEFAULT 0,
    "json_blob_id" TEXT,
    "redacted_blob_id" TEXT,
    "plan_blob_id" TEXT,
    "state_blob_id" TEXT,

    CONSTRAINT "run_phase_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "log_chunk" (
    "phase_id" TEXT NOT NULL,
    "start" BIGINT NOT NULL,
    "size" INTEGER NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "log_chunk_pkey" PRIMARY KEY ("phase_id","start")
);

CREATE TABLE "run_event" (
    "id" TEXT NOT NULL,
    "number" BIGSERIAL NOT NULL,
    "run_id" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "description" TEXT,
    "actor_type" TEXT,
    "actor_id" TEXT,
    "comment_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "run_event_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "run_comment" (
    "id" TEXT NOT NULL,
    "number" BIGSERIAL NOT NULL,
    "run_id" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "created_by_type" TEXT NOT NULL,
    "created_by_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "run_comment_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "run_job" (
    "id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "phase_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'queued',
    "cancel" TEXT NOT NULL DEFAULT 'no',
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "worker_id" TEXT,
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "claimed_until" TIMESTAMPTZ(3),

    CONSTRAINT "run_job_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "run_worker" (
    "id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "run_worker_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "run_workspace_id_number_idx" ON "run"("workspace_id", "number");
CREATE INDEX "run_waiting_idx" ON "run"("workspace_id", "number") WHERE "finished_at" IS NULL;
CREATE UNIQUE INDEX "run_phase_run_id_kind_key" ON "run_phase"("run_id", "kind");
CREATE INDEX "run_event_run_id_number_idx" ON "run_event"("run_id", "number");
CREATE INDEX "run_comment_run_id_number_idx" ON "run_comment"("run_id", "number");
CREATE UNIQUE INDEX "run_job_phase_id_key" ON "run_job"("phase_id");
CREATE INDEX "run_job_run_id_idx" ON "run_job"("run_id");
CREATE INDEX "run_job_open_idx" ON "run_job"("queued_at") WHERE "state" <> 'done';
CREATE INDEX "run_worker_seen_at_idx" ON "run_worker"("seen_at");

ALTER TABLE "run_phase" ADD CONSTRAINT "run_phase_run_id_fkey"
    FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "log_chunk" ADD CONSTRAINT "log_chunk_phase_id_fkey"
    FOREIGN KEY ("phase_id") REFERENCES "run_phase"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "run_event" ADD CONSTRAINT "run_event_run_id_fkey"
    FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "run_comment" ADD CONSTRAINT "run_comment_run_id_fkey"
    FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "run_job" ADD CONSTRAINT "run_job_run_id_fkey"
    FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "run_job" ADD CONSTRAINT "run_job_phase_id_fkey"
    FOREIGN KEY ("phase_id") REFERENCES "run_phase"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Every run has a plan and an apply, also one from before there were any.
INSERT INTO "run_phase" ("id", "run_id", "kind")
  SELECT k.kind || substring(r."id" from 4), r."id", k.kind FROM "run" r, (VALUES ('plan'), ('apply')) k(kind);

-- Bytes that only a row referred to go with it.
CREATE FUNCTION drop_configuration_blob() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."blob_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "configuration_version_gone" AFTER DELETE ON "configuration_version"
  FOR EACH ROW EXECUTE FUNCTION drop_configuration_blob();

CREATE FUNCTION drop_phase_blobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob"
    WHERE "id" IN (OLD."json_blob_id", OLD."redacted_blob_id", OLD."plan_blob_id", OLD."state_blob_id");
  RETURN NULL;
END $$;
CREATE TRIGGER "run_phase_gone" AFTER DELETE ON "run_phase"
  FOR EACH ROW EXECUTE FUNCTION drop_phase_blobs();

-- A workspace shows figures of its finished runs.
CREATE FUNCTION touch_workspace_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "workspace" SET "revision" = 0 WHERE "id" = NEW."workspace_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "run_finished" AFTER UPDATE OF "finished_at" ON "run"
  FOR EACH ROW WHEN (OLD."finished_at" IS DISTINCT FROM NEW."finished_at") EXECUTE FUNCTION touch_workspace_of_run();
