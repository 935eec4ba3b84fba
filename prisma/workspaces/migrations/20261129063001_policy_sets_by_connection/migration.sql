-- What a connection that is deleted leaves.
CREATE INDEX CONCURRENTLY "policy_set_oauth_token_id_idx" ON "policy_set"("oauth_token_id");
