-- One account could reserve names without end by renaming itself: the ten that it gave up last stay reserved.
CREATE INDEX "released_name_holder_id_idx" ON "released_name" ("holder_id");

CREATE OR REPLACE FUNCTION release_name(kind text, name text, holder_id text, owner_ids text[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO released_name (kind, name, holder_id, owner_ids)
  VALUES ($1, lower($2), $3, $4)
  ON CONFLICT (kind, name) DO UPDATE SET holder_id = excluded.holder_id, owner_ids = excluded.owner_ids, released_at = now();
  DELETE FROM released_name r USING (
    SELECT o.kind, o.name FROM released_name o WHERE o.kind = $1 AND o.holder_id = $3
     ORDER BY o.released_at DESC, o.name OFFSET 10) old
   WHERE r.kind = old.kind AND r.name = old.name;
$$;
