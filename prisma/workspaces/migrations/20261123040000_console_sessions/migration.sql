-- What a person's browser holds while they use the console: an id, of which a keyed hash is kept, for a token that never leaves.
CREATE TABLE "console_session" (
    "hash" BYTEA NOT NULL,
    "token_id" TEXT NOT NULL,
    "owns_token" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "step_up_until" TIMESTAMPTZ(3),

    CONSTRAINT "console_session_pkey" PRIMARY KEY ("hash")
);
CREATE INDEX "console_session_token_id_idx" ON "console_session"("token_id");
CREATE INDEX "console_session_expires_at_idx" ON "console_session"("expires_at");
ALTER TABLE "console_session" ADD CONSTRAINT "console_session_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "token"("id") ON DELETE CASCADE ON UPDATE CASCADE;
