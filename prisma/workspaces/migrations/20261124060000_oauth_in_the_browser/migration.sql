-- Connections to Git hosts that a person agrees to in the browser, credentials that end and are renewed, and commits that
-- concern no workspace.
ALTER TABLE "oauth_token" ADD COLUMN "refresh_token" BYTEA,
ADD COLUMN "expires_at" TIMESTAMPTZ(3),
ADD COLUMN "renew_at" TIMESTAMPTZ(3),
ADD COLUMN "renew_attempts" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN "renew_problem" TEXT;
CREATE INDEX "oauth_token_renew_at_idx" ON "oauth_token"("renew_at");

CREATE TABLE "oauth_leaving" (
    "state_hash" BYTEA NOT NULL,
    "oauth_client_id" TEXT NOT NULL,
    "caller_token" TEXT NOT NULL,
    "begun_with" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "oauth_leaving_pkey" PRIMARY KEY ("state_hash")
);
CREATE INDEX "oauth_leaving_oauth_client_id_idx" ON "oauth_leaving"("oauth_client_id");
CREATE INDEX "oauth_leaving_expires_at_idx" ON "oauth_leaving"("expires_at");
ALTER TABLE "oauth_leaving" ADD CONSTRAINT "oauth_leaving_oauth_client_id_fkey" FOREIGN KEY ("oauth_client_id") REFERENCES "oauth_client"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "vcs_passing" (
    "workspace_id" TEXT NOT NULL,
    "repository_id" TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "vcs_passing_pkey" PRIMARY KEY ("workspace_id", "repository_id", "commit")
);
CREATE INDEX "vcs_passing_repository_id_idx" ON "vcs_passing"("repository_id");
CREATE INDEX "vcs_passing_next_at_idx" ON "vcs_passing"("next_at");
ALTER TABLE "vcs_passing" ADD CONSTRAINT "vcs_passing_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "vcs_passing" ADD CONSTRAINT "vcs_passing_repository_id_fkey" FOREIGN KEY ("repository_id") REFERENCES "vcs_repository"("id") ON DELETE CASCADE ON UPDATE CASCADE;
