-- Replaced by "user_account_address_key".
DROP INDEX CONCURRENTLY IF EXISTS "user_account_email_key";
