-- The folder of a policy set as it was sent; the other column has it without slashes at its ends.
ALTER TABLE "policy_set" ADD COLUMN "policies_path_sent" TEXT;
