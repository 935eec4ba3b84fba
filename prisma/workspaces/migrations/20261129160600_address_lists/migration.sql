-- Addresses from which an organization may be used, and from which its agents may come.
CREATE TABLE "cidr_range_list" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "enforcement_scope" TEXT NOT NULL DEFAULT 'organization',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "cidr_range_list_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "cidr_range_list_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "cidr_range_list_organization_id_idx" ON "cidr_range_list"("organization_id");

CREATE TABLE "cidr_range" (
    "id" TEXT NOT NULL,
    "list_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "range" TEXT NOT NULL,
    "description" TEXT,
    "enabled" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "cidr_range_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "cidr_range_list_id_fkey" FOREIGN KEY ("list_id") REFERENCES "cidr_range_list"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "cidr_range_list_id_idx" ON "cidr_range"("list_id");

CREATE TABLE "cidr_range_list_pool" (
    "list_id" TEXT NOT NULL,
    "agent_pool_id" TEXT NOT NULL,

    CONSTRAINT "cidr_range_list_pool_pkey" PRIMARY KEY ("list_id", "agent_pool_id"),
    CONSTRAINT "cidr_range_list_pool_list_id_fkey" FOREIGN KEY ("list_id") REFERENCES "cidr_range_list"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "cidr_range_list_pool_agent_pool_id_fkey" FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "cidr_range_list_pool_agent_pool_id_idx" ON "cidr_range_list_pool"("agent_pool_id");

-- Access depends on them.
CREATE TRIGGER "cidr_range_list_access_update" AFTER UPDATE ON "cidr_range_list" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "cidr_range_access_insert" AFTER INSERT ON "cidr_range" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "cidr_range_access_update" AFTER UPDATE ON "cidr_range" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
CREATE TRIGGER "cidr_range_access_delete" AFTER DELETE ON "cidr_range" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION move_access();
