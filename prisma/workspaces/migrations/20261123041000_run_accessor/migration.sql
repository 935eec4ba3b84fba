-- The handle of the token that a plan or an apply was given by the secrets service: it names the token, and opens nothing.
ALTER TABLE "run_phase" ADD COLUMN     "secrets_accessor" TEXT,
ADD COLUMN     "secrets_namespace" TEXT;
