-- Beside writers: the constraint holds for new rows since the migration before.
ALTER TABLE "variable" VALIDATE CONSTRAINT "variable_policy_set_id_fkey";
