-- Checks by other services in the life of runs.
CREATE TABLE "run_task" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "hmac_key" BYTEA,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "global_enabled" BOOLEAN,
    "global_stages" TEXT[] NOT NULL DEFAULT '{}',
    "global_enforcement" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "run_task_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "run_task_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "run_task_organization_id_name_key" ON "run_task"("organization_id", "name");

CREATE TABLE "workspace_run_task" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "run_task_id" TEXT NOT NULL,
    "stages" TEXT[] NOT NULL,
    "enforcement_level" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "workspace_run_task_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "workspace_run_task_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "workspace_run_task_run_task_id_fkey" FOREIGN KEY ("run_task_id") REFERENCES "run_task"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "workspace_run_task_workspace_id_run_task_id_key" ON "workspace_run_task"("workspace_id", "run_task_id");
CREATE INDEX "workspace_run_task_run_task_id_idx" ON "workspace_run_task"("run_task_id");

CREATE TABLE "task_stage" (
    "id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "stage" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "timestamps" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "task_stage_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "task_stage_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "task_stage_run_id_stage_key" ON "task_stage"("run_id", "stage");

CREATE TABLE "task_result" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "task_stage_id" TEXT NOT NULL,
    "run_task_id" TEXT NOT NULL,
    "task_name" TEXT NOT NULL,
    "task_url" TEXT NOT NULL,
    "workspace_task_id" TEXT,
    "enforcement_level" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "message" TEXT NOT NULL DEFAULT '',
    "url" TEXT NOT NULL DEFAULT '',
    "outcomes" JSONB NOT NULL DEFAULT '[]',
    "timestamps" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sent_at" TIMESTAMPTZ(3),
    "ends_at" TIMESTAMPTZ(3),
    "next_at" TIMESTAMPTZ(3),
    "claim" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "task_result_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "task_result_task_stage_id_fkey" FOREIGN KEY ("task_stage_id") REFERENCES "task_stage"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "task_result_task_stage_id_idx" ON "task_result"("task_stage_id");
CREATE INDEX "task_result_next_at_idx" ON "task_result"("next_at");
