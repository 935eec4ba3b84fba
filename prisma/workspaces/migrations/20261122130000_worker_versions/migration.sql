-- The versions of the tool that a worker can run: a run waits for a worker that has its own.
ALTER TABLE "run_worker" ADD COLUMN "versions" TEXT[] DEFAULT ARRAY[]::TEXT[];
