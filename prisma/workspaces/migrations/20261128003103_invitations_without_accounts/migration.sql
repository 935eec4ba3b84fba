-- An invitation names an address and no account. Those that stand on an account get a place of their own.
CREATE TEMPORARY TABLE "invited" ON COMMIT DROP AS
  SELECT m."id" AS "membership_id", u."email",
         'user-' || substr(md5(gen_random_uuid()::text), 1, 16) AS "user_id",
         'invited-' || substr(md5(gen_random_uuid()::text), 1, 16) AS "username"
    FROM "membership" m JOIN "user_account" u ON u."id" = m."user_id"
   WHERE m."status" = 'invited' AND u."confirmed";
INSERT INTO "user_account" ("id", "username", "email") SELECT "user_id", "username", "email" FROM "invited";
UPDATE "membership" m SET "user_id" = i."user_id" FROM "invited" i WHERE m."id" = i."membership_id";
UPDATE "one_time_link" l SET "user_id" = i."user_id" FROM "invited" i WHERE l."membership_id" = i."membership_id";
