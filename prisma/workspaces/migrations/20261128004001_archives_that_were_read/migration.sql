-- An archive that someone else has read does not change any more.
ALTER TABLE "configuration_version" ADD COLUMN "read_at" TIMESTAMPTZ(3);
