-- Beside writers: the constraints hold for new rows since the migration of these columns.
ALTER TABLE "policy_set" VALIDATE CONSTRAINT "policy_set_oauth_token_id_fkey";
ALTER TABLE "module_fetch" VALIDATE CONSTRAINT "module_fetch_policy_set_version_id_fkey";
