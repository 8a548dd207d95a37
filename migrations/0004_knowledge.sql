-- Our own stored evidence as a source: who embedded what, where a text comes from, and which pages say the same.

-- Vectors of two embedders cannot be compared. What is there was made by the only embedder there has been; a process of
-- the release before this one, which names none, has that one too.
ALTER TABLE items ADD COLUMN IF NOT EXISTS embedder text NOT NULL DEFAULT 'hashed-ngrams';
ALTER TABLE evidence_claims ADD COLUMN IF NOT EXISTS embedder text NOT NULL DEFAULT 'hashed-ngrams';

-- `web`: a page that was read. `kb`: a fact that came with the program; it stays until the program takes it back, and
-- counts by article as a reference work does. The others are the operator's own texts, which are asked for anew each time.
ALTER TABLE evidence_sources ADD COLUMN IF NOT EXISTS origin text NOT NULL DEFAULT 'web'
    CHECK (origin IN ('web', 'kb', 'corpus', 'api', 'database'));

-- A sentence is stored once; these pages say it too, in the same words or nearly. Without them a sentence that five
-- independent papers printed would look like one paper's.
CREATE TABLE IF NOT EXISTS evidence_echoes (
    evidence_claim_id bigint NOT NULL REFERENCES evidence_claims ON DELETE CASCADE,
    evidence_id       text NOT NULL REFERENCES evidence_sources ON DELETE CASCADE,
    PRIMARY KEY (evidence_claim_id, evidence_id)
);

CREATE INDEX IF NOT EXISTS evidence_echoes_source ON evidence_echoes (evidence_id);
