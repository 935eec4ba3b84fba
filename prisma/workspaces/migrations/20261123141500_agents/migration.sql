-- An agent is a worker of a pool, which reaches the service by HTTP alone. It ends with the token it registered with.
ALTER TABLE "run_worker"
    ADD COLUMN "agent_pool_id" TEXT,
    ADD COLUMN "token_id" TEXT,
    ADD COLUMN "name" TEXT,
    ADD COLUMN "version" TEXT,
    ADD COLUMN "protocol" INTEGER,
    ADD COLUMN "isolation" TEXT,
    ADD COLUMN "ip_address" TEXT,
    ADD COLUMN "ended_at" TIMESTAMPTZ(3),
    ADD COLUMN "ended_as" TEXT;

CREATE INDEX "run_worker_agent_pool_id_idx" ON "run_worker"("agent_pool_id");
CREATE INDEX "run_worker_token_id_idx" ON "run_worker"("token_id");

ALTER TABLE "run_worker" ADD CONSTRAINT "run_worker_agent_pool_id_fkey"
    FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "run_worker" ADD CONSTRAINT "run_worker_token_id_fkey"
    FOREIGN KEY ("token_id") REFERENCES "token"("id") ON DELETE SET NULL ON UPDATE CASCADE;
