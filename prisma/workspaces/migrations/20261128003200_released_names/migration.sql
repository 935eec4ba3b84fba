-- A name that was given up stays reserved: others may have granted something to it.
CREATE TABLE "released_name" (
  "kind" TEXT NOT NULL,
  -- in lower case
  "name" TEXT NOT NULL,
  -- what had it
  "holder_id" TEXT NOT NULL,
  -- the accounts that owned what had it, where that was removed
  "owner_ids" TEXT[] NOT NULL DEFAULT '{}',
  "released_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY ("kind", "name")
);

CREATE FUNCTION release_name(kind text, name text, holder_id text, owner_ids text[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO released_name (kind, name, holder_id, owner_ids) VALUES (kind, lower(name), holder_id, owner_ids)
  ON CONFLICT (kind, name) DO UPDATE SET holder_id = excluded.holder_id, owner_ids = excluded.owner_ids, released_at = now();
$$;

CREATE FUNCTION release_name_of_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM release_name('organization', OLD.name, OLD.id, CASE WHEN TG_ARGV[0] = 'renamed' THEN '{}'::text[] ELSE ARRAY(
    SELECT m.user_id FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id
     WHERE t.organization_id = OLD.id AND t.is_owners AND m.status = 'active') END);
  RETURN NULL;
END $$;
CREATE TRIGGER "organization_renamed" AFTER UPDATE OF "name" ON "organization" FOR EACH ROW
  WHEN (OLD.removed_at IS NULL AND lower(OLD.name) <> lower(NEW.name)) EXECUTE FUNCTION release_name_of_organization('renamed');
CREATE TRIGGER "organization_removed" AFTER UPDATE OF "removed_at" ON "organization" FOR EACH ROW
  WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL) EXECUTE FUNCTION release_name_of_organization('removed');
CREATE TRIGGER "organization_deleted" AFTER DELETE ON "organization" FOR EACH ROW
  WHEN (OLD.removed_at IS NULL) EXECUTE FUNCTION release_name_of_organization('removed');

CREATE FUNCTION release_name_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM release_name('user', OLD.username, OLD.id, '{}');
  RETURN NULL;
END $$;
CREATE TRIGGER "user_account_renamed" AFTER UPDATE OF "username" ON "user_account" FOR EACH ROW
  WHEN (OLD.confirmed AND lower(OLD.username) <> lower(NEW.username)) EXECUTE FUNCTION release_name_of_user();
CREATE TRIGGER "user_account_deleted" AFTER DELETE ON "user_account" FOR EACH ROW
  WHEN (OLD.confirmed) EXECUTE FUNCTION release_name_of_user();

-- After the row, so that it has waited for those who give the name up just now.
CREATE FUNCTION refuse_released_name() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wanted text := lower(to_jsonb(NEW) ->> TG_ARGV[1]);
BEGIN
  IF EXISTS (SELECT 1 FROM released_name r WHERE r.kind = TG_ARGV[0] AND r.name = wanted) THEN
    RAISE EXCEPTION 'duplicate key value violates unique constraint "%"', TG_ARGV[2]
      USING ERRCODE = 'unique_violation', CONSTRAINT = TG_ARGV[2];
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "organization_takes_name" AFTER INSERT ON "organization" FOR EACH ROW
  EXECUTE FUNCTION refuse_released_name('organization', 'name', 'organization_name_key');
CREATE TRIGGER "organization_changes_name" AFTER UPDATE OF "name" ON "organization" FOR EACH ROW
  WHEN (lower(OLD.name) <> lower(NEW.name)) EXECUTE FUNCTION refuse_released_name('organization', 'name', 'organization_name_key');
CREATE TRIGGER "user_account_takes_name" AFTER INSERT ON "user_account" FOR EACH ROW
  EXECUTE FUNCTION refuse_released_name('user', 'username', 'user_account_username_key');
CREATE TRIGGER "user_account_changes_name" AFTER UPDATE OF "username" ON "user_account" FOR EACH ROW
  WHEN (lower(OLD.username) <> lower(NEW.username)) EXECUTE FUNCTION refuse_released_name('user', 'username', 'user_account_username_key');
