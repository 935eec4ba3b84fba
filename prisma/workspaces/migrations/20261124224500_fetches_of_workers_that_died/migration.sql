-- Who fetches a commit, so that another one may once nothing is heard of it any more.
ALTER TABLE "ingress_attributes" ADD COLUMN "fetch_worker_id" TEXT;
