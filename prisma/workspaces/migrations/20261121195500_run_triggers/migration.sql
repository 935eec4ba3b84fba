-- A workspace gets a run when one has been applied in another.
CREATE TABLE "run_trigger" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "sourceable_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_run_id" TEXT,

    CONSTRAINT "run_trigger_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "run_trigger_sourceable_id_idx" ON "run_trigger"("sourceable_id");
CREATE UNIQUE INDEX "run_trigger_workspace_id_sourceable_id_key" ON "run_trigger"("workspace_id", "sourceable_id");
CREATE INDEX "run_trigger_due" ON "run_trigger"("id") WHERE "due_run_id" IS NOT NULL;
ALTER TABLE "run_trigger" ADD CONSTRAINT "run_trigger_workspace_id_fkey"
    FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "run_trigger" ADD CONSTRAINT "run_trigger_sourceable_id_fkey"
    FOREIGN KEY ("sourceable_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
