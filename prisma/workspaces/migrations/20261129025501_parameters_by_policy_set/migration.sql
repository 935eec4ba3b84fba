-- Parameters of a policy set have different names.
CREATE UNIQUE INDEX CONCURRENTLY "variable_policy_set_id_category_key_key" ON "variable"("policy_set_id", "category", "key");
