-- An answer of a provider counts only with what the browser that brought it was given.
ALTER TABLE pending_sign_in ADD COLUMN handle_hash bytea;
