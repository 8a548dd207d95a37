-- Counters apart from vectors. What a program of the version before counts goes there as well; it ranks by what clean-up has brought
-- up to date, and its own clean-up brings nothing.

-- How often sentences were of use since their own counters were written. Those stand beside the vector, in a row of two kilobytes
-- with five indexes, the vectors' among them: written for every use, an item that is answered from what is stored would cost as
-- much as one that brings new sentences. Clean-up brings them up to date. Nothing refers to the sentence, so that none is held
-- against removal.
CREATE TABLE IF NOT EXISTS evidence_counters (
    evidence_claim_id  bigint PRIMARY KEY,
    access_count       integer NOT NULL,
    verification_count integer NOT NULL,
    -- The sum.
    relevance          double precision NOT NULL,
    last_accessed      timestamptz NOT NULL
) WITH (fillfactor = 50);

-- As in 0022: adds up what was noted, and tells how many uses it took.
CREATE OR REPLACE FUNCTION count_uses(most integer) RETURNS bigint LANGUAGE sql AS $$
    WITH taken AS (
        DELETE FROM evidence_uses WHERE id IN (
            SELECT id FROM evidence_uses ORDER BY id LIMIT most FOR UPDATE SKIP LOCKED)
        RETURNING evidence_claim_id, deciding, relevance, used_at),
    counted AS (
        -- In one order everywhere, or two processes could wait for each other.
        INSERT INTO evidence_counters AS known (evidence_claim_id, access_count, verification_count, relevance, last_accessed)
        SELECT evidence_claim_id, count(*), count(*) FILTER (WHERE deciding), sum(relevance), max(used_at)
        FROM taken GROUP BY evidence_claim_id ORDER BY evidence_claim_id
        ON CONFLICT (evidence_claim_id) DO UPDATE SET access_count = known.access_count + excluded.access_count,
            verification_count = known.verification_count + excluded.verification_count,
            relevance = known.relevance + excluded.relevance,
            last_accessed = greatest(known.last_accessed, excluded.last_accessed))
    SELECT count(*) FROM taken
$$;

-- Brings the next sentences' own counters up to date, by id, and gives the last one's; NULL where there are no more. A counter is not
-- worth waiting for, nor a deadlock: that of a sentence that is gone or held is forgotten.
CREATE OR REPLACE FUNCTION settle_counters(behind bigint, most integer) RETURNS bigint LANGUAGE sql AS $$
    WITH taken AS (
        DELETE FROM evidence_counters WHERE evidence_claim_id IN (
            SELECT evidence_claim_id FROM evidence_counters WHERE evidence_claim_id > behind
            ORDER BY evidence_claim_id LIMIT most FOR UPDATE SKIP LOCKED)
        RETURNING *),
    held AS (
        SELECT said.id FROM evidence_claims AS said WHERE said.id IN (SELECT evidence_claim_id FROM taken)
        ORDER BY said.id FOR NO KEY UPDATE SKIP LOCKED),
    counted AS (
        UPDATE evidence_claims AS said SET access_count = said.access_count + taken.access_count,
            verification_count = said.verification_count + taken.verification_count,
            last_accessed = greatest(said.last_accessed, taken.last_accessed),
            -- The relevance with which it was stored is the first of the series.
            avg_relevance = (said.avg_relevance * (said.access_count + 1) + taken.relevance)
                / (said.access_count + 1 + taken.access_count)
        FROM taken JOIN held ON held.id = taken.evidence_claim_id WHERE said.id = held.id)
    SELECT max(evidence_claim_id) FROM taken
$$;
