-- What was soft-deleted, until it is removed for good.
CREATE INDEX CONCURRENTLY "configuration_version_soft_deleted" ON "configuration_version"("deleted_at") WHERE "status" = 'backing_data_soft_deleted';
