-- People sign in at providers elsewhere, and their groups there put them into teams here.
ALTER TABLE "user_account" ADD COLUMN     "site_admin_by" TEXT;
ALTER TABLE "console_session" ADD COLUMN     "identity_id" TEXT,
ADD COLUMN     "provider_session" TEXT;
ALTER TABLE "membership" ADD COLUMN     "provider_id" TEXT;
ALTER TABLE "team_member" ADD COLUMN     "provider_id" TEXT;

CREATE TABLE "sign_in_provider" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL DEFAULT 'oidc',
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "issuer" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "client_secret" BYTEA NOT NULL,
    "ca_certificate" TEXT,
    "scopes" TEXT[] DEFAULT ARRAY['openid', 'profile', 'email']::TEXT[],
    "username_claim" TEXT NOT NULL DEFAULT 'preferred_username',
    "email_claim" TEXT NOT NULL DEFAULT 'email',
    "groups_claim" TEXT,
    "site_admin_group" TEXT,
    "session_hours" INTEGER,
    "creates_accounts" BOOLEAN NOT NULL DEFAULT true,
    "links_accounts" BOOLEAN NOT NULL DEFAULT false,
    "password_sign_in" TEXT NOT NULL DEFAULT 'allowed',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sign_in_provider_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "sign_in_provider_name_key" ON "sign_in_provider" (lower("name"));

CREATE TABLE "sign_in_provider_organization" (
    "provider_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,

    CONSTRAINT "sign_in_provider_organization_pkey" PRIMARY KEY ("provider_id","organization_id")
);
CREATE INDEX "sign_in_provider_organization_organization_id_idx" ON "sign_in_provider_organization"("organization_id");

CREATE TABLE "external_identity" (
    "id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "external_identity_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "external_identity_provider_id_subject_key" ON "external_identity"("provider_id", "subject");
CREATE INDEX "external_identity_user_id_idx" ON "external_identity"("user_id");

CREATE TABLE "pending_sign_in" (
    "state_hash" BYTEA NOT NULL,
    "browser_hash" BYTEA NOT NULL,
    "provider_id" TEXT NOT NULL,
    "client" TEXT NOT NULL,
    "return_to" TEXT NOT NULL,
    "session_hash" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "pending_sign_in_pkey" PRIMARY KEY ("state_hash")
);
CREATE INDEX "pending_sign_in_provider_id_idx" ON "pending_sign_in"("provider_id");
CREATE INDEX "pending_sign_in_expires_at_idx" ON "pending_sign_in"("expires_at");

CREATE INDEX "console_session_identity_id_idx" ON "console_session"("identity_id");
CREATE INDEX "membership_provider_id_idx" ON "membership"("provider_id");
CREATE INDEX "team_member_provider_id_idx" ON "team_member"("provider_id");
CREATE INDEX "team_sso_team_id_idx" ON "team"("sso_team_id");

ALTER TABLE "console_session" ADD CONSTRAINT "console_session_identity_id_fkey" FOREIGN KEY ("identity_id") REFERENCES "external_identity"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "sign_in_provider_organization" ADD CONSTRAINT "sign_in_provider_organization_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "sign_in_provider"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "sign_in_provider_organization" ADD CONSTRAINT "sign_in_provider_organization_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "external_identity" ADD CONSTRAINT "external_identity_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "sign_in_provider"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "external_identity" ADD CONSTRAINT "external_identity_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "pending_sign_in" ADD CONSTRAINT "pending_sign_in_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "sign_in_provider"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "membership" ADD CONSTRAINT "membership_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "sign_in_provider"("id") ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "team_member" ADD CONSTRAINT "team_member_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "sign_in_provider"("id") ON DELETE SET NULL ON UPDATE CASCADE;
