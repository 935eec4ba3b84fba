-- A plan in a form for tools that test policies: one of each type at a time, for an hour.
CREATE TABLE "plan_export" (
    "id" TEXT NOT NULL,
    "plan_id" TEXT NOT NULL,
    "data_type" TEXT NOT NULL,
    "blob_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "plan_export_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "plan_export_plan_id_data_type_key" ON "plan_export"("plan_id", "data_type");
CREATE INDEX "plan_export_expires_at_idx" ON "plan_export"("expires_at");
ALTER TABLE "plan_export" ADD CONSTRAINT "plan_export_plan_id_fkey"
    FOREIGN KEY ("plan_id") REFERENCES "run_phase"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Bytes that only a row referred to go with it, or with its reference.
CREATE FUNCTION drop_plan_export_blob() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "blob" WHERE "id" = OLD."blob_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "plan_export_gone" AFTER DELETE ON "plan_export"
  FOR EACH ROW WHEN (OLD."blob_id" IS NOT NULL) EXECUTE FUNCTION drop_plan_export_blob();
CREATE TRIGGER "plan_export_emptied" AFTER UPDATE OF "blob_id" ON "plan_export"
  FOR EACH ROW WHEN (OLD."blob_id" IS NOT NULL AND NEW."blob_id" IS NULL) EXECUTE FUNCTION drop_plan_export_blob();
