-- A module has each key once.
CREATE UNIQUE INDEX CONCURRENTLY "tag_binding_module_id_key_key" ON "tag_binding"("module_id", "key");
