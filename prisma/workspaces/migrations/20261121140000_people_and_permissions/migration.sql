-- CreateTable
CREATE TABLE "access_epoch" (
    "organization_id" TEXT NOT NULL,
    "epoch" BIGINT NOT NULL,

    CONSTRAINT "access_epoch_pkey" PRIMARY KEY ("organization_id")
);

-- CreateTable
CREATE TABLE "user_account" (
    "id" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "unconfirmed_email" TEXT,
    "password_hash" TEXT,
    "site_admin" BOOLEAN NOT NULL DEFAULT false,
    "confirmed" BOOLEAN NOT NULL DEFAULT false,
    "suspended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "user_account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sign_in_attempt" (
    "name_hash" BYTEA NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "locked_until" TIMESTAMPTZ(3),
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_attempt_pkey" PRIMARY KEY ("name_hash")
);

-- CreateTable
CREATE TABLE "two_factor" (
    "user_id" TEXT NOT NULL,
    "secret" BYTEA NOT NULL,
    "verified_at" TIMESTAMPTZ(3),
    "last_step" BIGINT NOT NULL DEFAULT 0,
    "recovery_codes" BYTEA[],

    CONSTRAINT "two_factor_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "one_time_link" (
    "hash" BYTEA NOT NULL,
    "kind" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "membership_id" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "one_time_link_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "token" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "user_id" TEXT,
    "team_id" TEXT,
    "organization_id" TEXT,
    "agent_pool_id" TEXT,
    "description" TEXT,
    "created_by_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "token_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "membership" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'invited',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "membership_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "team" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "is_owners" BOOLEAN NOT NULL DEFAULT false,
    "visibility" TEXT NOT NULL DEFAULT 'secret',
    "sso_team_id" TEXT,
    "allow_member_token_management" BOOLEAN NOT NULL DEFAULT true,
    "rights" INTEGER NOT NULL DEFAULT 0,
    "grants_revision" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "team_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "team_member" (
    "team_id" TEXT NOT NULL,
    "membership_id" TEXT NOT NULL,

    CONSTRAINT "team_member_pkey" PRIMARY KEY ("team_id","membership_id")
);

-- CreateTable
CREATE TABLE "project" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "execution_mode" TEXT,
    "agent_pool_id" TEXT,
    "auto_destroy_activity_duration" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "team_project" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "access" TEXT NOT NULL,
    "capabilities" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "team_project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "team_workspace" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "access" TEXT NOT NULL,
    "capabilities" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "team_workspace_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ssh_key" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "value" BYTEA NOT NULL,
    "fingerprint" TEXT,
    "kind" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "ssh_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_event" (
    "id" BIGSERIAL NOT NULL,
    "organization_id" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor_type" TEXT NOT NULL,
    "actor_id" TEXT NOT NULL,
    "actor_name" TEXT NOT NULL,
    "token_id" TEXT,
    "request_id" TEXT,
    "action" TEXT NOT NULL,
    "target_type" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "target_name" TEXT,
    "before" JSONB,
    "after" JSONB,

    CONSTRAINT "audit_event_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "sign_in_attempt_last_at_idx" ON "sign_in_attempt"("last_at");

-- CreateIndex
CREATE INDEX "one_time_link_user_id_idx" ON "one_time_link"("user_id");

-- CreateIndex
CREATE INDEX "one_time_link_membership_id_idx" ON "one_time_link"("membership_id");

-- CreateIndex
CREATE UNIQUE INDEX "token_hash_key" ON "token"("hash");

-- CreateIndex
CREATE INDEX "token_user_id_idx" ON "token"("user_id");

-- CreateIndex
CREATE INDEX "token_organization_id_idx" ON "token"("organization_id");

-- CreateIndex
CREATE INDEX "token_agent_pool_id_idx" ON "token"("agent_pool_id");

-- CreateIndex
CREATE INDEX "membership_user_id_idx" ON "membership"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "membership_organization_id_user_id_key" ON "membership"("organization_id", "user_id");

-- CreateIndex
CREATE INDEX "team_organization_id_idx" ON "team"("organization_id");

-- CreateIndex
CREATE INDEX "team_member_membership_id_idx" ON "team_member"("membership_id");

-- CreateIndex
CREATE INDEX "project_organization_id_idx" ON "project"("organization_id");

-- CreateIndex
CREATE INDEX "team_project_team_id_idx" ON "team_project"("team_id");

-- CreateIndex
CREATE UNIQUE INDEX "team_project_project_id_team_id_key" ON "team_project"("project_id", "team_id");

-- CreateIndex
CREATE INDEX "team_workspace_team_id_idx" ON "team_workspace"("team_id");

-- CreateIndex
CREATE UNIQUE INDEX "team_workspace_workspace_id_team_id_key" ON "team_workspace"("workspace_id", "team_id");

-- CreateIndex
CREATE INDEX "ssh_key_organization_id_idx" ON "ssh_key"("organization_id");

-- CreateIndex
CREATE INDEX "audit_event_organization_id_id_idx" ON "audit_event"("organization_id", "id");

ALTER TABLE "workspace" ADD CONSTRAINT "workspace_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace" ADD CONSTRAINT "workspace_ssh_key_id_fkey" FOREIGN KEY ("ssh_key_id") REFERENCES "ssh_key"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey

-- AddForeignKey
ALTER TABLE "access_epoch" ADD CONSTRAINT "access_epoch_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "two_factor" ADD CONSTRAINT "two_factor_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "one_time_link" ADD CONSTRAINT "one_time_link_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "one_time_link" ADD CONSTRAINT "one_time_link_membership_id_fkey" FOREIGN KEY ("membership_id") REFERENCES "membership"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "token" ADD CONSTRAINT "token_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "token" ADD CONSTRAINT "token_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "token" ADD CONSTRAINT "token_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team" ADD CONSTRAINT "team_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_member" ADD CONSTRAINT "team_member_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_member" ADD CONSTRAINT "team_member_membership_id_fkey" FOREIGN KEY ("membership_id") REFERENCES "membership"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "project" ADD CONSTRAINT "project_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_project" ADD CONSTRAINT "team_project_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_project" ADD CONSTRAINT "team_project_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_workspace" ADD CONSTRAINT "team_workspace_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_workspace" ADD CONSTRAINT "team_workspace_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ssh_key" ADD CONSTRAINT "ssh_key_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma cannot express.

-- Names and addresses are unique without regard to case.
CREATE UNIQUE INDEX "user_account_username_key" ON "user_account" (lower("username"));
CREATE UNIQUE INDEX "user_account_email_key" ON "user_account" (lower("email"));
CREATE UNIQUE INDEX "team_name_key" ON "team" ("organization_id", lower("name"));
CREATE UNIQUE INDEX "team_owners_key" ON "team" ("organization_id") WHERE "is_owners";
CREATE UNIQUE INDEX "project_name_key" ON "project" ("organization_id", lower("name"));

-- One token each for a team and an organization: creating again replaces.
CREATE UNIQUE INDEX "token_team_key" ON "token" ("team_id") WHERE "kind" = 'team';
CREATE UNIQUE INDEX "token_organization_key" ON "token" ("organization_id") WHERE "kind" = 'organization';

CREATE TRIGGER "user_account_revision" BEFORE INSERT OR UPDATE ON "user_account"
  FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER "team_revision" BEFORE INSERT OR UPDATE ON "team"
  FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER "project_revision" BEFORE INSERT OR UPDATE ON "project"
  FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER "ssh_key_revision" BEFORE INSERT OR UPDATE ON "ssh_key"
  FOR EACH ROW EXECUTE FUNCTION set_revision();

-- The access epoch of an organization moves with everything that permission rules look at, in the same transaction.
CREATE FUNCTION start_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "access_epoch" ("organization_id", "epoch") VALUES (NEW."id", nextval('revision_seq'));
  RETURN NULL;
END $$;
CREATE FUNCTION move_access_of_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "access_epoch" SET "epoch" = nextval('revision_seq') WHERE "organization_id" = NEW."id";
  RETURN NULL;
END $$;
CREATE FUNCTION move_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "access_epoch" SET "epoch" = nextval('revision_seq')
    WHERE "organization_id" IN (SELECT "organization_id" FROM changed);
  RETURN NULL;
END $$;
CREATE FUNCTION move_access_of_team() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "team" SET "revision" = 0 WHERE "id" IN (SELECT "team_id" FROM changed);
  RETURN NULL;
END $$;
-- Grants have a revision per team besides, so that one change does not reload every team's.
CREATE FUNCTION move_grants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "team" SET "grants_revision" = nextval('revision_seq') WHERE "id" IN (SELECT "team_id" FROM changed);
  RETURN NULL;
END $$;
CREATE FUNCTION move_grants_of_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "team" SET "grants_revision" = nextval('revision_seq')
    WHERE "id" IN (SELECT "team_id" FROM "team_workspace" WHERE "workspace_id" = NEW."id");
  RETURN NULL;
END $$;

CREATE TRIGGER "organization_access_start" AFTER INSERT ON "organization"
  FOR EACH ROW EXECUTE FUNCTION start_access();
CREATE TRIGGER "organization_access" AFTER UPDATE OF "collaborator_auth_policy", "allow_force_delete_workspaces",
    "session_timeout", "session_remember", "is_disabled", "removed_at" ON "organization"
  FOR EACH ROW EXECUTE FUNCTION move_access_of_organization();
CREATE TRIGGER "workspace_moved" AFTER UPDATE OF "project_id" ON "workspace"
  FOR EACH ROW WHEN (OLD."project_id" IS DISTINCT FROM NEW."project_id")
  EXECUTE FUNCTION move_grants_of_workspace();

CREATE TRIGGER "team_access_insert" AFTER INSERT ON "team" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "team_access_update" AFTER UPDATE ON "team" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "team_access_delete" AFTER DELETE ON "team" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "membership_access_insert" AFTER INSERT ON "membership" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "membership_access_update" AFTER UPDATE ON "membership" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "membership_access_delete" AFTER DELETE ON "membership" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "team_member_access_insert" AFTER INSERT ON "team_member" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access_of_team();
CREATE TRIGGER "team_member_access_update" AFTER UPDATE ON "team_member" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access_of_team();
CREATE TRIGGER "team_member_access_delete" AFTER DELETE ON "team_member" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access_of_team();
CREATE TRIGGER "team_workspace_access_insert" AFTER INSERT ON "team_workspace" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_grants();
CREATE TRIGGER "team_workspace_access_update" AFTER UPDATE ON "team_workspace" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_grants();
CREATE TRIGGER "team_workspace_access_delete" AFTER DELETE ON "team_workspace" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_grants();
CREATE TRIGGER "team_project_access_insert" AFTER INSERT ON "team_project" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_grants();
CREATE TRIGGER "team_project_access_update" AFTER UPDATE ON "team_project" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_grants();
CREATE TRIGGER "team_project_access_delete" AFTER DELETE ON "team_project" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_grants();
