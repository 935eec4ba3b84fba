-- Modules from which people make workspaces without writing configuration.
CREATE TABLE "no_code_module" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "module_id" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "version_pin" TEXT,
    "variable_options" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "no_code_module_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "no_code_module_module_id_key" ON "no_code_module"("module_id");
ALTER TABLE "no_code_module" ADD CONSTRAINT "no_code_module_module_id_fkey"
    FOREIGN KEY ("module_id") REFERENCES "registry_module"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "workspace" ADD COLUMN "source_module_id" TEXT;
