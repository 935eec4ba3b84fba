-- Guesses at secrets that can be guessed, each counted before it is judged. The counts in mfa_secret are those of earlier
-- releases, whose nodes may still run beside this one.
CREATE TABLE "attempt" (
    "key" BYTEA NOT NULL,
    "failures" INTEGER NOT NULL,
    "lockouts" INTEGER NOT NULL,
    "locked_until_ms" BIGINT NOT NULL,
    "forget_at_ms" BIGINT NOT NULL,

    CONSTRAINT "attempt_pkey" PRIMARY KEY ("key")
);

CREATE INDEX "attempt_forget_at_ms_idx" ON "attempt"("forget_at_ms");

-- Rows change with every login and go soon after.
ALTER TABLE "attempt" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
