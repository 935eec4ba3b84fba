-- Policies that judge plans, the sets that bring them to workspaces, and what came of them in runs.
CREATE TABLE "policy" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "query" TEXT,
    "description" TEXT NOT NULL DEFAULT '',
    "enforcement_level" TEXT NOT NULL,
    "content" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "policy_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "policy_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "policy_organization_id_name_key" ON "policy"("organization_id", "name");

CREATE TABLE "policy_set" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "global" BOOLEAN NOT NULL DEFAULT false,
    "overridable" BOOLEAN NOT NULL DEFAULT false,
    "agent_enabled" BOOLEAN NOT NULL DEFAULT false,
    "policy_tool_version" TEXT,
    "policy_update_patterns" TEXT[] NOT NULL DEFAULT '{}',
    "tag_selectors" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "policy_set_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "policy_set_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "policy_set_organization_id_name_key" ON "policy_set"("organization_id", "name");

CREATE TABLE "policy_set_policy" (
    "policy_set_id" TEXT NOT NULL,
    "policy_id" TEXT NOT NULL,
    CONSTRAINT "policy_set_policy_pkey" PRIMARY KEY ("policy_set_id", "policy_id"),
    CONSTRAINT "policy_set_policy_policy_set_id_fkey" FOREIGN KEY ("policy_set_id") REFERENCES "policy_set"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "policy_set_policy_policy_id_fkey" FOREIGN KEY ("policy_id") REFERENCES "policy"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "policy_set_policy_policy_id_idx" ON "policy_set_policy"("policy_id");

CREATE TABLE "policy_set_workspace" (
    "policy_set_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "excluded" BOOLEAN NOT NULL,
    CONSTRAINT "policy_set_workspace_pkey" PRIMARY KEY ("policy_set_id", "workspace_id", "excluded"),
    CONSTRAINT "policy_set_workspace_policy_set_id_fkey" FOREIGN KEY ("policy_set_id") REFERENCES "policy_set"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "policy_set_workspace_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "policy_set_workspace_workspace_id_idx" ON "policy_set_workspace"("workspace_id");

CREATE TABLE "policy_set_project" (
    "policy_set_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "excluded" BOOLEAN NOT NULL,
    CONSTRAINT "policy_set_project_pkey" PRIMARY KEY ("policy_set_id", "project_id", "excluded"),
    CONSTRAINT "policy_set_project_policy_set_id_fkey" FOREIGN KEY ("policy_set_id") REFERENCES "policy_set"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "policy_set_project_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "policy_set_project_project_id_idx" ON "policy_set_project"("project_id");

CREATE TABLE "policy_set_version" (
    "id" TEXT NOT NULL,
    "policy_set_id" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "error" TEXT,
    "timestamps" JSONB NOT NULL DEFAULT '{}',
    "blob_id" TEXT,
    "digest" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "policy_set_version_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "policy_set_version_policy_set_id_fkey" FOREIGN KEY ("policy_set_id") REFERENCES "policy_set"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "policy_set_version_policy_set_id_created_at_idx" ON "policy_set_version"("policy_set_id", "created_at");

-- Bytes that only a version referred to go with it.
CREATE FUNCTION drop_policy_blob() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."blob_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "policy_set_version_gone" AFTER DELETE ON "policy_set_version"
  FOR EACH ROW WHEN (OLD."blob_id" IS NOT NULL) EXECUTE FUNCTION drop_policy_blob();

-- Parameters of policy sets are kept as variables are.
ALTER TABLE "variable" ADD COLUMN "policy_set_id" TEXT;
ALTER TABLE "variable" ADD CONSTRAINT "variable_policy_set_id_fkey"
    FOREIGN KEY ("policy_set_id") REFERENCES "policy_set"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;

CREATE TABLE "policy_evaluation" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "task_stage_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "timestamps" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ends_at" TIMESTAMPTZ(3),
    "next_at" TIMESTAMPTZ(3),
    "claim" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "policy_evaluation_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "policy_evaluation_task_stage_id_fkey" FOREIGN KEY ("task_stage_id") REFERENCES "task_stage"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "policy_evaluation_task_stage_id_kind_key" ON "policy_evaluation"("task_stage_id", "kind");
CREATE INDEX "policy_evaluation_next_at_idx" ON "policy_evaluation"("next_at");

CREATE TABLE "policy_set_outcome" (
    "id" TEXT NOT NULL,
    "policy_evaluation_id" TEXT NOT NULL,
    "policy_set_id" TEXT NOT NULL,
    "policy_set_name" TEXT NOT NULL,
    "policy_set_description" TEXT NOT NULL DEFAULT '',
    "policy_set_version_id" TEXT,
    "tool_version" TEXT,
    "overridable" BOOLEAN NOT NULL,
    "policies" JSONB NOT NULL DEFAULT '[]',
    "outcomes" JSONB NOT NULL DEFAULT '[]',
    "error" TEXT NOT NULL DEFAULT '',
    CONSTRAINT "policy_set_outcome_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "policy_set_outcome_policy_evaluation_id_fkey" FOREIGN KEY ("policy_evaluation_id") REFERENCES "policy_evaluation"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "policy_set_outcome_policy_evaluation_id_idx" ON "policy_set_outcome"("policy_evaluation_id");
