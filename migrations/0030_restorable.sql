-- A search by meaning sets how far its index goes within its own body, instead of by a setting of the function: whoever restores
-- a dump may not set what an extension brings that no session has loaded yet, unless the owner of the server.

-- The settings, for the rest of the transaction. From 0.8 on the extension goes on until enough are found that fit, and looks
-- at `most` at most.
CREATE OR REPLACE FUNCTION search_near(breadth integer, most integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('hnsw.ef_search', breadth::text, true);
    IF current_setting('hnsw.iterative_scan', true) IS NOT NULL THEN
        PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.max_scan_tuples', most::text, true);
    END IF;
END $$;

-- As in 0027. A story that others tell lies nearer than the 2,000 nearest of all.
CREATE OR REPLACE FUNCTION similar_items(
    given vector, made_by text, own_channel text, own_item text, since timestamptz, at_least double precision, most bigint
) RETURNS TABLE (item_id text, channel text, similarity double precision) LANGUAGE plpgsql ROWS 20 AS $$
#variable_conflict use_column
BEGIN
    PERFORM search_near(50, 2000);
    RETURN QUERY SELECT DISTINCT ON (ranked.channel) ranked.item_id, ranked.channel, ranked.similarity FROM (
        SELECT near.item_id, near.channel, 1 - (near.embedding <=> given) AS similarity FROM (
            SELECT one.item_id, one.channel, one.embedding FROM items AS one
            WHERE one.channel IS NOT NULL AND lower(ltrim(trim(one.channel), '@')) <> own_channel AND one.item_id <> own_item
                AND one.enriched_at >= since AND one.embedder = made_by
            ORDER BY one.embedding_bits <~> binary_quantize(given)::bit(384) LIMIT 50) AS near) AS ranked
    WHERE ranked.similarity >= at_least
    ORDER BY ranked.channel, ranked.similarity DESC LIMIT most;
END $$;
-- What replaces a function keeps no setting of it; said again for whoever reads this.
ALTER FUNCTION similar_items RESET ALL;

-- The stored sentences that are nearest in meaning, of pages that can still be cited. The index brings the nearest of all: while
-- another embedder's are being embedded anew, or where the nearest have expired and are only kept for the items that cite them,
-- few of its first forty were of use.
CREATE OR REPLACE FUNCTION near_sentences(given vector, made_by text, at timestamptz, most bigint)
RETURNS TABLE (id bigint, evidence_id text, claim_text text, similarity double precision) LANGUAGE plpgsql ROWS 40 AS $$
#variable_conflict use_column
BEGIN
    PERFORM search_near(greatest(most, 40)::integer, 2000);
    RETURN QUERY SELECT near.id, near.evidence_id, near.claim_text, 1 - (near.embedding <=> given) FROM (
        SELECT said.id, said.evidence_id, said.claim_text, said.embedding FROM evidence_claims AS said
        -- No EXISTS: that may be answered by going through all pages first.
        WHERE said.embedder = made_by AND (
            coalesce((SELECT page.expires_at > at AND NOT page.extraction_failed
                FROM evidence_sources AS page WHERE page.id = said.evidence_id), false)
            OR coalesce((SELECT bool_or(page.expires_at > at AND NOT page.extraction_failed)
                FROM evidence_echoes AS echo JOIN evidence_sources AS page ON page.id = echo.evidence_id
                WHERE echo.evidence_claim_id = said.id), false))
        ORDER BY said.embedding_bits <~> binary_quantize(given)::bit(384) LIMIT most) AS near;
END $$;

-- When readers were told of the answers that took the place of these, where no new run did it: by the process's clock, as all
-- messages are dated.
ALTER TABLE verdict_history ADD COLUMN IF NOT EXISTS told_at timestamptz;

-- When an item was last spoken of to readers: when its result was made, or when its answers were judged again. Whatever is said
-- of it next is dated later, since readers keep what is dated latest. Nobody else writes the item until the transaction ends, not
-- even one that is new: there is no row of it yet that could be locked.
CREATE OR REPLACE FUNCTION item_spoken_of(item text) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    made timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(item, 20));
    SELECT enriched_at INTO made FROM items WHERE item_id = item FOR UPDATE;
    RETURN greatest(made, (SELECT max(told_at) FROM verdict_history WHERE item_id = item));
END $$;

-- What is counted every few seconds, also when hundreds of thousands wait.
CREATE INDEX IF NOT EXISTS outbox_parked ON outbox (id) WHERE parked_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS webhook_messages_dead ON webhook_messages (id) WHERE dead_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS webhook_messages_waiting ON webhook_messages (id) WHERE dead_at IS NULL;
