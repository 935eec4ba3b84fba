-- The trace of the request that made a run (W3C Trace Context), which its jobs go on with.
ALTER TABLE "run" ADD COLUMN "traceparent" TEXT;
