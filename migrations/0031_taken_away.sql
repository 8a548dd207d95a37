-- What a page that was taken away means for the items that rest on it. Everything keeps its name and its arguments: a program of the
-- version before goes on beside it.

-- Which of two reasons for judging an item again is kept. Every item has one when the models or the settings are others, or when its
-- pages grow old; what is the matter with this item alone takes their place, for it is worked on first, and readers are told it.
CREATE OR REPLACE FUNCTION more_urgent(known text, new text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN known IN ('model', 'settings', 'evidence_expired') THEN new ELSE known END
$$;

-- As in 0030, without pages that were taken away. The sentences stay: other pages may say the same ones.
CREATE OR REPLACE FUNCTION near_sentences(given vector, made_by text, at timestamptz, most bigint)
RETURNS TABLE (id bigint, evidence_id text, claim_text text, similarity double precision) LANGUAGE plpgsql ROWS 40 AS $$
#variable_conflict use_column
BEGIN
    PERFORM search_near(greatest(most, 40)::integer, 2000);
    RETURN QUERY SELECT near.id, near.evidence_id, near.claim_text, 1 - (near.embedding <=> given) FROM (
        SELECT said.id, said.evidence_id, said.claim_text, said.embedding FROM evidence_claims AS said
        -- No EXISTS: that may be answered by going through all pages first.
        WHERE said.embedder = made_by AND (
            coalesce((SELECT page.expires_at > at AND NOT page.extraction_failed AND page.failure IS DISTINCT FROM 'not_found'
                FROM evidence_sources AS page WHERE page.id = said.evidence_id), false)
            OR coalesce((SELECT bool_or(page.expires_at > at AND NOT page.extraction_failed AND page.failure IS DISTINCT FROM 'not_found')
                FROM evidence_echoes AS echo JOIN evidence_sources AS page ON page.id = echo.evidence_id
                WHERE echo.evidence_claim_id = said.id), false))
        ORDER BY said.embedding_bits <~> binary_quantize(given)::bit(384) LIMIT most) AS near;
END $$;

-- As in 0026. A page that was read and of which its server says now that there is none (404, 410) was taken away: the items that rest on
-- it are to be judged again, once, and nothing new is to rest on it. Its text stays, for them; that it is gone stands in `failure`, where
-- `extraction_failed` is false, until it is read again.
CREATE OR REPLACE FUNCTION store_pages(page_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    new_ones bigint;
BEGIN
    -- Not `DO UPDATE`: that names one of the two unique indexes, and two items that read the same new page at the same
    -- moment can meet on the other one, where the second would fail instead of waiting for the first.
    INSERT INTO evidence_sources (id, url, domain, title, published_at, language, raw_text, source_type, content_hash,
        independent_group, canonical, final_url, based_on, claim_reviews, publisher, extraction_failed, failure, etag,
        last_modified, fetched_at, expires_at, origin)
    SELECT row.id, row.url, row.domain, row.title, row.published_at, row.language, row.raw_text, row.source_type,
        row.content_hash, row.independent_group, row.canonical, row.final_url, row.based_on, row.claim_reviews,
        row.publisher, row.extraction_failed, row.failure, row.etag, row.last_modified, row.fetched_at, row.expires_at,
        row.origin
    FROM jsonb_populate_recordset(null::evidence_sources, page_rows) AS row
    ORDER BY row.id
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS new_ones = ROW_COUNT;
    IF new_ones = jsonb_array_length(page_rows) THEN
        RETURN;
    END IF;
    WITH given AS (SELECT * FROM jsonb_populate_recordset(null::evidence_sources, page_rows)),
    -- Locked in one order everywhere, or two items with the same pages could wait for each other.
    known AS (
        SELECT stored.id FROM evidence_sources AS stored WHERE stored.id IN (SELECT given.id FROM given)
        ORDER BY stored.id FOR NO KEY UPDATE),
    -- A page that says something else now no longer says what was taken from it.
    gone AS (
        DELETE FROM evidence_claims AS sentence USING evidence_sources AS stored JOIN known USING (id) JOIN given USING (id)
        WHERE sentence.evidence_id = stored.id AND stored.content_hash <> given.content_hash
            AND stored.fetched_at < given.fetched_at AND NOT given.extraction_failed),
    corrected AS (
        INSERT INTO rejudging (item_id, asks, reason)
        SELECT DISTINCT e.item_id, true, 'evidence_corrected'
        FROM evidence_sources AS stored JOIN known USING (id) JOIN given USING (id)
            JOIN item_evidence e ON e.evidence_id = stored.id
        WHERE stored.fetched_at < given.fetched_at AND NOT stored.extraction_failed AND stored.origin = 'web'
            AND e.stance <> 'neutral' AND (
                (stored.content_hash <> given.content_hash AND NOT given.extraction_failed
                    -- A passage may be put together of title and description: only what stood in the text can be gone from it.
                    AND position(e.passage IN stored.raw_text) > 0 AND position(e.passage IN given.raw_text) = 0)
                OR (given.failure = 'not_found' AND stored.failure IS DISTINCT FROM 'not_found'))
        ORDER BY 1
        ON CONFLICT (item_id, asks) DO UPDATE SET noted_at = now(), taken_until = NULL, attempts = 0,
            reason = more_urgent(rejudging.reason, excluded.reason)),
    -- None of those that are written below: what could not be read replaces no page that could.
    taken_away AS (
        UPDATE evidence_sources AS stored SET failure = given.failure FROM given JOIN known USING (id)
        WHERE stored.id = given.id AND stored.fetched_at < given.fetched_at AND given.failure = 'not_found'
            AND stored.origin = 'web' AND NOT stored.extraction_failed AND stored.failure IS DISTINCT FROM 'not_found')
    UPDATE evidence_sources AS stored SET title = given.title, published_at = given.published_at,
        language = given.language, raw_text = given.raw_text, source_type = given.source_type,
        content_hash = given.content_hash, independent_group = given.independent_group, canonical = given.canonical,
        final_url = given.final_url, based_on = given.based_on, claim_reviews = given.claim_reviews,
        publisher = given.publisher, extraction_failed = given.extraction_failed, failure = given.failure,
        etag = given.etag, last_modified = given.last_modified, fetched_at = given.fetched_at,
        expires_at = given.expires_at, origin = given.origin
    FROM given JOIN known USING (id)
    WHERE stored.id = given.id
        -- What this statement's insert wrote, or somebody read at the same time, is as good.
        AND stored.fetched_at < given.fetched_at
        -- A fact that came with the program is no page that could be read anew.
        AND stored.origin <> 'kb'
        -- A page that could be read is never replaced by one that could not.
        AND (stored.extraction_failed OR NOT given.extraction_failed);
END $$;
