-- Who is told what of runs, and what is still to be told.
CREATE TABLE "notification_configuration" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT,
    "project_id" TEXT,
    "name" TEXT NOT NULL,
    "destination_type" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "triggers" TEXT[],
    "url" BYTEA,
    "token" BYTEA,
    "email_addresses" TEXT[],
    "user_ids" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "notification_configuration_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "notification_delivery" (
    "id" TEXT NOT NULL,
    "configuration_id" TEXT NOT NULL,
    "run_id" TEXT,
    "trigger" TEXT NOT NULL,
    "run_status" TEXT,
    "actor_type" TEXT,
    "actor_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "done_at" TIMESTAMPTZ(3),
    "sent_at" TIMESTAMPTZ(3),
    "successful" BOOLEAN,
    "code" TEXT,
    "body" TEXT,

    CONSTRAINT "notification_delivery_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "notification_configuration_workspace_id_idx" ON "notification_configuration"("workspace_id");
CREATE INDEX "notification_configuration_project_id_idx" ON "notification_configuration"("project_id");
CREATE INDEX "notification_delivery_configuration_id_sent_at_idx" ON "notification_delivery"("configuration_id", "sent_at");
CREATE INDEX "notification_delivery_run_id_idx" ON "notification_delivery"("run_id");
CREATE INDEX "notification_delivery_due" ON "notification_delivery"("configuration_id", "due_at") WHERE "done_at" IS NULL;

ALTER TABLE "notification_configuration" ADD CONSTRAINT "notification_configuration_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "notification_configuration" ADD CONSTRAINT "notification_configuration_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "notification_delivery" ADD CONSTRAINT "notification_delivery_configuration_id_fkey" FOREIGN KEY ("configuration_id") REFERENCES "notification_configuration"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "notification_delivery" ADD CONSTRAINT "notification_delivery_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
