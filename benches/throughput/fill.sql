-- Many items in a store that holds a few real ones: each is a copy of one of those, with an id, a text, a verdict, a channel and a
-- moment of its own. What the daemon wrote stays as it is otherwise, so that rows and results have their real size.
-- `sentence` (language, place, words) and `wanted` (items, days) are temporary tables that the caller has filled.

-- Copies break no rule that matters to reading: their verdicts are drawn, and nobody judges them again.
SET session_replication_role = replica;
-- No page reads it, and filling it takes longer than all the rest.
DROP INDEX items_embedding;

-- Results as text, with marks where copies differ.
CREATE TEMP TABLE template AS
SELECT row_number() OVER (ORDER BY item_id) - 1 AS place, item_id,
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(result::text,
        '"(claim_id|main_claim|item_id)": "([^"]+)"', '"\1": "\2/@n@"', 'g'),
        '"verdict": "[a-z_]+"', '"verdict": "@verdict@"', 'g'),
        '"decisive": (true|false)', '"decisive": @decisive@', 'g'),
        '"contradiction": (true|false)', '"contradiction": @contradiction@', 'g'),
        '"degraded": \[[^]]*\]', '"degraded": @degraded@'),
        '"status": "(complete|degraded)"', '"status": "@status@"'),
        '"enriched_at": "[^"]+"', '"enriched_at": "@at@"') AS result
FROM items;

-- What each copy has of its own, drawn by a hash with another seed each: no two shares go together, and every run has the same.
CREATE TEMP TABLE drawn AS
SELECT n, (n % (SELECT count(*) FROM template)) AS place, now() - n * (days * interval '1 day' / items) AS at,
    '@channel' || dice[1] % 400 AS channel,
    (ARRAY['en', 'en', 'en', 'en', 'en', 'ru', 'ru', 'ru', 'uk', 'uk'])[1 + dice[2] % 10] AS language,
    CASE WHEN v < 400 THEN 'supported' WHEN v < 700 THEN 'not_enough_evidence' WHEN v < 800 THEN 'not_verifiable'
        WHEN v < 900 THEN 'refuted' WHEN v < 950 THEN 'misleading' WHEN v < 990 THEN 'contested' ELSE 'outdated' END AS verdict,
    dice[4] % 3 > 0 AND (v < 400 OR v >= 800) AS decisive,
    (ARRAY['high', 'medium', 'low', 'low'])[1 + dice[5] % 4]::fact_check_tier AS tier,
    CASE dice[6] % 10 WHEN 0 THEN ARRAY['provider_open:gdelt'] ELSE '{}' END AS degraded,
    dice[7] % 50 = 0 AS contradicted,
    dice[8] AS told
FROM wanted, generate_series(1, items) AS n,
    LATERAL (SELECT array_agg(hashint8extended(n, seed) & 1048575 ORDER BY seed) AS dice FROM generate_series(1, 8) AS seed) AS thrown,
    LATERAL (SELECT dice[3] % 1000 AS v) AS of;

CREATE TEMP TABLE told AS
SELECT n, string_agg(words, ' ' ORDER BY part) || ' Case ' || to_char(n, 'FM0000000') || '.' AS text,
    min(words) FILTER (WHERE part = 0) AS first
FROM drawn, generate_series(0, 3) AS part, LATERAL (SELECT words FROM sentence WHERE sentence.language = drawn.language
    AND sentence.place = (told + part * (1 + told / 128 % 32)) % 100) AS said
GROUP BY n;

INSERT INTO items (item_id, channel, title, text, url, language, published_at, importance, cluster_members, content_hash,
    embedding, status, degraded, fact_check_score, fact_check_tier, fact_check_notes, result, evaluated_at, enriched_at,
    expires_at, embedder, phase, began_at, sent_at, request, verdict, decisive)
SELECT 'page-' || d.n, d.channel, CASE d.told % 2 WHEN 0 THEN told.first END, told.text, i.url, d.language, d.at, i.importance,
    i.cluster_members, md5(d.n::text), i.embedding, CASE cardinality(d.degraded) WHEN 0 THEN 'complete' ELSE 'degraded' END,
    d.degraded, i.fact_check_score, d.tier, i.fact_check_notes,
    replace(replace(replace(replace(replace(replace(replace(t.result, '@n@', d.n::text), '@verdict@', d.verdict),
        '@decisive@', d.decisive::text), '@contradiction@', d.contradicted::text),
        '@degraded@', to_jsonb(d.degraded)::text),
        '@status@', CASE cardinality(d.degraded) WHEN 0 THEN 'complete' ELSE 'degraded' END),
        '@at@', to_char(d.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))::jsonb,
    d.at, d.at, d.at + interval '90 days', i.embedder, i.phase, d.at, d.at, i.request,
    -- What the trigger would take from the result, were it at work here.
    d.verdict, d.decisive
FROM drawn AS d JOIN template AS t USING (place) JOIN items AS i ON i.item_id = t.item_id JOIN told ON told.n = d.n
-- As they would have come: the oldest first.
ORDER BY d.n DESC;

INSERT INTO claims (claim_id, item_id, position, source, claim_text, kind, verdict, decisive, confidence, score, tier, agreement,
    contradiction, judge, features, notes, justification, citations, correction, claim_date, confidence_threshold, evaluated_at)
SELECT c.claim_id || '/' || d.n, 'page-' || d.n, c.position, c.source, c.claim_text, c.kind, d.verdict, d.decisive, c.confidence,
    c.score, d.tier, c.agreement, d.contradicted AND c.position = 0, c.judge, c.features, c.notes, c.justification, c.citations,
    c.correction, c.claim_date, c.confidence_threshold, d.at
FROM drawn AS d JOIN template AS t USING (place) JOIN claims AS c ON c.item_id = t.item_id ORDER BY d.n DESC, c.position;

-- What the other pages show: a day of calls, and lists that people have edited.
INSERT INTO provider_hours (provider, hour, requests, errors, usd)
SELECT name, date_trunc('hour', now()) - hour * interval '1 hour', 100 + hour, hour % 3, 0.1
FROM unnest(ARRAY['google', 'searxng', 'gdelt', 'brave', 'serpapi']) AS name, generate_series(1, 23) AS hour
ON CONFLICT DO NOTHING;
INSERT INTO domain_rules (domain, list, credibility, updated_by, updated_at)
SELECT 'site' || n || '.example', CASE n % 5 WHEN 0 THEN 'deny' ELSE 'allow' END, CASE WHEN n % 5 > 0 THEN 0.8 END, 'bench', now()
FROM generate_series(1, 300) AS n ON CONFLICT DO NOTHING;

DROP TABLE template, drawn, told;
SET session_replication_role = origin;
