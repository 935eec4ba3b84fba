-- One account has an address; any number of invitations may name it.
CREATE UNIQUE INDEX CONCURRENTLY "user_account_address_key" ON "user_account" (lower("email")) WHERE "confirmed";
