-- Who is left at a repository. It takes the place of the index of the token alone.
CREATE INDEX CONCURRENTLY "workspace_oauth_token_id_vcs_identifier_idx" ON "workspace"("oauth_token_id", "vcs_identifier");
