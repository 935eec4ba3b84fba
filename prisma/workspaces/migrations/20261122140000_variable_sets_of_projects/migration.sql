-- Grants on a project say what they allow on the sets that it owns (bits 20, read, and 21, write). Whoever managed its teams (bit
-- 17) wrote them until now; they are read by every level, and of custom grants by those that read variables (bit 3) or wrote them.
UPDATE "team_project"
  SET "capabilities" = "capabilities"
    | CASE WHEN "access" <> 'custom' OR "capabilities" & (1 << 3 | 1 << 17) <> 0 THEN 1 << 20 ELSE 0 END
    | CASE WHEN "capabilities" & (1 << 17) <> 0 THEN 1 << 21 ELSE 0 END;
