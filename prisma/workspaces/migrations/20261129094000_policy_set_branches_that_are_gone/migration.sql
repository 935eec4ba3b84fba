-- Why no version comes from the branch of a policy set at present.
ALTER TABLE "policy_set" ADD COLUMN "vcs_error" TEXT;
