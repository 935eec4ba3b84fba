-- Which run of a dry run is being judged, so that its verdict is not written to another.
ALTER TABLE "policy_evaluation" ADD COLUMN "judged_position" INTEGER, ADD COLUMN "judged_claim" INTEGER;
