-- One column says when a workspace is destroyed. A time that was over when it was set is kept and shown, and never comes.

CREATE OR REPLACE FUNCTION schedule_auto_destroy() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  idle text := NEW."auto_destroy_activity_duration";
  same_time boolean := TG_OP = 'UPDATE' AND NEW."auto_destroy_at" IS NOT DISTINCT FROM OLD."auto_destroy_at";
  same_terms boolean := same_time
    AND NEW."auto_destroy_activity_duration" IS NOT DISTINCT FROM OLD."auto_destroy_activity_duration"
    AND NEW."inherits_project_auto_destroy" = OLD."inherits_project_auto_destroy"
    AND (NEW."project_id" = OLD."project_id" OR NOT NEW."inherits_project_auto_destroy")
    AND (NEW."resource_count" = 0) = (OLD."resource_count" = 0)
    AND (NEW."current_state_version_id" IS NULL) = (OLD."current_state_version_id" IS NULL);
  may_idle boolean := NEW."auto_destroy_at" IS NULL AND NEW."current_state_version_id" IS NOT NULL AND NEW."resource_count" > 0;
BEGIN
  IF same_terms AND NEW."current_state_version_id" IS NOT DISTINCT FROM OLD."current_state_version_id" THEN
    RETURN NEW;
  END IF;
  -- What was set stays set, also in the moment in which it comes.
  IF same_time AND NEW."auto_destroy_at" IS NOT NULL THEN
    RETURN NEW;
  END IF;
  IF NEW."inherits_project_auto_destroy" AND may_idle AND same_terms THEN
    SELECT p."auto_destroy_activity_duration" INTO idle FROM "project" p WHERE p."id" = NEW."project_id";
  ELSIF NEW."inherits_project_auto_destroy" AND may_idle THEN
    -- Somebody who changes the project at this moment does not find this workspace: they are waited for.
    SELECT p."auto_destroy_activity_duration" INTO idle FROM "project" p WHERE p."id" = NEW."project_id" FOR KEY SHARE;
  END IF;
  NEW."auto_destroy_due_at" := CASE
    WHEN NEW."auto_destroy_at" > now() THEN NEW."auto_destroy_at"
    WHEN may_idle THEN now() + idle_interval(idle) END;
  NEW."auto_destroy_reminded" := CASE
    WHEN NEW."auto_destroy_due_at" <= now() + interval '12 hours' THEN 12
    WHEN NEW."auto_destroy_due_at" <= now() + interval '24 hours' THEN 24 END;
  RETURN NEW;
END $$;
