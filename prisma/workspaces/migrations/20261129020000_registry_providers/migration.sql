-- Public halves of the keys that sign providers of an organization.
CREATE TABLE "gpg_key" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "ascii_armor" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "gpg_key_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "gpg_key_organization_id_key_id_key" ON "gpg_key"("organization_id", "key_id");
ALTER TABLE "gpg_key" ADD CONSTRAINT "gpg_key_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Providers of an organization, and public ones that it recommends.
CREATE TABLE "registry_provider" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "registry_name" TEXT NOT NULL,
    "namespace" TEXT NOT NULL DEFAULT '',
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "registry_provider_pkey" PRIMARY KEY ("id")
);
-- Names that differ only in case are one name.
CREATE UNIQUE INDEX "registry_provider_name_key" ON "registry_provider"("organization_id", "registry_name", lower("namespace"), lower("name"));
ALTER TABLE "registry_provider" ADD CONSTRAINT "registry_provider_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "registry_provider_version" (
    "id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "protocols" TEXT[] NOT NULL DEFAULT '{}',
    "sums" TEXT,
    "signature" BYTEA,
    "signed_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "registry_provider_version_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "registry_provider_version_signed" CHECK ("signed_by" IS NULL OR "sums" IS NOT NULL AND "signature" IS NOT NULL)
);
CREATE UNIQUE INDEX "registry_provider_version_version_key" ON "registry_provider_version"("provider_id", lower("version"));
CREATE INDEX "registry_provider_version_signed_by_idx" ON "registry_provider_version"("signed_by");
ALTER TABLE "registry_provider_version" ADD CONSTRAINT "registry_provider_version_provider_id_fkey"
    FOREIGN KEY ("provider_id") REFERENCES "registry_provider"("id") ON DELETE CASCADE ON UPDATE CASCADE;
-- A key stays while something that it signed can be installed; both go with their organization.
ALTER TABLE "registry_provider_version" ADD CONSTRAINT "registry_provider_version_signed_by_fkey"
    FOREIGN KEY ("signed_by") REFERENCES "gpg_key"("id") ON DELETE NO ACTION ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE "registry_provider_platform" (
    "id" TEXT NOT NULL,
    "version_id" TEXT NOT NULL,
    "os" TEXT NOT NULL,
    "arch" TEXT NOT NULL,
    "filename" TEXT NOT NULL,
    "shasum" TEXT NOT NULL,
    "blob_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "registry_provider_platform_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "registry_provider_platform_version_id_os_arch_key" ON "registry_provider_platform"("version_id", "os", "arch");
ALTER TABLE "registry_provider_platform" ADD CONSTRAINT "registry_provider_platform_version_id_fkey"
    FOREIGN KEY ("version_id") REFERENCES "registry_provider_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Bytes that only a platform referred to go with it.
CREATE FUNCTION drop_platform_blob() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."blob_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "registry_provider_platform_gone" AFTER DELETE ON "registry_provider_platform"
  FOR EACH ROW WHEN (OLD."blob_id" IS NOT NULL) EXECUTE FUNCTION drop_platform_blob();
