-- Policies judge plans of earlier runs, without effect on them.
CREATE TABLE "policy_dry_run" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'running',
    "reason" TEXT,
    "created_by_type" TEXT NOT NULL DEFAULT 'users',
    "created_by_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "policy_dry_run_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "policy_dry_run_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "policy_dry_run_organization_id_created_at_idx" ON "policy_dry_run"("organization_id", "created_at");

-- One row for each run, in the order in which they are judged.
CREATE TABLE "policy_dry_run_result" (
    "policy_dry_run_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "run_id" TEXT NOT NULL,
    "status" TEXT,
    "would_stop" BOOLEAN NOT NULL DEFAULT false,
    "outcomes" JSONB NOT NULL DEFAULT '[]',

    CONSTRAINT "policy_dry_run_result_pkey" PRIMARY KEY ("policy_dry_run_id", "position"),
    CONSTRAINT "policy_dry_run_result_policy_dry_run_id_fkey" FOREIGN KEY ("policy_dry_run_id") REFERENCES "policy_dry_run"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "policy_dry_run_result_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "policy_dry_run_result_run_id_idx" ON "policy_dry_run_result"("run_id");

-- What judges it waits for workers among the evaluations of runs.
ALTER TABLE "policy_evaluation" ALTER COLUMN "task_stage_id" DROP NOT NULL, ADD COLUMN "policy_dry_run_id" TEXT;
CREATE UNIQUE INDEX "policy_evaluation_policy_dry_run_id_key" ON "policy_evaluation"("policy_dry_run_id");
ALTER TABLE "policy_evaluation" ADD CONSTRAINT "policy_evaluation_policy_dry_run_id_fkey"
    FOREIGN KEY ("policy_dry_run_id") REFERENCES "policy_dry_run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
