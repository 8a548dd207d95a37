-- Copies of one item, and pages that nobody has read, until whole tables are too large to go through.
SET session_replication_role = replica;
-- Indexes of vectors are built in one go behind the rows, which takes a fifth of the time.
CREATE TEMP TABLE dropped AS SELECT indexname, indexdef FROM pg_indexes WHERE indexdef LIKE '% hnsw %';
DO $$ DECLARE one text; BEGIN FOR one IN SELECT indexname FROM dropped LOOP EXECUTE 'DROP INDEX ' || one; END LOOP; END $$;
-- Each item's vector is the sum of another two of these.
CREATE TEMP TABLE directions AS SELECT number,
    (SELECT array_agg(hashint8extended(number * 1000 + place, 7) % 1000 / 1000.0 ORDER BY place) FROM generate_series(1, 384) AS place)::vector(384) AS embedding
FROM generate_series(0, 299) AS number;
CREATE TEMP TABLE copied AS SELECT n, now() - n * interval '5 minutes' AS at, n % 400 AS channel FROM generate_series(1, 20000) AS n;
INSERT INTO items (item_id, channel, text, importance, cluster_members, content_hash, embedding, status, degraded, fact_check_notes, result,
    evaluated_at, enriched_at, expires_at, embedder, phase, began_at, sent_at, request, verdict, decisive)
SELECT 'grown-' || n, '@channel' || c.channel, 'It rained again. Case ' || n || '.', importance, cluster_members, md5(n::text),
    one.embedding + other.embedding, status, degraded, fact_check_notes, result, at, at, at + interval '400 days', embedder, phase, at, at, request,
    (ARRAY['supported', 'refuted', 'not_enough_evidence'])[1 + n % 3], false
FROM copied AS c JOIN directions AS one ON one.number = n % 150 JOIN directions AS other ON other.number = 150 + n / 150, items
WHERE item_id = 'template';
INSERT INTO item_phases (item_id, phase, content_hash, degraded, done_at) SELECT 'grown-' || n, 'phase2', md5(n::text), false, at FROM copied;
INSERT INTO claims (claim_id, item_id, position, source, claim_text, kind, verdict, decisive, confidence, score, tier, agreement,
    contradiction, judge, features, notes, justification, citations, correction, claim_date, confidence_threshold, evaluated_at)
SELECT claim_id || '/' || n, 'grown-' || n, position, source, claim_text, kind, verdict, decisive, confidence, score, tier, agreement,
    n % 50 = 0, judge, features, notes, justification, citations, correction, claim_date, confidence_threshold, at
FROM copied, claims WHERE item_id = 'template';
INSERT INTO evidence_sources (id, url, domain, title, published_at, language, raw_text, source_type, fetched_at, expires_at, origin)
SELECT 'grown' || n, 'https://site' || n % 3000 || '.example/' || n, 'site' || n % 3000 || '.example', 'Page', at, 'en', 'It rained.', 'news', at,
    at + interval '400 days', 'web' FROM copied;
INSERT INTO evidence_claims (evidence_id, claim_text, claim_hash, embedding, embedder)
SELECT 'grown' || n, text, content_hash, embedding, embedder FROM copied JOIN items ON item_id = 'grown-' || n;
INSERT INTO item_evidence (item_id, claim_id, evidence_id, agreement_score, contradiction, stance, entail, contradict, neutral,
    relevance, quality, credibility, freshness, specificity, num_ok, independent_group, source_type, origin, provider, passage,
    passage_hash, rank, matched_at)
SELECT 'grown-' || n, claim_id || '/' || n, 'grown' || n, agreement_score, contradiction, stance, entail, contradict, neutral, relevance,
    quality, credibility, freshness, specificity, num_ok, independent_group, source_type, origin, provider, passage,
    passage_hash || rank, rank, at
FROM copied, item_evidence WHERE item_id = 'template' ON CONFLICT DO NOTHING;
INSERT INTO answers (key, provider, answer, cached_at, expires_at) SELECT md5('grown' || n), 'searxng', '[]', at, at + interval '400 days'
FROM copied;
SET maintenance_work_mem = '256MB';
DO $$ DECLARE one text; BEGIN FOR one IN SELECT indexdef FROM dropped LOOP EXECUTE one; END LOOP; END $$;
RESET maintenance_work_mem;
SET session_replication_role = origin;
ANALYZE;
