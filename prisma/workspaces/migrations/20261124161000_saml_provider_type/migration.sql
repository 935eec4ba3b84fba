-- What kind of provider people come from by SAML: kept and shown.
ALTER TABLE "saml_setting" ADD COLUMN "provider_type" TEXT NOT NULL DEFAULT 'unknown';
