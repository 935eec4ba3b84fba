-- Events of variables held their values, of sensitive ones too where they had been plain before. That a value was changed stays.
UPDATE "audit_event"
   SET "before" = CASE WHEN "before" ? 'value' THEN jsonb_set("before", '{value}', '"(not shown)"') ELSE "before" END,
       "after" = CASE WHEN "after" ? 'value'
                      THEN jsonb_set("after", '{value}', CASE WHEN "before" ? 'value' THEN '"(changed)"'::jsonb ELSE '"(not shown)"'::jsonb END)
                      ELSE "after" END
 WHERE "target_type" = 'vars' AND ("before" ? 'value' OR "after" ? 'value');
