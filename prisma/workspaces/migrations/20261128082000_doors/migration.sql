-- An invitation is judged by the teams that its membership has when it is accepted.
ALTER TABLE "one_time_link" DROP COLUMN "team_ids";
-- A code ends with the token or session that asked for it. Null in codes of earlier versions, which last five minutes.
ALTER TABLE "login_code" ADD COLUMN "token_id" TEXT REFERENCES "token" ("id") ON UPDATE CASCADE ON DELETE CASCADE;
CREATE INDEX "login_code_token_id_idx" ON "login_code" ("token_id");
