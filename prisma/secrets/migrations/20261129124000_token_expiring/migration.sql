-- Tokens that were created for a day or longer, by expiry; logins are not in it.
CREATE INDEX CONCURRENTLY "token_expiring" ON "token" ("namespace_id", "expires_at_ms")
  WHERE "state" = 0 AND "path" LIKE 'auth/token/%' AND "expires_at_ms" - "created_at_ms" >= 86400000;
