-- What a page that was taken away means for the items that rest on it. Everything keeps its name and its arguments: a program of the
-- version before goes on beside it.

-- Which of two reasons for judging an item again is kept: of those that concern every item, another takes the place. By it the
-- items are worked on, and readers are told it.
CREATE OR REPLACE FUNCTION more_urgent(known text, new text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN known IN ('model', 'settings', 'evidence_expired') THEN new ELSE known END
$$;

-- As in 0026. A page of which its server says that there is none (404, 410) was taken away: its sentences are cited no more, and the
-- items that rest on them are to be judged again. Its text stays, as what they cite now.
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
    -- A page that says something else now, or that its site has taken away, no longer says what was taken from it.
    gone AS (
        DELETE FROM evidence_claims AS sentence USING evidence_sources AS stored JOIN known USING (id) JOIN given USING (id)
        WHERE sentence.evidence_id = stored.id AND stored.fetched_at < given.fetched_at AND (
            (stored.content_hash <> given.content_hash AND NOT given.extraction_failed)
            OR (given.failure = 'not_found' AND stored.origin = 'web' AND NOT stored.extraction_failed))),
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
                OR given.failure = 'not_found')
        ORDER BY 1
        ON CONFLICT (item_id, asks) DO UPDATE SET noted_at = now(), taken_until = NULL, attempts = 0,
            reason = more_urgent(rejudging.reason, excluded.reason))
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
