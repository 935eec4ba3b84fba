-- A directory elsewhere keeps people and groups here, by SCIM 2.0. What it gives is marked as a provider's, like what comes
-- with sign-in: the row `scim` of the providers stands for it.
ALTER TABLE "sign_in_provider" ALTER COLUMN "issuer" SET DEFAULT '';
ALTER TABLE "sign_in_provider" ALTER COLUMN "client_id" SET DEFAULT '';
ALTER TABLE "sign_in_provider" ALTER COLUMN "client_secret" SET DEFAULT '\x';

DROP INDEX "sign_in_provider_name_key";
CREATE UNIQUE INDEX "sign_in_provider_name_key" ON "sign_in_provider" (lower("name")) WHERE "kind" = 'oidc';

CREATE TABLE "scim_group" (
    "id" TEXT NOT NULL,
    "display_name" TEXT NOT NULL,
    "external_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "scim_group_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "scim_group_display_name_key" ON "scim_group" (lower("display_name"));
CREATE UNIQUE INDEX "scim_group_external_id_key" ON "scim_group" ("external_id");

CREATE TABLE "scim_setting" (
    "id" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT false,
    "paused" BOOLEAN NOT NULL DEFAULT false,
    "site_admin_group_id" TEXT,
    "sign_in_provider_id" TEXT,

    CONSTRAINT "scim_setting_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "scim_setting_site_admin_group_id_idx" ON "scim_setting"("site_admin_group_id");
CREATE INDEX "scim_setting_sign_in_provider_id_idx" ON "scim_setting"("sign_in_provider_id");

CREATE TABLE "scim_user" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "user_name" TEXT NOT NULL,
    "external_id" TEXT,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "suspends" BOOLEAN NOT NULL DEFAULT false,
    "attributes" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "scim_user_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "scim_user_user_id_key" ON "scim_user"("user_id");
CREATE UNIQUE INDEX "scim_user_user_name_key" ON "scim_user" (lower("user_name")) WHERE "removed_at" IS NULL;
CREATE UNIQUE INDEX "scim_user_external_id_key" ON "scim_user" ("external_id");

CREATE TABLE "scim_group_member" (
    "group_id" TEXT NOT NULL,
    "scim_user_id" TEXT NOT NULL,

    CONSTRAINT "scim_group_member_pkey" PRIMARY KEY ("group_id","scim_user_id")
);
CREATE INDEX "scim_group_member_scim_user_id_idx" ON "scim_group_member"("scim_user_id");

CREATE TABLE "team_scim_group" (
    "team_id" TEXT NOT NULL,
    "group_id" TEXT NOT NULL,
    "paused" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "team_scim_group_pkey" PRIMARY KEY ("team_id")
);
CREATE INDEX "team_scim_group_group_id_idx" ON "team_scim_group"("group_id");

ALTER TABLE "scim_setting" ADD CONSTRAINT "scim_setting_site_admin_group_id_fkey" FOREIGN KEY ("site_admin_group_id") REFERENCES "scim_group"("id") ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "scim_setting" ADD CONSTRAINT "scim_setting_sign_in_provider_id_fkey" FOREIGN KEY ("sign_in_provider_id") REFERENCES "sign_in_provider"("id") ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "scim_user" ADD CONSTRAINT "scim_user_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "scim_group_member" ADD CONSTRAINT "scim_group_member_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "scim_group"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "scim_group_member" ADD CONSTRAINT "scim_group_member_scim_user_id_fkey" FOREIGN KEY ("scim_user_id") REFERENCES "scim_user"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "team_scim_group" ADD CONSTRAINT "team_scim_group_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "team_scim_group" ADD CONSTRAINT "team_scim_group_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "scim_group"("id") ON DELETE CASCADE ON UPDATE CASCADE;
