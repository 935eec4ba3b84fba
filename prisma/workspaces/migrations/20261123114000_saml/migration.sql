-- People sign in by SAML 2.0. What an assertion said waits, sealed, for the browser that began the sign-in.
ALTER TABLE "pending_sign_in" ADD COLUMN     "answer" BYTEA;
ALTER TABLE "user_account" ADD COLUMN     "sso_until" TIMESTAMPTZ(3);

CREATE TABLE "saml_setting" (
    "id" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT false,
    "debug" BOOLEAN NOT NULL DEFAULT false,
    "idp_cert" TEXT,
    "old_idp_cert" TEXT,
    "slo_endpoint_url" TEXT,
    "sso_endpoint_url" TEXT,
    "attr_username" TEXT NOT NULL DEFAULT 'Username',
    "attr_groups" TEXT NOT NULL DEFAULT 'MemberOf',
    "attr_site_admin" TEXT NOT NULL DEFAULT 'SiteAdmin',
    "site_admin_role" TEXT NOT NULL DEFAULT 'site-admins',
    "sso_api_token_session_timeout" INTEGER NOT NULL DEFAULT 1209600,
    "team_management_enabled" BOOLEAN NOT NULL DEFAULT false,
    "certificate" TEXT,
    "private_key" BYTEA,
    "authn_requests_signed" BOOLEAN NOT NULL DEFAULT false,
    "want_assertions_signed" BOOLEAN NOT NULL DEFAULT false,
    "signature_signing_method" TEXT NOT NULL DEFAULT 'SHA256',
    "signature_digest_method" TEXT NOT NULL DEFAULT 'SHA256',

    CONSTRAINT "saml_setting_pkey" PRIMARY KEY ("id")
);
