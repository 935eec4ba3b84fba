-- Every notification configuration of a team has its team.
ALTER TABLE "notification_configuration" VALIDATE CONSTRAINT "notification_configuration_team_id_fkey";
