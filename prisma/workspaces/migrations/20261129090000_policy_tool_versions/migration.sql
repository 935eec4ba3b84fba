-- Versions of OPA and Sentinel stand beside those of the infrastructure tool.
ALTER TABLE "infra_version" ADD COLUMN "tool" TEXT NOT NULL DEFAULT 'infra';
DROP INDEX "infra_version_version_key";
CREATE UNIQUE INDEX "infra_version_tool_version_key" ON "infra_version"("tool", "version");
