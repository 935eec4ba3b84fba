-- A renamed organization reserves the name only if others could have referred to it: it had that name for a day, or had
-- a workspace, a connection, another member or a token under it.
CREATE OR REPLACE FUNCTION release_name_of_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND greatest(OLD.created_at,
       (SELECT max(r.released_at) FROM released_name r WHERE r.kind = 'organization' AND r.holder_id = OLD.id))
       > now() - interval '1 day'
     AND NOT EXISTS (SELECT 1 FROM workspace w WHERE w.organization_id = OLD.id)
     AND NOT EXISTS (SELECT 1 FROM oauth_client c WHERE c.organization_id = OLD.id)
     AND NOT EXISTS (SELECT 1 FROM token t WHERE t.organization_id = OLD.id)
     AND NOT EXISTS (SELECT 1 FROM membership m WHERE m.organization_id = OLD.id OFFSET 1)
  THEN
    RETURN NULL;
  END IF;
  PERFORM release_name('organization', OLD.name, OLD.id, CASE WHEN TG_ARGV[0] = 'renamed' THEN '{}'::text[] ELSE ARRAY(
    SELECT m.user_id FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id
     WHERE t.organization_id = OLD.id AND t.is_owners AND m.status = 'active') END);
  RETURN NULL;
END $$;
