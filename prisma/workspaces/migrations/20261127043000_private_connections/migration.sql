-- Connections that name an agent pool: their hosts are called by agents of it.
ALTER TABLE "run_worker" ADD COLUMN "forwards" BOOLEAN NOT NULL DEFAULT false;

ALTER TABLE "vcs_repository" ADD COLUMN "agent_pool_id" TEXT;
UPDATE "vcs_repository" v SET "agent_pool_id" = c."agent_pool_id"
  FROM "oauth_token" t JOIN "oauth_client" c ON c."id" = t."oauth_client_id"
 WHERE t."id" = v."oauth_token_id" AND c."agent_pool_id" IS NOT NULL;

CREATE TABLE "forwarded_request" (
    "id" TEXT NOT NULL,
    "agent_pool_id" TEXT NOT NULL,
    "request" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "worker_id" TEXT,
    "answer" BYTEA,
    "failure" TEXT,

    CONSTRAINT "forwarded_request_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "forwarded_request_agent_pool_id_created_at_idx" ON "forwarded_request"("agent_pool_id", "created_at");
CREATE INDEX "forwarded_request_ends_at_idx" ON "forwarded_request"("ends_at");
ALTER TABLE "forwarded_request" ADD CONSTRAINT "forwarded_request_agent_pool_id_fkey" FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A pool that is gone calls nobody; from now on none is deleted that a connection names.
UPDATE "oauth_client" c SET "agent_pool_id" = NULL
 WHERE c."agent_pool_id" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "agent_pool" p WHERE p."id" = c."agent_pool_id");
