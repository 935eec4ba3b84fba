-- A run does not wait for ever for a version that no worker has.
ALTER TABLE "run" ADD COLUMN "unserved_since" TIMESTAMPTZ(3);
