-- Another with each change: nothing that a provider said is used for a later form of its configuration.
ALTER TABLE "sign_in_provider" ADD COLUMN "generation" TEXT NOT NULL DEFAULT gen_random_uuid()::text;

CREATE FUNCTION next_generation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."generation" := gen_random_uuid()::text;
  RETURN NEW;
END $$;
CREATE TRIGGER "sign_in_provider_generation" BEFORE UPDATE ON "sign_in_provider" FOR EACH ROW EXECUTE FUNCTION next_generation();
