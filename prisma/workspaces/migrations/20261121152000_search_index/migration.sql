-- New names go into the index at once: a list of pending ones would be read by every search.
ALTER INDEX IF EXISTS "workspace_name_trgm_idx" SET (fastupdate = off);
