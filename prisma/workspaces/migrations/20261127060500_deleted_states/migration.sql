-- What was soft-deleted, until it is removed for good.
CREATE INDEX CONCURRENTLY "state_version_soft_deleted" ON "state_version"("deleted_at") WHERE "status" = 'backing_data_soft_deleted';
