-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "setting" (
    "name" TEXT NOT NULL,
    "value" JSONB NOT NULL,

    CONSTRAINT "setting_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "organization" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "session_timeout" INTEGER,
    "session_remember" INTEGER,
    "collaborator_auth_policy" TEXT NOT NULL DEFAULT 'password',
    "cost_estimation_enabled" BOOLEAN NOT NULL DEFAULT false,
    "send_passing_statuses" BOOLEAN NOT NULL DEFAULT false,
    "aggregated_commit_status_enabled" BOOLEAN NOT NULL DEFAULT true,
    "speculative_plan_management" BOOLEAN NOT NULL DEFAULT true,
    "owners_team_saml_role_id" TEXT,
    "assessments_enforced" BOOLEAN NOT NULL DEFAULT false,
    "allow_force_delete_workspaces" BOOLEAN NOT NULL DEFAULT false,
    "default_execution_mode" TEXT NOT NULL DEFAULT 'remote',
    "default_agent_pool_id" TEXT,
    "default_project_id" TEXT,
    "access_beta_tools" BOOLEAN NOT NULL DEFAULT false,
    "global_module_sharing" BOOLEAN,
    "global_provider_sharing" BOOLEAN,
    "is_disabled" BOOLEAN NOT NULL DEFAULT false,
    "worker_sudo_enabled" BOOLEAN NOT NULL DEFAULT false,
    "plan_timeout" TEXT,
    "apply_timeout" TEXT,
    "workspace_limit" INTEGER,
    "removed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "organization_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "organization_tally" (
    "organization_id" TEXT NOT NULL,
    "workspaces" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "organization_tally_pkey" PRIMARY KEY ("organization_id")
);

-- CreateTable
CREATE TABLE "module_consumer" (
    "producer_id" TEXT NOT NULL,
    "consumer_id" TEXT NOT NULL,

    CONSTRAINT "module_consumer_pkey" PRIMARY KEY ("producer_id","consumer_id")
);

-- CreateTable
CREATE TABLE "subscription" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "feature_set" TEXT NOT NULL,
    "start_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "end_at" TIMESTAMPTZ(3),
    "runs_ceiling" INTEGER,
    "agents_ceiling" INTEGER,
    "contract_start_at" TIMESTAMPTZ(3),
    "contract_user_limit" INTEGER,
    "contract_apply_limit" INTEGER,

    CONSTRAINT "subscription_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "retention_policy" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT,
    "workspace_id" TEXT,
    "delete_older_than_n_days" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "retention_policy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "infra_version" (
    "id" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "url" TEXT,
    "sha" TEXT,
    "official" BOOLEAN NOT NULL DEFAULT false,
    "deprecated" BOOLEAN NOT NULL DEFAULT false,
    "deprecated_reason" TEXT,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "beta" BOOLEAN NOT NULL DEFAULT false,
    "archs" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "infra_version_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workspace" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "execution_mode" TEXT,
    "agent_pool_id" TEXT,
    "allow_destroy_plan" BOOLEAN NOT NULL DEFAULT true,
    "assessments_enabled" BOOLEAN NOT NULL DEFAULT false,
    "auto_apply" BOOLEAN NOT NULL DEFAULT false,
    "auto_apply_run_trigger" BOOLEAN NOT NULL DEFAULT false,
    "auto_destroy_at" TIMESTAMPTZ(3),
    "auto_destroy_activity_duration" TEXT,
    "file_triggers_enabled" BOOLEAN NOT NULL DEFAULT true,
    "global_remote_state" BOOLEAN NOT NULL DEFAULT false,
    "queue_all_runs" BOOLEAN NOT NULL DEFAULT false,
    "speculative_enabled" BOOLEAN NOT NULL DEFAULT true,
    "structured_run_output_enabled" BOOLEAN NOT NULL DEFAULT true,
    "infra_version" TEXT NOT NULL,
    "trigger_prefixes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "trigger_patterns" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "working_directory" TEXT,
    "source" TEXT NOT NULL DEFAULT 'tfe-api',
    "source_name" TEXT,
    "source_url" TEXT,
    "vcs_identifier" TEXT,
    "vcs_branch" TEXT,
    "vcs_ingress_submodules" BOOLEAN NOT NULL DEFAULT false,
    "vcs_tags_regex" TEXT,
    "oauth_token_id" TEXT,
    "vcs_installation_id" TEXT,
    "ssh_key_id" TEXT,
    "locked_at" TIMESTAMPTZ(3),
    "locked_by_type" TEXT,
    "locked_by_id" TEXT,
    "locked_reason" TEXT,
    "current_state_version_id" TEXT,
    "current_configuration_id" TEXT,
    "current_run_id" TEXT,
    "latest_run_id" TEXT,
    "resource_count" INTEGER NOT NULL DEFAULT 0,
    "latest_change_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "workspace_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workspace_lock" (
    "id" BIGSERIAL NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "holder_type" TEXT NOT NULL,
    "holder_id" TEXT NOT NULL,
    "reason" TEXT,
    "locked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "unlocked_at" TIMESTAMPTZ(3),
    "unlocked_type" TEXT,
    "unlocked_id" TEXT,
    "forced" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "workspace_lock_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "remote_state_consumer" (
    "workspace_id" TEXT NOT NULL,
    "consumer_id" TEXT NOT NULL,

    CONSTRAINT "remote_state_consumer_pkey" PRIMARY KEY ("workspace_id","consumer_id")
);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "principal" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "body_hash" BYTEA NOT NULL,
    "resource_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("principal","path","key")
);

-- CreateIndex
CREATE INDEX "module_consumer_consumer_id_idx" ON "module_consumer"("consumer_id");

-- CreateIndex
CREATE UNIQUE INDEX "subscription_organization_id_key" ON "subscription"("organization_id");

-- CreateIndex
CREATE UNIQUE INDEX "retention_policy_organization_id_key" ON "retention_policy"("organization_id");

-- CreateIndex
CREATE UNIQUE INDEX "retention_policy_workspace_id_key" ON "retention_policy"("workspace_id");

-- CreateIndex
CREATE UNIQUE INDEX "infra_version_version_key" ON "infra_version"("version");

-- CreateIndex
CREATE INDEX "workspace_project_id_idx" ON "workspace"("project_id");

-- CreateIndex
CREATE INDEX "workspace_ssh_key_id_idx" ON "workspace"("ssh_key_id");

-- CreateIndex
CREATE INDEX "workspace_agent_pool_id_idx" ON "workspace"("agent_pool_id");

-- CreateIndex
CREATE INDEX "workspace_oauth_token_id_idx" ON "workspace"("oauth_token_id");

-- CreateIndex
CREATE UNIQUE INDEX "workspace_organization_id_name_key" ON "workspace"("organization_id", "name");

-- CreateIndex
CREATE INDEX "workspace_lock_workspace_id_id_idx" ON "workspace_lock"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "remote_state_consumer_consumer_id_idx" ON "remote_state_consumer"("consumer_id");

-- CreateIndex
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");

-- AddForeignKey
ALTER TABLE "organization_tally" ADD CONSTRAINT "organization_tally_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "module_consumer" ADD CONSTRAINT "module_consumer_producer_id_fkey" FOREIGN KEY ("producer_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "module_consumer" ADD CONSTRAINT "module_consumer_consumer_id_fkey" FOREIGN KEY ("consumer_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscription" ADD CONSTRAINT "subscription_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "retention_policy" ADD CONSTRAINT "retention_policy_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "retention_policy" ADD CONSTRAINT "retention_policy_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace" ADD CONSTRAINT "workspace_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace_lock" ADD CONSTRAINT "workspace_lock_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "remote_state_consumer" ADD CONSTRAINT "remote_state_consumer_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "remote_state_consumer" ADD CONSTRAINT "remote_state_consumer_consumer_id_fkey" FOREIGN KEY ("consumer_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;



-- What Prisma cannot express.

-- A name is free again as soon as its organization is marked as removed.
CREATE UNIQUE INDEX "organization_name_key" ON "organization" (lower("name")) WHERE "removed_at" IS NULL;

-- At most one policy for the whole installation.
CREATE UNIQUE INDEX "retention_policy_installation_key" ON "retention_policy" ((true))
  WHERE "organization_id" IS NULL AND "workspace_id" IS NULL;

-- Lists go by name, byte by byte, with the id as tie-breaker.
CREATE INDEX "workspace_list_idx" ON "workspace" ("organization_id", "name" COLLATE "C", "id");
CREATE INDEX "workspace_lock_open_idx" ON "workspace_lock" ("workspace_id") WHERE "unlocked_at" IS NULL;

-- A revision is never used twice, whatever row it is on.
CREATE SEQUENCE "revision_seq" AS bigint CACHE 32;

CREATE FUNCTION set_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := nextval('revision_seq');
  RETURN NEW;
END $$;

CREATE TRIGGER "organization_revision" BEFORE INSERT OR UPDATE ON "organization"
  FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER "workspace_revision" BEFORE INSERT OR UPDATE ON "workspace"
  FOR EACH ROW EXECUTE FUNCTION set_revision();

-- A child that an organization or a workspace shows changes its parent's revision.
CREATE FUNCTION touch_parents() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  row_data jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
BEGIN
  IF row_data ->> 'organization_id' IS NOT NULL THEN
    UPDATE "organization" SET "revision" = 0 WHERE "id" = row_data ->> 'organization_id';
  END IF;
  IF row_data ->> 'workspace_id' IS NOT NULL THEN
    UPDATE "workspace" SET "revision" = 0 WHERE "id" = row_data ->> 'workspace_id';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "retention_policy_touch" AFTER INSERT OR UPDATE OR DELETE ON "retention_policy"
  FOR EACH ROW EXECUTE FUNCTION touch_parents();
CREATE TRIGGER "subscription_touch" AFTER INSERT OR UPDATE OR DELETE ON "subscription"
  FOR EACH ROW EXECUTE FUNCTION touch_parents();

-- Totals, once per statement.
CREATE FUNCTION count_workspaces() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "organization_tally" AS t ("organization_id", "workspaces")
      SELECT "organization_id", count(*) FROM added GROUP BY 1 ORDER BY 1
      ON CONFLICT ("organization_id") DO UPDATE SET "workspaces" = t."workspaces" + EXCLUDED."workspaces";
  ELSE
    UPDATE "organization_tally" t SET "workspaces" = t."workspaces" - g.n
      FROM (SELECT "organization_id", count(*) AS n FROM gone GROUP BY 1) g
      WHERE t."organization_id" = g."organization_id";
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "workspace_added" AFTER INSERT ON "workspace" REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_workspaces();
CREATE TRIGGER "workspace_gone" AFTER DELETE ON "workspace" REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION count_workspaces();
