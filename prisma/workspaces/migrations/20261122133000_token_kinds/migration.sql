-- AlterTable
ALTER TABLE "organization" ADD COLUMN     "user_tokens_enabled" BOOLEAN NOT NULL DEFAULT true;

-- Rules look at whether people's tokens are let in.
DROP TRIGGER "organization_access" ON "organization";
CREATE TRIGGER "organization_access" AFTER UPDATE OF "collaborator_auth_policy", "allow_force_delete_workspaces",
    "session_timeout", "session_remember", "user_tokens_enabled", "is_disabled", "removed_at" ON "organization"
  FOR EACH ROW EXECUTE FUNCTION move_access_of_organization();

-- A team has one token without a description, and one of each description; an organization one of each kind.
DROP INDEX "token_team_key";
CREATE UNIQUE INDEX "token_team_key" ON "token" ("team_id", coalesce("description", '')) WHERE "kind" = 'team';
DROP INDEX "token_organization_key";
CREATE UNIQUE INDEX "token_organization_key" ON "token" ("organization_id", "kind")
  WHERE "kind" IN ('organization', 'audit-trails');
