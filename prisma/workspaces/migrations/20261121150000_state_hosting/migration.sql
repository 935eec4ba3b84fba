-- Bytes of states and configurations live in sealed chunks of about 1 MiB, written one by one as they arrive.
DROP TABLE "state_blob";

CREATE TABLE "blob" (
    "id" TEXT NOT NULL,
    "size" BIGINT NOT NULL DEFAULT 0,
    "chunks" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "blob_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "blob_chunk" (
    "blob_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "blob_chunk_pkey" PRIMARY KEY ("blob_id","position")
);

CREATE TABLE "quarantined_state" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "blob_id" TEXT NOT NULL,
    "serial" BIGINT NOT NULL,
    "lineage" TEXT,
    "md5" TEXT NOT NULL,
    "size" BIGINT NOT NULL,
    "reason" TEXT NOT NULL,
    "created_by_type" TEXT NOT NULL,
    "created_by_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "quarantined_state_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "state_version"
    ADD COLUMN "raw_blob_id" TEXT,
    ADD COLUMN "json_blob_id" TEXT,
    ADD COLUMN "created_by_type" TEXT NOT NULL DEFAULT 'users',
    ADD COLUMN "rollback_of_id" TEXT,
    ADD COLUMN "forced" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "outputs_given" BOOLEAN NOT NULL DEFAULT false;

CREATE INDEX "blob_created_at_idx" ON "blob"("created_at");
CREATE INDEX "quarantined_state_workspace_id_created_at_idx" ON "quarantined_state"("workspace_id", "created_at");

ALTER TABLE "blob_chunk" ADD CONSTRAINT "blob_chunk_blob_id_fkey"
    FOREIGN KEY ("blob_id") REFERENCES "blob"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "quarantined_state" ADD CONSTRAINT "quarantined_state_workspace_id_fkey"
    FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What a row alone referred to goes with it.
CREATE FUNCTION drop_state_blobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" IN (OLD."raw_blob_id", OLD."json_blob_id");
  RETURN NULL;
END $$;
CREATE TRIGGER "state_version_gone" AFTER DELETE ON "state_version"
  FOR EACH ROW EXECUTE FUNCTION drop_state_blobs();

CREATE FUNCTION drop_quarantined_blob() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."blob_id"
    AND NOT EXISTS (SELECT 1 FROM "state_version" WHERE "raw_blob_id" = OLD."blob_id");
  RETURN NULL;
END $$;
CREATE TRIGGER "quarantined_state_gone" AFTER DELETE ON "quarantined_state"
  FOR EACH ROW EXECUTE FUNCTION drop_quarantined_blob();

-- A workspace shows the outputs of its current state.
CREATE FUNCTION touch_workspace_of_outputs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "workspace" SET "revision" = 0 WHERE "current_state_version_id" IN (SELECT DISTINCT "state_version_id" FROM added);
  RETURN NULL;
END $$;
CREATE TRIGGER "state_output_touch" AFTER INSERT ON "state_output" REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION touch_workspace_of_outputs();
