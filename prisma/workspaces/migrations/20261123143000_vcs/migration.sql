-- Repositories that workspaces are connected to, what their hosts told of them, and the commits behind configurations.
CREATE TABLE "vcs_repository" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "oauth_token_id" TEXT NOT NULL,
    "service_provider" TEXT NOT NULL,
    "api_url" TEXT NOT NULL,
    "identifier" TEXT NOT NULL,
    "remote_id" TEXT,
    "display_identifier" TEXT,
    "http_url" TEXT,
    "clone_url" TEXT,
    "default_branch" TEXT,
    "credential" BYTEA NOT NULL,
    "hook_secret" BYTEA NOT NULL,
    "hook_id" TEXT,
    "hook_attempts" INTEGER NOT NULL DEFAULT 0,
    "problem" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "orphaned_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "vcs_repository_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "vcs_repository_oauth_token_id_identifier_key" ON "vcs_repository"("oauth_token_id", "identifier");
CREATE INDEX "vcs_repository_next_at_idx" ON "vcs_repository"("next_at");

CREATE TABLE "vcs_delivery" (
    "id" TEXT NOT NULL,
    "repository_id" TEXT NOT NULL,
    "delivery_id" TEXT NOT NULL,
    "events" JSONB NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'waiting',
    "problem" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "vcs_delivery_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "vcs_delivery_repository_id_delivery_id_key" ON "vcs_delivery"("repository_id", "delivery_id");
CREATE INDEX "vcs_delivery_state_next_at_idx" ON "vcs_delivery"("state", "next_at");
ALTER TABLE "vcs_delivery" ADD CONSTRAINT "vcs_delivery_repository_id_fkey" FOREIGN KEY ("repository_id") REFERENCES "vcs_repository"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "vcs_head" (
    "workspace_id" TEXT NOT NULL,
    "ref" TEXT NOT NULL,
    "commit" TEXT NOT NULL,

    CONSTRAINT "vcs_head_pkey" PRIMARY KEY ("workspace_id", "ref")
);
ALTER TABLE "vcs_head" ADD CONSTRAINT "vcs_head_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "ingress_attributes" (
    "id" TEXT NOT NULL,
    "configuration_version_id" TEXT NOT NULL,
    "repository_id" TEXT,
    "identifier" TEXT NOT NULL,
    "branch" TEXT,
    "tag" TEXT,
    "clone_url" TEXT NOT NULL,
    "commit_sha" TEXT NOT NULL,
    "commit_message" TEXT NOT NULL,
    "commit_url" TEXT NOT NULL,
    "compare_url" TEXT,
    "is_pull_request" BOOLEAN NOT NULL DEFAULT false,
    "on_default_branch" BOOLEAN NOT NULL DEFAULT false,
    "pull_request_number" INTEGER,
    "pull_request_url" TEXT,
    "pull_request_title" TEXT,
    "pull_request_body" TEXT,
    "sender_username" TEXT,
    "sender_avatar_url" TEXT,
    "sender_html_url" TEXT,
    "from_fork" BOOLEAN NOT NULL DEFAULT false,
    "submodules" BOOLEAN NOT NULL DEFAULT false,
    "changed_files" TEXT[],
    "fetch_attempts" INTEGER NOT NULL DEFAULT 0,
    "fetch_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status_sent" TEXT,
    "status_attempts" INTEGER NOT NULL DEFAULT 0,
    "status_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ingress_attributes_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "ingress_attributes_configuration_version_id_key" ON "ingress_attributes"("configuration_version_id");
CREATE INDEX "ingress_attributes_repository_id_idx" ON "ingress_attributes"("repository_id");
CREATE INDEX "ingress_attributes_fetch_at_idx" ON "ingress_attributes"("fetch_at");
ALTER TABLE "ingress_attributes" ADD CONSTRAINT "ingress_attributes_configuration_version_id_fkey" FOREIGN KEY ("configuration_version_id") REFERENCES "configuration_version"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "ingress_attributes" ADD CONSTRAINT "ingress_attributes_repository_id_fkey" FOREIGN KEY ("repository_id") REFERENCES "vcs_repository"("id") ON DELETE SET NULL ON UPDATE CASCADE;

CREATE TABLE "vcs_comment" (
    "repository_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "comment_id" TEXT,
    "digest" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "vcs_comment_pkey" PRIMARY KEY ("repository_id", "number")
);
ALTER TABLE "vcs_comment" ADD CONSTRAINT "vcs_comment_repository_id_fkey" FOREIGN KEY ("repository_id") REFERENCES "vcs_repository"("id") ON DELETE CASCADE ON UPDATE CASCADE;
