-- Modules and providers of the registry have key-value tags, as projects and workspaces have.
ALTER TABLE "tag_binding" ADD COLUMN "module_id" TEXT, ADD COLUMN "provider_id" TEXT;
ALTER TABLE "tag_binding" ADD CONSTRAINT "tag_binding_module_id_fkey"
    FOREIGN KEY ("module_id") REFERENCES "registry_module"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;
ALTER TABLE "tag_binding" ADD CONSTRAINT "tag_binding_provider_id_fkey"
    FOREIGN KEY ("provider_id") REFERENCES "registry_provider"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;
