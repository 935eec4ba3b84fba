-- Times were kept and never acted on: what lies behind is not caught up with, all else begins to count now. So many rows at a
-- time that nobody waits long for one of them.
DO $$
DECLARE
  seen text := '';
  upto text;
BEGIN
  LOOP
    SELECT max(b."id") INTO upto FROM (SELECT "id" FROM "workspace" WHERE "id" > seen ORDER BY "id" LIMIT 1000) b;
    EXIT WHEN upto IS NULL;
    UPDATE "workspace" SET "auto_destroy_at" = NULL WHERE "id" > seen AND "id" <= upto AND "auto_destroy_at" <= now();
    UPDATE "workspace" w
       SET "auto_destroy_due_at" = coalesce(w."auto_destroy_at", now() + idle_interval(
             CASE WHEN w."inherits_project_auto_destroy" THEN p."auto_destroy_activity_duration"
                  ELSE w."auto_destroy_activity_duration" END))
      FROM "project" p
     WHERE p."id" = w."project_id" AND w."id" > seen AND w."id" <= upto AND w."auto_destroy_due_at" IS NULL
       AND (w."auto_destroy_at" IS NOT NULL
         OR w."current_state_version_id" IS NOT NULL AND w."resource_count" > 0
            AND CASE WHEN w."inherits_project_auto_destroy" THEN p."auto_destroy_activity_duration"
                     ELSE w."auto_destroy_activity_duration" END IS NOT NULL);
    COMMIT;
    seen := upto;
  END LOOP;
END $$;
