-- How often a commit could not be fetched, apart from how often it was taken: workers that die say nothing of the host.
ALTER TABLE "ingress_attributes" ADD COLUMN "fetch_failures" INTEGER NOT NULL DEFAULT 0;
