-- The configurations of one commit, of which a host is told together.
CREATE INDEX "ingress_attributes_repository_id_commit_sha_idx" ON "ingress_attributes"("repository_id", "commit_sha");
DROP INDEX "ingress_attributes_repository_id_idx";
