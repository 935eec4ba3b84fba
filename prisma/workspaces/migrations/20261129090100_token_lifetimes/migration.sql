-- How long tokens of an organization, of its teams and of its people may live.
ALTER TABLE "organization" ADD COLUMN "max_ttl_enabled" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "token_max_lives" JSONB NOT NULL DEFAULT '{}';

-- Rules look at whether people's tokens are let in.
DROP TRIGGER "organization_access" ON "organization";
CREATE TRIGGER "organization_access" AFTER UPDATE OF "collaborator_auth_policy", "allow_force_delete_workspaces",
    "session_timeout", "session_remember", "user_tokens_enabled", "max_ttl_enabled", "token_max_lives", "is_disabled", "removed_at"
    ON "organization"
  FOR EACH ROW EXECUTE FUNCTION move_access_of_organization();
