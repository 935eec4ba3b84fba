-- API tokens whose people were not told yet that they expire.
CREATE INDEX CONCURRENTLY "token_reminder_idx" ON "token"("expires_at") WHERE "reminded_at" IS NULL AND "kind" <> 'session';
