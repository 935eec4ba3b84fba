-- A version waits for one commit.
CREATE UNIQUE INDEX CONCURRENTLY "module_fetch_policy_set_version_id_key" ON "module_fetch"("policy_set_version_id");
