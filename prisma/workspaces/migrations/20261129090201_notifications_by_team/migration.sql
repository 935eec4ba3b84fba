-- What a team that is deleted leaves.
CREATE INDEX CONCURRENTLY "notification_configuration_team_id_idx" ON "notification_configuration"("team_id");
