-- The sum of a provider's unpacked files, by which the tools check what a network mirror gives them.
ALTER TABLE "registry_provider_platform" ADD COLUMN "files_hash" TEXT;
