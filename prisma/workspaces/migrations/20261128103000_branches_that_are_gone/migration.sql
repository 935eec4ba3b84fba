ALTER TABLE vcs_head ADD COLUMN gone_since timestamptz(3);
