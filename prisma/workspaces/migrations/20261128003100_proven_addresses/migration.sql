-- Whether somebody has proven that the address of an account is theirs.
ALTER TABLE "user_account" ADD COLUMN "email_proven" BOOLEAN NOT NULL DEFAULT false;
