-- Who judged each passage: a claim whose passages are in several languages has several judges. Rows written before have none.
ALTER TABLE item_evidence ADD COLUMN judge text;

-- As in 0022, with the passage's judge.
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
        expires_at = excluded.expires_at, embedder = excluded.embedder, phase = excluded.phase,
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
            score, judge)
        SELECT c.item_id, c.evaluated_at, c.position, c.claim_text, c.verdict, c.decisive, c.confidence, c.tier::text,
            c.score, c.judge
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
END $$;
