-- The page that leads to a host is open for some minutes: looking at it uses nothing up.
ALTER TABLE "app_manifest" DROP COLUMN "shown_at";
