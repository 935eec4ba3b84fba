-- The index of token and repository has the tokens first.
DROP INDEX CONCURRENTLY IF EXISTS "workspace_oauth_token_id_idx";
