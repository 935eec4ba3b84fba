-- How often a job was claimed: a node that was taken for dead must not write over what another has recorded since.
ALTER TABLE "job" ADD COLUMN "claim" INTEGER NOT NULL DEFAULT 0;
