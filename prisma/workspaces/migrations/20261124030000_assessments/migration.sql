-- Plans that look whether the infrastructure of a workspace is as its state says. They are carried out as runs are, and are none.
ALTER TABLE "run" ADD COLUMN     "is_assessment" BOOLEAN NOT NULL DEFAULT false;

-- What such a plan found, before it is a result.
ALTER TABLE "run_phase" ADD COLUMN     "health" JSONB;

ALTER TABLE "workspace" ADD COLUMN     "assessment_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "current_assessment_result_id" TEXT,
ADD COLUMN     "last_assessment_result_at" TIMESTAMPTZ(3);

CREATE TABLE "assessment_result" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "succeeded" BOOLEAN NOT NULL,
    "error_message" TEXT,
    "drifted" BOOLEAN NOT NULL,
    "resources_drifted" INTEGER NOT NULL,
    "resources_undrifted" INTEGER NOT NULL,
    "checks_passed" INTEGER NOT NULL,
    "checks_failed" INTEGER NOT NULL,
    "checks_errored" INTEGER NOT NULL,
    "checks_unknown" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "assessment_result_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "assessment_result_workspace_id_created_at_idx" ON "assessment_result"("workspace_id", "created_at");
CREATE UNIQUE INDEX "assessment_result_run_id_key" ON "assessment_result"("run_id");
ALTER TABLE "assessment_result" ADD CONSTRAINT "assessment_result_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "assessment_result" ADD CONSTRAINT "assessment_result_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
