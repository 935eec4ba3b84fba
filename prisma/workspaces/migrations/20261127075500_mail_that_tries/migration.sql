-- How much mail that only tries a configuration an address has had, or a configuration has sent, as the moment until which it is paid for.
CREATE TABLE "mail_trial" (
    "key" BYTEA NOT NULL,
    "paid_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "mail_trial_pkey" PRIMARY KEY ("key")
);
