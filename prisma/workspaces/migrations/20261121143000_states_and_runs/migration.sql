-- CreateTable
CREATE TABLE "state_version" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "serial" BIGINT NOT NULL,
    "lineage" TEXT,
    "md5" TEXT NOT NULL,
    "size" BIGINT NOT NULL DEFAULT 0,
    "status" TEXT NOT NULL,
    "intermediate" BOOLEAN NOT NULL DEFAULT false,
    "format" INTEGER,
    "infra_version" TEXT,
    "resource_count" INTEGER NOT NULL DEFAULT 0,
    "resources_processed" BOOLEAN NOT NULL DEFAULT false,
    "modules" JSONB NOT NULL DEFAULT '{}',
    "providers" JSONB NOT NULL DEFAULT '{}',
    "resources" JSONB NOT NULL DEFAULT '[]',
    "run_id" TEXT,
    "created_by_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finalized_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "state_version_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "state_blob" (
    "state_version_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "content" BYTEA NOT NULL,

    CONSTRAINT "state_blob_pkey" PRIMARY KEY ("state_version_id","kind")
);

-- CreateTable
CREATE TABLE "state_output" (
    "id" TEXT NOT NULL,
    "state_version_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "sensitive" BOOLEAN NOT NULL DEFAULT false,
    "type" TEXT NOT NULL,
    "detailed_type" JSONB NOT NULL,
    "value" BYTEA NOT NULL,

    CONSTRAINT "state_output_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "configuration_version" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "source" TEXT NOT NULL DEFAULT 'tfe-api',
    "auto_queue_runs" BOOLEAN NOT NULL DEFAULT true,
    "speculative" BOOLEAN NOT NULL DEFAULT false,
    "provisional" BOOLEAN NOT NULL DEFAULT false,
    "error" TEXT,
    "error_message" TEXT,
    "timestamps" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "configuration_version_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "run" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "configuration_version_id" TEXT,
    "status" TEXT NOT NULL,
    "message" TEXT,
    "source" TEXT NOT NULL DEFAULT 'tfe-api',
    "is_destroy" BOOLEAN NOT NULL DEFAULT false,
    "plan_only" BOOLEAN NOT NULL DEFAULT false,
    "created_by_id" TEXT,
    "timestamps" JSONB NOT NULL DEFAULT '{}',
    "plan_ms" INTEGER,
    "apply_ms" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "run_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "state_version_workspace_id_created_at_idx" ON "state_version"("workspace_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "state_output_state_version_id_name_key" ON "state_output"("state_version_id", "name");

-- CreateIndex
CREATE INDEX "configuration_version_workspace_id_created_at_idx" ON "configuration_version"("workspace_id", "created_at");

-- CreateIndex
CREATE INDEX "run_workspace_id_created_at_idx" ON "run"("workspace_id", "created_at");

-- AddForeignKey
ALTER TABLE "state_version" ADD CONSTRAINT "state_version_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "state_blob" ADD CONSTRAINT "state_blob_state_version_id_fkey" FOREIGN KEY ("state_version_id") REFERENCES "state_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "state_output" ADD CONSTRAINT "state_output_state_version_id_fkey" FOREIGN KEY ("state_version_id") REFERENCES "state_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "configuration_version" ADD CONSTRAINT "configuration_version_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "run" ADD CONSTRAINT "run_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;


