-- Who is signed in at the console: the token stays here, the browser has an id that nothing else accepts.
CREATE TABLE "console_session" (
    "hash" BYTEA NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "created_at_ms" BIGINT NOT NULL,
    "used_at_ms" BIGINT NOT NULL,
    "idle_ends_at_ms" BIGINT NOT NULL,
    "expires_at_ms" BIGINT NOT NULL,
    "step_up_until_ms" BIGINT NOT NULL DEFAULT 0,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "console_session_pkey" PRIMARY KEY ("hash")
);

CREATE INDEX "console_session_idle_ends_at_ms_idx" ON "console_session"("idle_ends_at_ms");
