-- Room on each page for the next version of its rows: a change that touches no indexed column then writes no index.
ALTER TABLE "workspace" SET (fillfactor = 80);

-- A new name has a dozen trigrams, each a page of its own. They wait in a short list, which searches read along, and
-- are put in place many at once.
ALTER INDEX "workspace_name_trgm_idx" SET (fastupdate = on, gin_pending_list_limit = 64);
