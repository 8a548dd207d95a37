-- The reviews that a page carries in its markup: a page read back from here speaks as it did when it was fetched.
ALTER TABLE evidence_sources ADD COLUMN claim_reviews jsonb NOT NULL DEFAULT '[]';
