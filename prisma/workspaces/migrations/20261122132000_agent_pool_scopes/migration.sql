-- CreateTable
CREATE TABLE "agent_pool_project" (
    "agent_pool_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,

    CONSTRAINT "agent_pool_project_pkey" PRIMARY KEY ("agent_pool_id","project_id")
);

-- CreateTable
CREATE TABLE "agent_pool_exclusion" (
    "agent_pool_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,

    CONSTRAINT "agent_pool_exclusion_pkey" PRIMARY KEY ("agent_pool_id","workspace_id")
);

-- CreateIndex
CREATE INDEX "agent_pool_project_project_id_idx" ON "agent_pool_project"("project_id");

-- CreateIndex
CREATE INDEX "agent_pool_exclusion_workspace_id_idx" ON "agent_pool_exclusion"("workspace_id");

-- AddForeignKey
ALTER TABLE "agent_pool_project" ADD CONSTRAINT "agent_pool_project_agent_pool_id_fkey" FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_pool_project" ADD CONSTRAINT "agent_pool_project_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_pool_exclusion" ADD CONSTRAINT "agent_pool_exclusion_agent_pool_id_fkey" FOREIGN KEY ("agent_pool_id") REFERENCES "agent_pool"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_pool_exclusion" ADD CONSTRAINT "agent_pool_exclusion_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
