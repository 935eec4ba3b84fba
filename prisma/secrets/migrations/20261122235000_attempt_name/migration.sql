-- Whose password was guessed at, so that locks can be listed. Nodes of earlier releases leave them empty.
ALTER TABLE "attempt" ADD COLUMN "mount_id" UUID, ADD COLUMN "sealed" BYTEA;
