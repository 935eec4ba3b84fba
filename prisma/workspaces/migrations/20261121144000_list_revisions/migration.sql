-- AlterTable
ALTER TABLE "organization_tally" ADD COLUMN     "revision" BIGINT NOT NULL DEFAULT 0;

-- The revision of a tally moves when a workspace comes, goes or is renamed: what a page of the list holds has changed.
CREATE OR REPLACE FUNCTION count_workspaces() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "organization_tally" AS t ("organization_id", "workspaces", "revision")
      SELECT "organization_id", count(*), nextval('revision_seq') FROM added GROUP BY 1 ORDER BY 1
      ON CONFLICT ("organization_id") DO UPDATE
        SET "workspaces" = t."workspaces" + EXCLUDED."workspaces", "revision" = EXCLUDED."revision";
  ELSE
    UPDATE "organization_tally" t SET "workspaces" = t."workspaces" - g.n, "revision" = nextval('revision_seq')
      FROM (SELECT "organization_id", count(*) AS n FROM gone GROUP BY 1) g
      WHERE t."organization_id" = g."organization_id";
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION move_tally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "organization_tally" SET "revision" = nextval('revision_seq') WHERE "organization_id" = NEW."organization_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "workspace_renamed" AFTER UPDATE OF "name" ON "workspace"
  FOR EACH ROW WHEN (OLD."name" IS DISTINCT FROM NEW."name") EXECUTE FUNCTION move_tally();

-- A second factor that comes or goes changes what the organizations of its owner show.
CREATE FUNCTION touch_organizations_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  person text := CASE WHEN TG_OP = 'DELETE' THEN OLD."user_id" ELSE NEW."user_id" END;
BEGIN
  UPDATE "organization" SET "revision" = 0
    WHERE "id" IN (SELECT "organization_id" FROM "membership" WHERE "user_id" = person);
  RETURN NULL;
END $$;
CREATE TRIGGER "two_factor_touch" AFTER INSERT OR UPDATE OF "verified_at" OR DELETE ON "two_factor"
  FOR EACH ROW EXECUTE FUNCTION touch_organizations_of_user();

-- Part of a name is found by its trigrams where PostgreSQL offers them; without, the list is searched row by row.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX "workspace_name_trgm_idx" ON "workspace" USING gin ("name" gin_trgm_ops);
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'pg_trgm is not available: searching by part of a name will be slower';
END $$;
