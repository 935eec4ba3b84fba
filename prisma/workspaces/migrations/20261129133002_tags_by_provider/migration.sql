-- A provider has each key once.
CREATE UNIQUE INDEX CONCURRENTLY "tag_binding_provider_id_key_key" ON "tag_binding"("provider_id", "key");
