ALTER TABLE "project" ADD COLUMN "secrets_role" TEXT, ADD COLUMN "secrets_namespace" TEXT;
ALTER TABLE "workspace" ADD COLUMN "secrets_role" TEXT, ADD COLUMN "secrets_namespace" TEXT;

-- No foreign key: a token outlives the job it was for until it has been revoked.
CREATE TABLE "run_credential" (
    "id" TEXT NOT NULL,
    "job_id" TEXT NOT NULL,
    "worker_id" TEXT NOT NULL,
    "namespace" TEXT NOT NULL DEFAULT '',
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "run_credential_pkey" PRIMARY KEY ("id")
);
