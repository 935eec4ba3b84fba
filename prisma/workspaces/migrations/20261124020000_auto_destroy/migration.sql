ALTER TABLE "workspace" ADD COLUMN     "auto_destroy_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "auto_destroy_reminded" INTEGER;

-- Notifications that are about a workspace, and what they tell of it.
ALTER TABLE "notification_delivery" ADD COLUMN     "workspace_id" TEXT,
ADD COLUMN     "details" JSONB;
CREATE INDEX "notification_delivery_workspace_id_idx" ON "notification_delivery"("workspace_id");
ALTER TABLE "notification_delivery" ADD CONSTRAINT "notification_delivery_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- `14d` or `4h`.
CREATE FUNCTION idle_interval(duration text) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT left(duration, -1)::int * CASE right(duration, 1) WHEN 'd' THEN interval '24 hours' ELSE interval '1 hour' END
$$;

-- When a workspace that stays idle is destroyed: counted from the last change of its state, or of what is said of it.
-- Reminders whose time was over when a time was set are as good as sent.
CREATE FUNCTION schedule_auto_destroy() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  idle text := NEW."auto_destroy_activity_duration";
  same_terms boolean := TG_OP = 'UPDATE'
    AND NEW."auto_destroy_at" IS NOT DISTINCT FROM OLD."auto_destroy_at"
    AND NEW."auto_destroy_activity_duration" IS NOT DISTINCT FROM OLD."auto_destroy_activity_duration"
    AND NEW."inherits_project_auto_destroy" = OLD."inherits_project_auto_destroy"
    AND (NEW."project_id" = OLD."project_id" OR NOT NEW."inherits_project_auto_destroy")
    AND (NEW."resource_count" = 0) = (OLD."resource_count" = 0)
    AND (NEW."current_state_version_id" IS NULL) = (OLD."current_state_version_id" IS NULL);
  may_idle boolean := NEW."auto_destroy_at" IS NULL AND NEW."current_state_version_id" IS NOT NULL AND NEW."resource_count" > 0;
  at timestamptz;
BEGIN
  IF same_terms AND NEW."current_state_version_id" IS NOT DISTINCT FROM OLD."current_state_version_id" THEN
    RETURN NEW;
  END IF;
  IF NEW."inherits_project_auto_destroy" AND may_idle AND same_terms THEN
    SELECT p."auto_destroy_activity_duration" INTO idle FROM "project" p WHERE p."id" = NEW."project_id";
  ELSIF NEW."inherits_project_auto_destroy" AND may_idle THEN
    -- Somebody who changes the project at this moment does not find this workspace: they are waited for.
    SELECT p."auto_destroy_activity_duration" INTO idle FROM "project" p WHERE p."id" = NEW."project_id" FOR KEY SHARE;
  END IF;
  NEW."auto_destroy_due_at" := CASE WHEN may_idle THEN now() + idle_interval(idle) END;
  at := coalesce(NEW."auto_destroy_at", NEW."auto_destroy_due_at");
  NEW."auto_destroy_reminded" := CASE
    WHEN at <= now() + interval '12 hours' THEN 12 WHEN at <= now() + interval '24 hours' THEN 24 END;
  RETURN NEW;
END $$;
CREATE TRIGGER "workspace_auto_destroy" BEFORE INSERT OR UPDATE OF "auto_destroy_at", "auto_destroy_activity_duration",
  "inherits_project_auto_destroy", "project_id", "current_state_version_id", "resource_count" ON "workspace"
  FOR EACH ROW EXECUTE FUNCTION schedule_auto_destroy();

CREATE FUNCTION reschedule_auto_destroy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "workspace" w
     SET "auto_destroy_due_at" = now() + idle_interval(NEW."auto_destroy_activity_duration"),
         "auto_destroy_reminded" = CASE
           WHEN idle_interval(NEW."auto_destroy_activity_duration") <= interval '12 hours' THEN 12
           WHEN idle_interval(NEW."auto_destroy_activity_duration") <= interval '24 hours' THEN 24 END
   WHERE w."project_id" = NEW."id" AND w."inherits_project_auto_destroy" AND w."auto_destroy_at" IS NULL
     AND w."current_state_version_id" IS NOT NULL AND w."resource_count" > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER "project_auto_destroy" AFTER UPDATE OF "auto_destroy_activity_duration" ON "project"
  FOR EACH ROW WHEN (OLD."auto_destroy_activity_duration" IS DISTINCT FROM NEW."auto_destroy_activity_duration")
  EXECUTE FUNCTION reschedule_auto_destroy();
