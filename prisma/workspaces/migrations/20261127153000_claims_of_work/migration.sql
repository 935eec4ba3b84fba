-- Counted on by each taking of a row, and by the end of that: what is written late, by an older number, changes nothing.
ALTER TABLE "vcs_repository" ADD COLUMN "claim" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "vcs_delivery" ADD COLUMN "claim" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "vcs_passing" ADD COLUMN "claim" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "vcs_comment" ADD COLUMN "claim" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "github_app" ADD COLUMN "claim" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "oauth_token" ADD COLUMN "renew_claim" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "ingress_attributes" ADD COLUMN "status_claim" INTEGER NOT NULL DEFAULT 0;

-- How often the worker of a job vanished once it had begun: until now that was told from how often the job was given out.
ALTER TABLE "run_job" ADD COLUMN "losses" INTEGER NOT NULL DEFAULT 0;
