-- What is being ended is few among many: counted and found without reading those that live.
CREATE INDEX "lease_ending_idx" ON "lease"("namespace_id", "path") WHERE "state" > 0;

-- Rows come and go in large numbers at once. PostgreSQL cleans up after a fifth of a table has changed, which is too late for
-- listings and sweeps of large tables: each would walk over what is gone.
ALTER TABLE "entry" SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE "entry_witness" SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE "token" SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE "lease" SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
