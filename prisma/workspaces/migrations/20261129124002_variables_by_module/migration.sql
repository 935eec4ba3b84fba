-- A module's tests have each variable once.
CREATE UNIQUE INDEX CONCURRENTLY "variable_module_id_category_key_key" ON "variable"("module_id", "category", "key");
