-- Stored items that are to be judged again: which, why and since when. Everything is added, and both functions keep their
-- arguments: a program of the version before goes on beside it, and what it commits is noted here as well.

-- An item stands here once for each way of judging it again: from what is stored, or by a whole new run. It does not refer
-- to its item: a commit that notes other items must neither wait for the removal of one nor fail by it. Rows of items that are
-- gone are left out when they are taken, and cleaned away.
CREATE TABLE IF NOT EXISTS rejudging (
    item_id     text NOT NULL,
    -- Whether providers, pages and models are asked anew.
    asks        boolean NOT NULL,
    reason      text NOT NULL CHECK (reason IN
        ('settings', 'domain_lists', 'model', 'evidence_expired', 'evidence_corrected', 'fact_check')),
    due_at      timestamptz NOT NULL DEFAULT now(),
    -- The latest reason: what began before it does not settle it. `due_at` stays, for the oldest promise goes first.
    noted_at    timestamptz NOT NULL DEFAULT now(),
    -- Set while a process works on it; free again when that time has passed. A new reason clears it, so that whoever works on the
    -- item by what was true before does not take the new reason away.
    taken_until timestamptz,
    attempts    integer NOT NULL DEFAULT 0,
    PRIMARY KEY (item_id, asks)
);

CREATE INDEX IF NOT EXISTS rejudging_due ON rejudging (asks, due_at, item_id);

-- What all processes together judged again in an hour, and what that cost.
CREATE TABLE IF NOT EXISTS rejudging_hours (
    hour  timestamptz NOT NULL,
    asks  boolean NOT NULL,
    items bigint NOT NULL DEFAULT 0,
    usd   double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (hour, asks)
);

-- How far was looked for reasons. What happened before this migration gives none.
INSERT INTO store_settings (key, value) VALUES
    ('rejudging_rules', (SELECT to_jsonb(coalesce(max(id), 0)) FROM domain_rule_changes)),
    ('rejudging_expiry', to_jsonb(now())),
    ('rejudging_reviews', to_jsonb(now()))
    ON CONFLICT DO NOTHING;

-- Reviews found lately; the table is small.
CREATE INDEX IF NOT EXISTS item_fact_checks_matched ON item_fact_checks (matched_at);

-- Why a later answer took the place of this one. NULL: the item was sent again, or somebody wanted it judged again.
ALTER TABLE verdict_history ADD COLUMN IF NOT EXISTS why text;

-- As in 0022. Where a page that was read again no longer holds a passage that bears an item's verdict, and did so before, the item
-- is to be judged again.
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
        WHERE stored.content_hash <> given.content_hash AND stored.fetched_at < given.fetched_at
            AND NOT stored.extraction_failed AND NOT given.extraction_failed AND stored.origin = 'web'
            AND e.stance <> 'neutral'
            -- A passage may be put together of title and description: only what stood in the text can be gone from it.
            AND position(e.passage IN stored.raw_text) > 0 AND position(e.passage IN given.raw_text) = 0
        ORDER BY 1
        ON CONFLICT (item_id, asks) DO UPDATE SET noted_at = now(), taken_until = NULL, attempts = 0)
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

-- As in 0025, with the reason in the history and what became due done with.
CREATE OR REPLACE FUNCTION commit_item(
    item_row jsonb, result_json jsonb, request_json jsonb, moment timestamptz, expiry timestamptz, begun timestamptz,
    seen timestamptz, sent timestamptz, page_rows jsonb, use_rows jsonb, claim_rows jsonb, passage_rows jsonb,
    review_rows jsonb, sentence_rows jsonb, repeated_rows jsonb, outbox_rows jsonb, webhook_rows jsonb,
    alike double precision, hold interval,
    OUT is_written boolean, OUT outbox_ids bigint[], OUT held_until timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    own items;
    was_there boolean;
BEGIN
    own := jsonb_populate_record(null::items, item_row);
    -- The item first: its row is locked until the end, and all that follows belongs to whoever won it.
    INSERT INTO items AS stored (item_id, channel, title, text, url, language, published_at, importance, cluster_id,
        cluster_members, content_hash, embedding, status, degraded, fact_check_score, fact_check_tier, fact_check_notes,
        result, evaluated_at, enriched_at, expires_at, embedder, phase, began_at, sent_at, request)
    VALUES (own.item_id, own.channel, own.title, own.text, own.url, own.language, own.published_at, own.importance,
        own.cluster_id, own.cluster_members, own.content_hash, own.embedding, own.status, own.degraded,
        own.fact_check_score, own.fact_check_tier, own.fact_check_notes, result_json, moment, moment, expiry,
        own.embedder, own.phase, begun, sent, request_json)
    ON CONFLICT (item_id) DO UPDATE SET channel = excluded.channel, title = excluded.title, text = excluded.text,
        url = excluded.url, language = excluded.language, published_at = excluded.published_at,
        importance = excluded.importance, cluster_id = excluded.cluster_id, cluster_members = excluded.cluster_members,
        content_hash = excluded.content_hash, embedding = excluded.embedding, status = excluded.status,
        degraded = excluded.degraded, fact_check_score = excluded.fact_check_score,
        fact_check_tier = excluded.fact_check_tier, fact_check_notes = excluded.fact_check_notes,
        result = excluded.result, evaluated_at = excluded.evaluated_at, enriched_at = excluded.enriched_at,
        -- Judged again unasked, it is kept no longer for that: else items that rest on one changing page would keep each other.
        expires_at = CASE WHEN item_row->>'why' IS NULL THEN excluded.expires_at ELSE stored.expires_at END,
        embedder = excluded.embedder, phase = excluded.phase,
        began_at = excluded.began_at, request = excluded.request,
        -- An earlier message with the same text takes nothing from the later one.
        sent_at = CASE WHEN stored.content_hash = excluded.content_hash
            THEN greatest(stored.sent_at, excluded.sent_at) ELSE excluded.sent_at END
    -- Read under the row's lock, so it speaks of the last committed result. Comparing is left to columns of the row itself:
    -- what a subquery reads is as old as the statement.
    WHERE NOT coalesce(CASE
        -- Of two texts the one that was sent later. One that was put off begins after its edit is done, so the beginning of
        -- the work tells only where a time is missing or both are the same (seconds, over AMQP).
        WHEN stored.content_hash <> excluded.content_hash AND stored.sent_at <> excluded.sent_at
            THEN stored.sent_at > excluded.sent_at
        WHEN stored.content_hash <> excluded.content_hash THEN stored.began_at > excluded.began_at
        -- Phase 2 contains Phase 1. A program before these columns left its mark among the phases only.
        WHEN excluded.phase = 'phase1' AND (stored.phase = 'phase2' OR EXISTS (
            SELECT FROM item_phases done WHERE done.item_id = stored.item_id AND done.phase = 'phase2'
                AND done.content_hash = stored.content_hash)) THEN true
        WHEN excluded.phase = 'phase2' AND stored.phase IS DISTINCT FROM 'phase2' THEN false
        -- The same work done since by somebody else: once is enough, unless only this run lacks nothing.
        ELSE stored.evaluated_at IS DISTINCT FROM seen
            AND NOT (cardinality(stored.degraded) > 0 AND cardinality(excluded.degraded) = 0)
    END, false)
    -- A row that was only inserted has no transaction that ended an earlier version of it.
    RETURNING stored.xmax <> 0 INTO was_there;
    is_written := FOUND;
    IF NOT is_written THEN
        RETURN;
    END IF;
    INSERT INTO item_phases (item_id, phase, content_hash, degraded, message_id, done_at)
    VALUES (own.item_id, own.phase, own.content_hash, cardinality(own.degraded) > 0, item_row->>'message_id', moment)
    ON CONFLICT (item_id, phase) DO UPDATE SET content_hash = excluded.content_hash, degraded = excluded.degraded,
        message_id = excluded.message_id, done_at = excluded.done_at;
    IF jsonb_array_length(page_rows) > 0 THEN
        PERFORM store_pages(page_rows);
    END IF;
    IF jsonb_array_length(use_rows) > 0 THEN
        PERFORM note_uses(use_rows, own.item_id, moment);
    END IF;
    IF was_there THEN
        INSERT INTO verdict_history (item_id, evaluated_at, position, claim_text, verdict, decisive, confidence, tier,
            score, judge, why)
        SELECT c.item_id, c.evaluated_at, c.position, c.claim_text, c.verdict, c.decisive, c.confidence, c.tier::text,
            c.score, c.judge, item_row->>'why'
        FROM claims c WHERE c.item_id = own.item_id ON CONFLICT DO NOTHING;
        -- A new judgement replaces the old one whole: what was removed from an edited text must not linger.
        DELETE FROM claims c WHERE c.item_id = own.item_id;
    END IF;
    INSERT INTO claims (claim_id, item_id, position, source, claim_text, kind, verdict, decisive, confidence, score, tier,
        agreement, contradiction, judge, features, notes, justification, citations, correction, claim_date,
        confidence_threshold, searched, auto_correct, evaluated_at)
    SELECT row.claim_id, own.item_id, row.position, row.source, row.claim_text, row.kind, row.verdict, row.decisive,
        row.confidence, row.score, row.tier, row.agreement, row.contradiction, row.judge, row.features, row.notes,
        row.justification, row.citations, row.correction, row.claim_date, row.confidence_threshold, row.searched,
        row.auto_correct, moment
    FROM jsonb_populate_recordset(null::claims, claim_rows) AS row;
    IF jsonb_array_length(passage_rows) > 0 THEN
        INSERT INTO item_evidence (item_id, claim_id, evidence_id, agreement_score, contradiction, stance, entail,
            contradict, neutral, relevance, quality, credibility, freshness, specificity, num_ok, independent_group,
            source_type, origin, provider, out_of_context, judge, llm_stance, llm_elsewhere, passage, passage_hash, rank,
            matched_at)
        SELECT row.item_id, row.claim_id, row.evidence_id, row.agreement_score, row.contradiction, row.stance, row.entail,
            row.contradict, row.neutral, row.relevance, row.quality, row.credibility, row.freshness, row.specificity,
            row.num_ok, row.independent_group, row.source_type, row.origin, row.provider, row.out_of_context,
            row.judge, row.llm_stance, row.llm_elsewhere, row.passage, row.passage_hash, row.rank, moment
        FROM jsonb_populate_recordset(null::item_evidence, passage_rows) AS row
        ON CONFLICT DO NOTHING;
    END IF;
    IF jsonb_array_length(review_rows) > 0 THEN
        INSERT INTO item_fact_checks (item_id, claim_id, claim, relation, url, publisher, title, claimant, rating,
            rating_class, language, review_date, similarity, matched_at)
        SELECT own.item_id, row.claim_id, row.claim, row.relation, row.url, row.publisher, row.title, row.claimant,
            row.rating, row.rating_class, row.language, row.review_date, row.similarity, moment
        FROM jsonb_populate_recordset(null::item_fact_checks, review_rows) AS row
        ON CONFLICT DO NOTHING;
    END IF;
    -- Those that repeat another sentence of this item come when the first is stored, so that they find it.
    IF jsonb_array_length(sentence_rows) > 0 THEN
        PERFORM store_sentences(sentence_rows, own.embedder, alike);
    END IF;
    IF jsonb_array_length(repeated_rows) > 0 THEN
        PERFORM store_sentences(repeated_rows, own.embedder, alike);
    END IF;
    IF jsonb_array_length(outbox_rows) > 0 THEN
        held_until := clock_timestamp() + hold;
        WITH written AS (
            INSERT INTO outbox (exchange, routing_key, body, correlation_id, message_id, created_at, locked_until)
            SELECT row.exchange, row.routing_key, row.body, row.correlation_id, row.message_id, moment, held_until
            FROM jsonb_populate_recordset(null::outbox, outbox_rows) AS row
            RETURNING id)
        SELECT array_agg(id ORDER BY id) INTO outbox_ids FROM written;
    END IF;
    IF jsonb_array_length(webhook_rows) > 0 THEN
        INSERT INTO webhook_messages (webhook, event, message_id, body, created_at)
        SELECT row.webhook, row.event, row.message_id, row.body, moment
        FROM jsonb_populate_recordset(null::webhook_messages, webhook_rows) AS row;
    END IF;
    -- A whole run that lacks nothing is what the item was to get. The pages that it read itself (now() is the beginning of this
    -- transaction) are no reason for another one; what else came up since it began stands. A row that somebody holds is left to them.
    IF own.phase = 'phase2' AND cardinality(own.degraded) = 0 THEN
        DELETE FROM rejudging WHERE ctid = ANY (ARRAY(
            SELECT due.ctid FROM rejudging due WHERE due.item_id = own.item_id AND due.asks
                AND (due.noted_at <= begun OR due.noted_at = now()) FOR UPDATE SKIP LOCKED));
    END IF;
END $$;
