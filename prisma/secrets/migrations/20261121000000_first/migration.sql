-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "setting" (
    "name" TEXT NOT NULL,
    "value" JSONB,
    "sealed" BYTEA,

    CONSTRAINT "setting_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "seal" (
    "id" SMALLINT NOT NULL DEFAULT 1,
    "type" TEXT NOT NULL,
    "keyring" BYTEA NOT NULL,
    "shares" SMALLINT NOT NULL,
    "threshold" SMALLINT NOT NULL,
    "verifier" BYTEA,
    "sealed" BOOLEAN NOT NULL DEFAULT false,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "initialised_at_ms" BIGINT NOT NULL,
    "key_installed_at_ms" BIGINT NOT NULL,

    CONSTRAINT "seal_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "node" (
    "id" UUID NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "generation" INTEGER NOT NULL,
    "polls" BOOLEAN NOT NULL,
    "address" TEXT NOT NULL,

    CONSTRAINT "node_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "change" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "node" UUID NOT NULL,
    "keys" TEXT NOT NULL,

    CONSTRAINT "change_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "namespace" (
    "id" UUID NOT NULL,
    "short_id" TEXT NOT NULL,
    "parent_id" UUID,
    "path" TEXT COLLATE "C" NOT NULL,
    "tainted" BOOLEAN NOT NULL DEFAULT false,
    "locked" BOOLEAN NOT NULL DEFAULT false,
    "created_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA,

    CONSTRAINT "namespace_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mount" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "path" TEXT COLLATE "C" NOT NULL,
    "type" TEXT NOT NULL,
    "accessor" TEXT NOT NULL,
    "local" BOOLEAN NOT NULL DEFAULT false,
    "tainted" BOOLEAN NOT NULL DEFAULT false,
    "created_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "mount_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "entry" (
    "mount_id" UUID NOT NULL,
    "path" TEXT COLLATE "C" NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "expires_at_ms" BIGINT,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "entry_pkey" PRIMARY KEY ("mount_id","path")
);

-- CreateTable
CREATE TABLE "entry_witness" (
    "mount_id" UUID NOT NULL,
    "path" TEXT COLLATE "C" NOT NULL,
    "stamp" BYTEA NOT NULL,

    CONSTRAINT "entry_witness_pkey" PRIMARY KEY ("mount_id","path")
);

-- CreateTable
CREATE TABLE "policy" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "type" TEXT NOT NULL DEFAULT 'acl',
    "name" TEXT COLLATE "C" NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at_ms" BIGINT NOT NULL,
    "updated_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "policy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "entity" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "disabled" BOOLEAN NOT NULL DEFAULT false,
    "created_at_ms" BIGINT NOT NULL,
    "updated_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "entity_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "entity_alias" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "entity_id" UUID NOT NULL,
    "mount_id" UUID NOT NULL,
    "mount_accessor" TEXT NOT NULL,
    "name_hash" BYTEA NOT NULL,
    "created_at_ms" BIGINT NOT NULL,
    "updated_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "entity_alias_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "group" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "type" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at_ms" BIGINT NOT NULL,
    "updated_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "group_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "group_member" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "group_id" UUID NOT NULL,
    "entity_id" UUID,
    "member_group_id" UUID,

    CONSTRAINT "group_member_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "group_alias" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "group_id" UUID NOT NULL,
    "mount_id" UUID,
    "mount_accessor" TEXT NOT NULL,
    "name_hash" BYTEA NOT NULL,
    "created_at_ms" BIGINT NOT NULL,
    "updated_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "group_alias_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mfa_method" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "name" TEXT,
    "created_at_ms" BIGINT NOT NULL,
    "updated_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "mfa_method_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mfa_secret" (
    "method_id" UUID NOT NULL,
    "entity_id" UUID NOT NULL,
    "last_counter" BIGINT NOT NULL DEFAULT -1,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "lockouts" INTEGER NOT NULL DEFAULT 0,
    "locked_until_ms" BIGINT NOT NULL DEFAULT 0,
    "created_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "mfa_secret_pkey" PRIMARY KEY ("method_id","entity_id")
);

-- CreateTable
CREATE TABLE "mfa_enforcement" (
    "id" UUID NOT NULL,
    "namespace_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "method_ids" UUID[],
    "auth_method_accessors" TEXT[],
    "auth_method_types" TEXT[],
    "group_ids" UUID[],
    "entity_ids" UUID[],

    CONSTRAINT "mfa_enforcement_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mfa_pending" (
    "hash" BYTEA NOT NULL,
    "namespace_id" UUID NOT NULL,
    "entity_id" UUID NOT NULL,
    "expires_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "mfa_pending_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "token" (
    "hash" BYTEA NOT NULL,
    "accessor_hash" BYTEA NOT NULL,
    "parent_hash" BYTEA,
    "namespace_id" UUID NOT NULL,
    "mount_id" UUID,
    "entity_id" UUID,
    "path" TEXT COLLATE "C" NOT NULL,
    "state" SMALLINT NOT NULL DEFAULT 0,
    "uses_left" INTEGER,
    "created_at_ms" BIGINT NOT NULL,
    "expires_at_ms" BIGINT,
    "due_at_ms" BIGINT,
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "token_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "lease" (
    "hash" BYTEA NOT NULL,
    "namespace_id" UUID NOT NULL,
    "mount_id" UUID NOT NULL,
    "path" TEXT COLLATE "C" NOT NULL,
    "role" TEXT NOT NULL DEFAULT '',
    "token_hash" BYTEA,
    "state" SMALLINT NOT NULL DEFAULT 0,
    "forced" BOOLEAN NOT NULL DEFAULT false,
    "issued_at_ms" BIGINT NOT NULL,
    "expires_at_ms" BIGINT NOT NULL,
    "renewed_at_ms" BIGINT,
    "due_at_ms" BIGINT NOT NULL,
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "sealed" BYTEA NOT NULL,
    "sealed_failure" BYTEA,
    "quota_ids" UUID[] NOT NULL DEFAULT ARRAY[]::UUID[],
    "claimed_by" UUID,

    CONSTRAINT "lease_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "intent" (
    "id" UUID NOT NULL,
    "mount_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "created_at_ms" BIGINT NOT NULL,
    "due_at_ms" BIGINT NOT NULL,
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "intent_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "job" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "state" SMALLINT NOT NULL DEFAULT 0,
    "done" BIGINT NOT NULL DEFAULT 0,
    "total" BIGINT,
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "created_at_ms" BIGINT NOT NULL,
    "updated_at_ms" BIGINT NOT NULL,
    "due_at_ms" BIGINT,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "job_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "quota" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "namespace_id" UUID NOT NULL,
    "mount_id" UUID,
    "path" TEXT NOT NULL DEFAULT '',
    "role" TEXT NOT NULL DEFAULT '',
    "config" JSONB NOT NULL,
    "max_leases" BIGINT,
    "leases" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "quota_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rekey" (
    "kind" TEXT NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "expires_at_ms" BIGINT NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "rekey_pkey" PRIMARY KEY ("kind")
);

-- CreateTable
CREATE TABLE "audit_record" (
    "chain" UUID NOT NULL,
    "sequence" BIGINT NOT NULL,
    "at_ms" BIGINT NOT NULL,
    "previous" BYTEA NOT NULL,
    "digest" BYTEA NOT NULL,
    "entries" TEXT NOT NULL,

    CONSTRAINT "audit_record_pkey" PRIMARY KEY ("chain","sequence")
);

-- CreateIndex
CREATE INDEX "change_at_idx" ON "change"("at");

-- CreateIndex
CREATE UNIQUE INDEX "namespace_short_id_key" ON "namespace"("short_id");

-- CreateIndex
CREATE UNIQUE INDEX "namespace_path_key" ON "namespace"("path");

-- CreateIndex
CREATE INDEX "namespace_parent_id_idx" ON "namespace"("parent_id");

-- CreateIndex
CREATE UNIQUE INDEX "mount_accessor_key" ON "mount"("accessor");

-- CreateIndex
CREATE UNIQUE INDEX "mount_namespace_id_kind_path_key" ON "mount"("namespace_id", "kind", "path");

-- CreateIndex
CREATE INDEX "entry_expires_at_ms_idx" ON "entry"("expires_at_ms") WHERE "expires_at_ms" IS NOT NULL;

-- CreateIndex
CREATE UNIQUE INDEX "policy_namespace_id_type_name_key" ON "policy"("namespace_id", "type", "name");

-- CreateIndex
CREATE UNIQUE INDEX "entity_alias_mount_id_name_hash_key" ON "entity_alias"("mount_id", "name_hash");

-- CreateIndex
CREATE UNIQUE INDEX "entity_alias_entity_id_mount_id_key" ON "entity_alias"("entity_id", "mount_id");

-- CreateIndex
CREATE INDEX "group_member_entity_id_idx" ON "group_member"("entity_id");

-- CreateIndex
CREATE INDEX "group_member_member_group_id_idx" ON "group_member"("member_group_id");

-- CreateIndex
CREATE UNIQUE INDEX "group_member_group_id_entity_id_key" ON "group_member"("group_id", "entity_id");

-- CreateIndex
CREATE UNIQUE INDEX "group_member_group_id_member_group_id_key" ON "group_member"("group_id", "member_group_id");

-- CreateIndex
CREATE UNIQUE INDEX "group_alias_group_id_key" ON "group_alias"("group_id");

-- CreateIndex
CREATE UNIQUE INDEX "group_alias_mount_id_name_hash_key" ON "group_alias"("mount_id", "name_hash");

-- CreateIndex
CREATE INDEX "mfa_method_namespace_id_idx" ON "mfa_method"("namespace_id");

-- CreateIndex
CREATE INDEX "mfa_secret_entity_id_idx" ON "mfa_secret"("entity_id");

-- CreateIndex
CREATE UNIQUE INDEX "mfa_enforcement_namespace_id_name_key" ON "mfa_enforcement"("namespace_id", "name");

-- CreateIndex
CREATE INDEX "mfa_pending_expires_at_ms_idx" ON "mfa_pending"("expires_at_ms");

-- CreateIndex
CREATE UNIQUE INDEX "token_accessor_hash_key" ON "token"("accessor_hash");

-- CreateIndex
CREATE INDEX "token_parent_hash_idx" ON "token"("parent_hash") WHERE "parent_hash" IS NOT NULL;

-- CreateIndex
CREATE INDEX "token_due_at_ms_idx" ON "token"("due_at_ms") WHERE "due_at_ms" IS NOT NULL;

-- CreateIndex
CREATE INDEX "token_namespace_id_path_idx" ON "token"("namespace_id", "path");

-- CreateIndex
CREATE INDEX "lease_namespace_id_path_idx" ON "lease"("namespace_id", "path");

-- CreateIndex
CREATE INDEX "lease_mount_id_due_at_ms_idx" ON "lease"("mount_id", "due_at_ms");

-- CreateIndex
CREATE INDEX "lease_claimed_by_idx" ON "lease"("claimed_by") WHERE "claimed_by" IS NOT NULL;

-- CreateIndex
CREATE INDEX "lease_token_hash_idx" ON "lease"("token_hash") WHERE "token_hash" IS NOT NULL;

-- CreateIndex
CREATE INDEX "intent_due_at_ms_idx" ON "intent"("due_at_ms");

-- CreateIndex
CREATE INDEX "job_due_at_ms_idx" ON "job"("due_at_ms") WHERE "due_at_ms" IS NOT NULL;

-- CreateIndex
CREATE INDEX "job_kind_key_idx" ON "job"("kind", "key");

-- CreateIndex
CREATE UNIQUE INDEX "quota_kind_name_key" ON "quota"("kind", "name");

-- CreateIndex
CREATE INDEX "audit_record_at_ms_idx" ON "audit_record"("at_ms");

-- AddForeignKey
ALTER TABLE "namespace" ADD CONSTRAINT "namespace_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "namespace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "entity_alias" ADD CONSTRAINT "entity_alias_entity_id_fkey" FOREIGN KEY ("entity_id") REFERENCES "entity"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "group_member" ADD CONSTRAINT "group_member_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "group"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "group_member" ADD CONSTRAINT "group_member_entity_id_fkey" FOREIGN KEY ("entity_id") REFERENCES "entity"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "group_member" ADD CONSTRAINT "group_member_member_group_id_fkey" FOREIGN KEY ("member_group_id") REFERENCES "group"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "group_alias" ADD CONSTRAINT "group_alias_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "group"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "mfa_secret" ADD CONSTRAINT "mfa_secret_method_id_fkey" FOREIGN KEY ("method_id") REFERENCES "mfa_method"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "mfa_secret" ADD CONSTRAINT "mfa_secret_entity_id_fkey" FOREIGN KEY ("entity_id") REFERENCES "entity"("id") ON DELETE CASCADE ON UPDATE CASCADE;



-- What Prisma cannot say.
ALTER TABLE "seal" ADD CONSTRAINT "seal_one_row" CHECK ("id" = 1);
CREATE UNIQUE INDEX "entity_namespace_id_lower_name_key" ON "entity"("namespace_id", lower("name"));
CREATE UNIQUE INDEX "group_namespace_id_lower_name_key" ON "group"("namespace_id", lower("name"));
CREATE UNIQUE INDEX "mfa_method_namespace_id_lower_name_key" ON "mfa_method"("namespace_id", lower("name"));
ALTER TABLE "group_member" ADD CONSTRAINT "group_member_one_kind" CHECK (num_nonnulls("entity_id", "member_group_id") = 1);
CREATE INDEX "lease_irrevocable_idx" ON "lease"("namespace_id", "hash") WHERE "state" = 2;

-- Rows that are rewritten in place leave room on their page, so that an update needs no new index entries.
ALTER TABLE "entry" SET (fillfactor = 80);
ALTER TABLE "entry_witness" SET (fillfactor = 70);
ALTER TABLE "node" SET (fillfactor = 50);
ALTER TABLE "quota" SET (fillfactor = 50);

-- The root namespace exists from the start; its id is a constant of the service.
INSERT INTO "namespace" ("id", "short_id", "parent_id", "path", "created_at_ms")
VALUES ('00000000-0000-0000-0000-000000000000', 'root', NULL, '', 0);
