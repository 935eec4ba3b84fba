-- Versions of modules that a plan tries instead of those that its configuration asks for.
ALTER TABLE "run" ADD COLUMN "module_versions" JSONB NOT NULL DEFAULT '[]';
