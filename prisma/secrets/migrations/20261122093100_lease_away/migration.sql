-- Since when the outside system of a lease that is being ended has not answered for it.
ALTER TABLE "lease" ADD COLUMN "away_since_ms" BIGINT;
