-- Modules of an organization, and public ones that it recommends.
CREATE TABLE "registry_module" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "registry_name" TEXT NOT NULL,
    "namespace" TEXT NOT NULL DEFAULT '',
    "name" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "registry_module_pkey" PRIMARY KEY ("id")
);
-- Names that differ only in case are one name.
CREATE UNIQUE INDEX "registry_module_name_key" ON "registry_module"("organization_id", "registry_name", lower("namespace"), lower("name"), lower("provider"));
ALTER TABLE "registry_module" ADD CONSTRAINT "registry_module_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "registry_module_version" (
    "id" TEXT NOT NULL,
    "module_id" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "error" TEXT,
    "commit_sha" TEXT,
    "blob_id" TEXT,
    "docs_blob_id" TEXT,
    "digest" BYTEA,
    "size" BIGINT NOT NULL DEFAULT 0,
    "read_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "registry_module_version_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "registry_module_version_version_key" ON "registry_module_version"("module_id", lower("version"));
ALTER TABLE "registry_module_version" ADD CONSTRAINT "registry_module_version_module_id_fkey"
    FOREIGN KEY ("module_id") REFERENCES "registry_module"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Bytes that only a version referred to go with it.
CREATE FUNCTION drop_module_blobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" IN (OLD."blob_id", OLD."docs_blob_id");
  RETURN NULL;
END $$;
CREATE TRIGGER "registry_module_version_gone" AFTER DELETE ON "registry_module_version"
  FOR EACH ROW WHEN (OLD."blob_id" IS NOT NULL) EXECUTE FUNCTION drop_module_blobs();
CREATE TRIGGER "registry_module_version_replaced" AFTER UPDATE OF "blob_id" ON "registry_module_version"
  FOR EACH ROW WHEN (OLD."blob_id" IS NOT NULL AND NEW."blob_id" IS DISTINCT FROM OLD."blob_id") EXECUTE FUNCTION drop_module_blobs();
