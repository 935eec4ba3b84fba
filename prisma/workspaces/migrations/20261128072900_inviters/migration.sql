-- Who invited, and into which teams: asked again when the invitation is accepted. Null in links of earlier versions.
ALTER TABLE "one_time_link" ADD COLUMN "created_by_type" TEXT,
    ADD COLUMN "created_by_id" TEXT,
    ADD COLUMN "team_ids" TEXT[] NOT NULL DEFAULT '{}';
-- Of the network that a sign-in began in: the network with the most gives way. Null in those of earlier versions.
ALTER TABLE "pending_sign_in" ADD COLUMN "network_hash" BYTEA;
