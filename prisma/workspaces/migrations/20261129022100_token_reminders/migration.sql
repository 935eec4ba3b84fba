-- When people were told by mail that a token expires soon.
ALTER TABLE "token" ADD COLUMN "reminded_at" TIMESTAMPTZ(3);
