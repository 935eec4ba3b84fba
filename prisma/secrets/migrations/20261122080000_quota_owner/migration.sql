-- Names of quotas are those of the namespace they were written in. Who wrote the quotas of earlier releases is not known: they
-- were all names of the root namespace.
ALTER TABLE "quota" ADD COLUMN "owner_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
DROP INDEX "quota_kind_name_key";
CREATE UNIQUE INDEX "quota_owner_id_kind_name_key" ON "quota"("owner_id", "kind", "name");
