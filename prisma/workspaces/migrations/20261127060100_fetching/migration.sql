-- Commits that are still to be fetched are found without looking at those that were.
CREATE INDEX CONCURRENTLY "configuration_version_fetching" ON "configuration_version"("id") WHERE "status" = 'fetching';
