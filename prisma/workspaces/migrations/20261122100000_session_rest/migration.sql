-- The longest that a session has lain idle, so that coming back after too long does not make it fresh.
ALTER TABLE "token" ADD COLUMN "longest_rest_ms" BIGINT NOT NULL DEFAULT 0;
