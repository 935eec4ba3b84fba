-- CreateTable
CREATE TABLE "oauth_client" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT,
    "service_provider" TEXT NOT NULL,
    "http_url" TEXT NOT NULL,
    "api_url" TEXT NOT NULL,
    "key" TEXT,
    "secret" BYTEA,
    "rsa_public_key" TEXT,
    "private_key" BYTEA,
    "organization_scoped" BOOLEAN NOT NULL DEFAULT true,
    "agent_pool_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "oauth_client_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_client_project" (
    "oauth_client_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,

    CONSTRAINT "oauth_client_project_pkey" PRIMARY KEY ("oauth_client_id","project_id")
);

-- CreateTable
CREATE TABLE "oauth_token" (
    "id" TEXT NOT NULL,
    "oauth_client_id" TEXT NOT NULL,
    "value" BYTEA NOT NULL,
    "ssh_key" BYTEA,
    "service_provider_user" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "oauth_token_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "variable" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT,
    "variable_set_id" TEXT,
    "key" TEXT NOT NULL,
    "category" TEXT NOT NULL,
    "value" TEXT,
    "sealed" BYTEA,
    "hcl" BOOLEAN NOT NULL DEFAULT false,
    "sensitive" BOOLEAN NOT NULL DEFAULT false,
    "description" TEXT,
    "version_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "variable_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "variable_set" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "global" BOOLEAN NOT NULL DEFAULT false,
    "priority" BOOLEAN NOT NULL DEFAULT false,
    "parent_project_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "variable_set_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "variable_set_workspace" (
    "variable_set_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,

    CONSTRAINT "variable_set_workspace_pkey" PRIMARY KEY ("variable_set_id","workspace_id")
);

-- CreateTable
CREATE TABLE "variable_set_project" (
    "variable_set_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,

    CONSTRAINT "variable_set_project_pkey" PRIMARY KEY ("variable_set_id","project_id")
);

-- CreateIndex
CREATE INDEX "oauth_client_organization_id_idx" ON "oauth_client"("organization_id");

-- CreateIndex
CREATE INDEX "oauth_client_project_project_id_idx" ON "oauth_client_project"("project_id");

-- CreateIndex
CREATE INDEX "oauth_token_oauth_client_id_idx" ON "oauth_token"("oauth_client_id");

-- CreateIndex
CREATE UNIQUE INDEX "variable_workspace_id_category_key_key" ON "variable"("workspace_id", "category", "key");

-- CreateIndex
CREATE UNIQUE INDEX "variable_variable_set_id_category_key_key" ON "variable"("variable_set_id", "category", "key");

-- CreateIndex
CREATE UNIQUE INDEX "variable_set_organization_id_name_key" ON "variable_set"("organization_id", "name");

-- CreateIndex
CREATE INDEX "variable_set_workspace_workspace_id_idx" ON "variable_set_workspace"("workspace_id");

-- CreateIndex
CREATE INDEX "variable_set_project_project_id_idx" ON "variable_set_project"("project_id");

-- AddForeignKey
ALTER TABLE "workspace" ADD CONSTRAINT "workspace_oauth_token_id_fkey" FOREIGN KEY ("oauth_token_id") REFERENCES "oauth_token"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "token" ADD CONSTRAINT "token_agent_pool_id_fkey" FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_client" ADD CONSTRAINT "oauth_client_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_client_project" ADD CONSTRAINT "oauth_client_project_oauth_client_id_fkey" FOREIGN KEY ("oauth_client_id") REFERENCES "oauth_client"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_client_project" ADD CONSTRAINT "oauth_client_project_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_token" ADD CONSTRAINT "oauth_token_oauth_client_id_fkey" FOREIGN KEY ("oauth_client_id") REFERENCES "oauth_client"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "variable" ADD CONSTRAINT "variable_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "variable" ADD CONSTRAINT "variable_variable_set_id_fkey" FOREIGN KEY ("variable_set_id") REFERENCES "variable_set"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "variable_set" ADD CONSTRAINT "variable_set_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "variable_set_workspace" ADD CONSTRAINT "variable_set_workspace_variable_set_id_fkey" FOREIGN KEY ("variable_set_id") REFERENCES "variable_set"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "variable_set_workspace" ADD CONSTRAINT "variable_set_workspace_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "variable_set_project" ADD CONSTRAINT "variable_set_project_variable_set_id_fkey" FOREIGN KEY ("variable_set_id") REFERENCES "variable_set"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "variable_set_project" ADD CONSTRAINT "variable_set_project_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TRIGGER "oauth_client_revision" BEFORE INSERT OR UPDATE ON "oauth_client"
  FOR EACH ROW EXECUTE FUNCTION set_revision();
CREATE TRIGGER "variable_set_revision" BEFORE INSERT OR UPDATE ON "variable_set"
  FOR EACH ROW EXECUTE FUNCTION set_revision();

-- A workspace shows its variables.
CREATE TRIGGER "variable_touch" AFTER INSERT OR DELETE ON "variable"
  FOR EACH ROW EXECUTE FUNCTION touch_parents();
