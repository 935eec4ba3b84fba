-- What was uploaded, so that the same upload again is recognised.
ALTER TABLE "configuration_version" ADD COLUMN     "digest" BYTEA;
