-- Lists of an organization read its newest runs without sorting all of them.
CREATE INDEX "run_number_idx" ON "run"("number");
