-- The resources of a state are written once and read as a whole: kept as the text they came as, they cost a third of the work.
ALTER TABLE "state_version"
    ALTER COLUMN "resources" DROP DEFAULT,
    ALTER COLUMN "resources" TYPE JSON USING "resources"::json,
    ALTER COLUMN "resources" SET DEFAULT '[]';
