-- What a module that is deleted leaves.
CREATE INDEX CONCURRENTLY "configuration_version_module_id_idx" ON "configuration_version"("module_id");
