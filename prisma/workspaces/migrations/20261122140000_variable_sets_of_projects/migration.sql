-- Grants on a project say what they allow on the sets that it owns (bits 20, read, and 21, write). Whoever saw the project read
-- them until now, and whoever managed its teams (bit 17) wrote them.
UPDATE "team_project"
  SET "capabilities" = "capabilities" | (1 << 20) | CASE WHEN "capabilities" & (1 << 17) <> 0 THEN 1 << 21 ELSE 0 END;
