-- More of what a store holds after months: pages with their sentences and vectors, and items that cite them, skewed as news is: few
-- sites have most pages, few subjects most sentences, and few pages are cited often.
-- `wanted` (first, last, items_first, items_last, embedder) is a temporary table that the caller has filled: numbers of sentences and
-- items, the last ones included. `sentence` (place, words) holds real sentences.

-- Nobody else is at work; the caller builds the vectors' index anew when all rows are there.
SET session_replication_role = replica;
SET synchronous_commit = off;

-- Vectors of a subject lie close together: each is put together from thirds of a few hundred drawn ones.
CREATE TEMP TABLE IF NOT EXISTS third AS
SELECT number, part, (SELECT array_agg(hashint8extended(number * 1000 + part * 200 + place, 7) % 1000 / 1000.0 ORDER BY place)
    FROM generate_series(1, 128) AS place)::vector(128) AS piece
FROM generate_series(0, 699) AS number, generate_series(0, 2) AS part;
CREATE UNIQUE INDEX IF NOT EXISTS third_by ON third (part, number);
ANALYZE third;

-- Eight sentences a page.
INSERT INTO evidence_sources (id, url, domain, title, published_at, language, raw_text, source_type, content_hash,
    independent_group, fetched_at, expires_at, origin)
SELECT 'grown' || n, 'https://' || site || '/' || n, site, 'Page ' || n, at, 'en',
    (SELECT string_agg(words, ' ') FROM sentence WHERE place BETWEEN n % 80 AND n % 80 + 19),
    'news', md5(n::text), site, at, at + interval '400 days', 'web'
FROM wanted, generate_series(first / 8, last / 8) AS n,
    LATERAL (SELECT 'site' || floor(power((hashint8extended(n, 1) & 1048575) / 1048576.0, 3) * 5000) || '.example' AS site,
        now() - interval '90 days' * ((hashint8extended(n, 2) & 1048575) / 1048576.0) AS at) AS drawn
ON CONFLICT DO NOTHING;

INSERT INTO evidence_claims (evidence_id, claim_text, claim_hash, embedding, embedder)
SELECT 'grown' || n / 8, said.words || ' Case ' || n || '.', md5('grown' || n), a.piece || b.piece || c.piece, embedder
FROM wanted CROSS JOIN LATERAL generate_series(first, last) AS n
    CROSS JOIN LATERAL (SELECT floor(power((hashint8extended(n, 3) & 1048575) / 1048576.0, 3) * 700)::bigint AS one,
        floor(power((hashint8extended(n, 4) & 1048575) / 1048576.0, 2) * 700)::bigint AS two,
        floor((hashint8extended(n, 5) & 1048575) / 1048576.0 * 700)::bigint AS three) AS drawn
    JOIN third AS a ON a.part = 0 AND a.number = one JOIN third AS b ON b.part = 1 AND b.number = two
    JOIN third AS c ON c.part = 2 AND c.number = three
    JOIN sentence AS said ON said.place = n % 100;

-- Items are copies of those that the daemon did, each with its claims and what they cite.
CREATE TEMP TABLE IF NOT EXISTS template AS
SELECT row_number() OVER (ORDER BY item_id) - 1 AS place, items.* FROM items WHERE item_id LIKE 'bench:%' LIMIT 30;

CREATE TEMP TABLE copied AS
SELECT n, n % (SELECT count(*) FROM template) AS place, now() - interval '90 days' * ((hashint8extended(n, 6) & 1048575) / 1048576.0) AS at,
    floor(power((hashint8extended(n, 1) & 1048575) / 1048576.0, 2) * (SELECT last / 8 FROM wanted))::bigint AS page,
    hashint8extended(n, 8) & 1048575 AS told
FROM wanted, generate_series(items_first, items_last) AS n;

INSERT INTO items (item_id, channel, title, text, url, language, published_at, importance, cluster_members, content_hash,
    embedding, status, degraded, fact_check_score, fact_check_tier, fact_check_notes, result, evaluated_at, enriched_at,
    expires_at, embedder, phase, began_at, sent_at, request, verdict, decisive)
SELECT 'grown-' || c.n, '@channel' || c.told % 400, t.title, said.words || ' Case ' || c.n || '.', t.url, t.language, c.at,
    t.importance, t.cluster_members, md5(c.n::text), a.piece || b.piece || d.piece, t.status, t.degraded, t.fact_check_score,
    t.fact_check_tier, t.fact_check_notes, t.result, c.at, c.at, c.at + interval '400 days', t.embedder, t.phase, c.at, c.at,
    t.request, t.result #>> '{claims,0,verdict}', (t.result #>> '{claims,0,decisive}')::boolean
FROM copied AS c JOIN template AS t USING (place)
    JOIN third AS a ON a.part = 0 AND a.number = c.told % 700 JOIN third AS b ON b.part = 1 AND b.number = c.told / 700 % 700
    JOIN third AS d ON d.part = 2 AND d.number = c.n % 700
    JOIN sentence AS said ON said.place = c.n % 100
ORDER BY c.at;

INSERT INTO claims (claim_id, item_id, position, source, claim_text, kind, verdict, decisive, confidence, score, tier, agreement,
    contradiction, judge, features, notes, justification, citations, correction, claim_date, confidence_threshold, evaluated_at)
SELECT k.claim_id || '/' || c.n, 'grown-' || c.n, k.position, k.source, k.claim_text, k.kind, k.verdict, k.decisive, k.confidence,
    k.score, k.tier, k.agreement, k.contradiction, k.judge, k.features, k.notes, k.justification, k.citations, k.correction,
    k.claim_date, k.confidence_threshold, c.at
FROM copied AS c JOIN template AS t USING (place) JOIN claims AS k ON k.item_id = t.item_id;

INSERT INTO item_evidence (item_id, claim_id, evidence_id, agreement_score, contradiction, stance, entail, contradict, neutral,
    relevance, quality, credibility, freshness, specificity, num_ok, independent_group, source_type, origin, provider, passage,
    passage_hash, rank, matched_at)
SELECT 'grown-' || c.n, e.claim_id || '/' || c.n, 'grown' || greatest(c.page - e.rank, 0), e.agreement_score, e.contradiction, e.stance, e.entail,
    e.contradict, e.neutral, e.relevance, e.quality, e.credibility, e.freshness, e.specificity, e.num_ok, e.independent_group,
    e.source_type, e.origin, e.provider, e.passage, e.passage_hash || e.rank, e.rank, c.at
FROM copied AS c JOIN template AS t USING (place) JOIN item_evidence AS e ON e.item_id = t.item_id
ON CONFLICT DO NOTHING;

DROP TABLE copied;
SET session_replication_role = origin;
