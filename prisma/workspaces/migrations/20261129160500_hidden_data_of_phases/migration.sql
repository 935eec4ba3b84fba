-- The results and the log of a plan or an apply, while they can be brought back.
CREATE TABLE "hidden_phase_data" (
    "phase_id" TEXT NOT NULL,
    "json_blob_id" TEXT,
    "redacted_blob_id" TEXT,
    "plan_blob_id" TEXT,
    "state_blob_id" TEXT,
    "log_size" BIGINT NOT NULL,
    "deleted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "hidden_phase_data_pkey" PRIMARY KEY ("phase_id"),
    CONSTRAINT "hidden_phase_data_phase_id_fkey" FOREIGN KEY ("phase_id") REFERENCES "run_phase"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "hidden_phase_data_deleted_at_idx" ON "hidden_phase_data"("deleted_at");

CREATE TRIGGER "hidden_phase_data_gone" AFTER DELETE ON "hidden_phase_data"
  FOR EACH ROW EXECUTE FUNCTION drop_phase_blobs();
