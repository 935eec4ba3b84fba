-- Teams are notified of change requests in the workspaces that they may read.
CREATE TABLE "change_request" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "created_by_type" TEXT NOT NULL,
    "created_by_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "archived_at" TIMESTAMPTZ(3),
    "archived_by_type" TEXT,
    "archived_by_id" TEXT,

    CONSTRAINT "change_request_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "change_request_workspace_id_created_at_idx" ON "change_request"("workspace_id", "created_at");
ALTER TABLE "change_request" ADD CONSTRAINT "change_request_workspace_id_fkey"
    FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "notification_configuration" ADD COLUMN "team_id" TEXT;
ALTER TABLE "notification_configuration" ADD CONSTRAINT "notification_configuration_team_id_fkey"
    FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;
