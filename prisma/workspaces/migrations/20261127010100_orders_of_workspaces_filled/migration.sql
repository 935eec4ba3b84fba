-- So many rows at a time that nobody waits long for one of them.
DO $$
DECLARE
  seen text := '';
  upto text;
BEGIN
  LOOP
    SELECT max(b."id") INTO upto FROM (SELECT "id" FROM "workspace" WHERE "id" > seen ORDER BY "id" LIMIT 1000) b;
    EXIT WHEN upto IS NULL;
    UPDATE "workspace" w SET "current_run_created_at" = r."created_at"
      FROM "run" r
     WHERE r."id" = w."current_run_id" AND w."id" > seen AND w."id" <= upto
       AND w."current_run_created_at" IS DISTINCT FROM r."created_at";
    COMMIT;
    seen := upto;
  END LOOP;
END $$;
