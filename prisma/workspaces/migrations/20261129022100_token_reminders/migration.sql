-- When people were told by mail that a token expires soon.
ALTER TABLE "token" ADD COLUMN "reminded_at" TIMESTAMPTZ(3);
CREATE INDEX "token_reminder_idx" ON "token"("expires_at") WHERE "reminded_at" IS NULL AND "kind" <> 'session';
