-- GitHub Apps: connections whose tokens are made with a private key, one for each account that the app is installed on.
CREATE TABLE "github_app" (
    "oauth_client_id" TEXT NOT NULL,
    "look_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "problem" TEXT,

    CONSTRAINT "github_app_pkey" PRIMARY KEY ("oauth_client_id")
);
CREATE INDEX "github_app_look_at_idx" ON "github_app"("look_at");
ALTER TABLE "github_app" ADD CONSTRAINT "github_app_oauth_client_id_fkey" FOREIGN KEY ("oauth_client_id") REFERENCES "oauth_client"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "github_app_installation" (
    "id" TEXT NOT NULL,
    "oauth_client_id" TEXT NOT NULL,
    "installation_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "icon_url" TEXT,
    "url" TEXT,
    "gone_at" TIMESTAMPTZ(3),

    CONSTRAINT "github_app_installation_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "github_app_installation_oauth_client_id_installation_id_key" ON "github_app_installation"("oauth_client_id", "installation_id");
ALTER TABLE "github_app_installation" ADD CONSTRAINT "github_app_installation_id_fkey" FOREIGN KEY ("id") REFERENCES "oauth_token"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "github_app_installation" ADD CONSTRAINT "github_app_installation_oauth_client_id_fkey" FOREIGN KEY ("oauth_client_id") REFERENCES "github_app"("oauth_client_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Until now it was always null.
ALTER TABLE "workspace" ADD CONSTRAINT "workspace_vcs_installation_id_fkey" FOREIGN KEY ("vcs_installation_id") REFERENCES "github_app_installation"("id") ON DELETE SET NULL ON UPDATE CASCADE NOT VALID;
