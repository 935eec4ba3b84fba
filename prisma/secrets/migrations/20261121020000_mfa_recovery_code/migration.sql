-- CreateTable
CREATE TABLE "mfa_recovery_code" (
    "method_id" UUID NOT NULL,
    "entity_id" UUID NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "mfa_recovery_code_pkey" PRIMARY KEY ("method_id","entity_id","hash")
);

-- AddForeignKey
ALTER TABLE "mfa_recovery_code" ADD CONSTRAINT "mfa_recovery_code_method_id_entity_id_fkey" FOREIGN KEY ("method_id", "entity_id") REFERENCES "mfa_secret"("method_id", "entity_id") ON DELETE CASCADE ON UPDATE CASCADE;
