-- What happened lately is asked for by time, over all runs.
CREATE INDEX "run_event_created_at_idx" ON "run_event"("created_at");
