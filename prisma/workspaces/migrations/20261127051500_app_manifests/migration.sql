-- People on the way to a host that is to make a GitHub App of a manifest.
CREATE TABLE "app_manifest" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "oauth_client_id" TEXT NOT NULL,
    "caller_token" TEXT NOT NULL,
    "asked" JSONB NOT NULL,
    "shown_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "app_manifest_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "app_manifest_organization_id_idx" ON "app_manifest"("organization_id");
CREATE INDEX "app_manifest_expires_at_idx" ON "app_manifest"("expires_at");
ALTER TABLE "app_manifest" ADD CONSTRAINT "app_manifest_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
