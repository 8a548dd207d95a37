-- The database schema.
--
-- A later change is a new file in this folder. docs/operate.md, Upgrade, has the rules for authors.
--
-- Vectors have 384 dimensions, as the default embedder returns. `store_settings` has the number. A program whose embedder
-- returns another one refuses to start.
--
-- Functions that write rows receive them as JSON, so that a later version can replace a function under the same arguments.
-- Columns that an earlier program does not send are NULL.

CREATE EXTENSION IF NOT EXISTS vector;

-- === Deadlines ===

-- Deadlines of providers and hosts use the database's clock, because the clocks of processes may differ.

-- Returns the end of a lease or delay that lasts `longest` at most. An end further ahead was written before the clock
-- was set back; the lease or delay then ends now.
CREATE FUNCTION bounded_until(
    until timestamptz, longest interval, moment timestamptz DEFAULT clock_timestamp()
) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN until > moment + longest THEN moment ELSE until END
$$;

-- === Items and results ===

-- How well independent sources support a claim.
CREATE TYPE fact_check_tier AS ENUM ('high', 'medium', 'low');

-- Returns the words of an item for the search. Punctuation separates words, so that each part of a host name or a
-- hyphenated word is found. Only 100,000 characters are read, because an item whose words exceed the size of a tsvector
-- could not be stored.
CREATE FUNCTION item_words(title text, body text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector('pg_catalog.simple', translate(left(coalesce(title, '') || ' ' || body, 100000),
        '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)))
$$;

-- Returns the main claim of a result, or the first claim if the result names none.
CREATE FUNCTION main_claim(result jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT claim FROM jsonb_array_elements(CASE jsonb_typeof(result->'claims') WHEN 'array' THEN result->'claims' END)
        WITH ORDINALITY AS claims (claim, position)
    ORDER BY (claim->>'claim_id' = result->>'main_claim') DESC NULLS LAST, position LIMIT 1
$$;

-- One row for each item: its text as it was sent and its latest result.
CREATE TABLE items (
    item_id          text PRIMARY KEY,
    channel          text,
    title            text,
    text             text NOT NULL,
    url              text,
    language         text,
    published_at     timestamptz,
    -- 0–1, set by upstream.
    importance       double precision,
    cluster_id       text,
    -- Items of other channels about the same story, as upstream sent them.
    cluster_members  jsonb NOT NULL DEFAULT '[]',
    content_hash     text NOT NULL,
    embedding        vector(384),
    -- One bit for each dimension. Its index has a thirtieth of the size; hits are then ranked by the exact cosine.
    embedding_bits   bit(384) GENERATED ALWAYS AS (binary_quantize(embedding)::bit(384)) STORED,
    status           text NOT NULL CHECK (status IN ('complete', 'degraded', 'skipped', 'failed')),
    -- Causes of a degraded result.
    degraded         text[] NOT NULL DEFAULT '{}',
    -- The figures and notes of the main claim.
    fact_check_score double precision,
    fact_check_tier  fact_check_tier,
    fact_check_notes jsonb NOT NULL DEFAULT '[]',
    -- The result as published. `claims`, `item_evidence` and `item_fact_checks` contain the same figures as rows.
    result           jsonb NOT NULL,
    -- When the verdicts were computed, and when the run that found the evidence ended.
    evaluated_at     timestamptz NOT NULL,
    enriched_at      timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    -- The model of `embedding`. Vectors of two models cannot be compared.
    embedder         text NOT NULL DEFAULT 'hashed-ngrams',
    -- The order of concurrent runs: phase and start of the run, and send time of its message. NULL if unknown.
    phase            text,
    began_at         timestamptz,
    sent_at          timestamptz,
    -- The item as it was sent, without a text that equals `text`: the input of a re-evaluation. NULL: use the columns.
    request          jsonb,
    -- Of the main claim. A trigger takes both from `result`.
    verdict          text,
    decisive         boolean,
    -- What judged the result: `settings`, `models`, and `lists`, the version of the domain lists. It is due for
    -- re-evaluation if one of them has changed. A command leaves out the first two.
    judged_with      jsonb NOT NULL DEFAULT '{}'
);

CREATE INDEX items_recent ON items (enriched_at DESC, item_id DESC);
CREATE INDEX items_expiry ON items (expires_at);
CREATE INDEX items_cluster ON items (cluster_id) WHERE cluster_id IS NOT NULL;
CREATE INDEX items_channel ON items (channel, enriched_at DESC, item_id DESC);
CREATE INDEX items_verdict ON items (verdict, enriched_at DESC, item_id DESC);
CREATE INDEX items_embedding ON items USING hnsw (embedding_bits bit_hamming_ops);
-- New words wait in the pending list until they are sorted into the index. A long list slows searches and some commits.
CREATE INDEX items_words ON items USING gin (item_words(title, text)) WITH (gin_pending_list_limit = 256);

-- Copies the main claim's verdict into the item, so that lists and the overview do not read whole results.
CREATE FUNCTION items_main_verdict() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim jsonb := main_claim(NEW.result);
BEGIN
    NEW.verdict := claim->>'verdict';
    NEW.decisive := (claim->>'decisive')::boolean;
    RETURN NEW;
END $$;

CREATE TRIGGER items_main_verdict BEFORE INSERT OR UPDATE OF result ON items
    FOR EACH ROW EXECUTE FUNCTION items_main_verdict();

-- Clears the order of runs if a statement replaces the text without a new `began_at`: the columns then describe the
-- earlier text.
CREATE FUNCTION forget_commit_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.phase := NULL;
    NEW.began_at := NULL;
    NEW.sent_at := NULL;
    RETURN NEW;
END $$;

CREATE TRIGGER forget_commit_order BEFORE UPDATE ON items FOR EACH ROW
    WHEN (NEW.content_hash IS DISTINCT FROM OLD.content_hash AND NEW.began_at IS NOT DISTINCT FROM OLD.began_at)
    EXECUTE FUNCTION forget_commit_order();

-- The phases that are done for an item. (item_id, phase, content_hash) is the idempotency key of a message.
CREATE TABLE item_phases (
    item_id      text NOT NULL REFERENCES items ON DELETE CASCADE,
    phase        text NOT NULL CHECK (phase IN ('phase1', 'phase2')),
    content_hash text NOT NULL,
    degraded     boolean NOT NULL,
    message_id   text,
    done_at      timestamptz NOT NULL,
    PRIMARY KEY (item_id, phase)
);

-- Verdicts that a later result replaced.
CREATE TABLE verdict_history (
    item_id      text NOT NULL REFERENCES items ON DELETE CASCADE,
    evaluated_at timestamptz NOT NULL,
    position     integer NOT NULL,
    claim_text   text NOT NULL,
    verdict      text NOT NULL,
    decisive     boolean NOT NULL,
    confidence   double precision NOT NULL,
    tier         text NOT NULL,
    score        integer,
    judge        text NOT NULL,
    replaced_at  timestamptz NOT NULL DEFAULT now(),
    -- The reason of the re-evaluation. NULL: the item was sent again, or a user requested the re-evaluation.
    why          text,
    -- The date of the message about the new verdicts, if they were computed from stored evidence. The process's clock
    -- sets it, as it dates all messages.
    told_at      timestamptz,
    PRIMARY KEY (item_id, replaced_at, position)
);

-- Locks an item until the end of the transaction, and returns the date of the latest message about it. The next message
-- needs a later date, because readers keep the message with the latest date. The advisory lock serves items that have no
-- row yet.
CREATE FUNCTION item_spoken_of(item text) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    made timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(item, 20));
    SELECT enriched_at INTO made FROM items WHERE item_id = item FOR UPDATE;
    RETURN greatest(made, (SELECT max(told_at) FROM verdict_history WHERE item_id = item));
END $$;

-- Sets the breadth of vector searches until the end of the transaction. From version 0.8 on the extension continues until
-- enough rows match the conditions, and reads `most` rows at most. Earlier versions read a fixed number of rows, up to 1,000. The functions below call it instead of a SET clause,
-- because only a superuser may restore settings of an extension that the session has not loaded.
CREATE FUNCTION search_near(breadth integer, most integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('hnsw.ef_search', breadth::text, true);
    IF current_setting('hnsw.iterative_scan', true) IS NOT NULL THEN
        PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.max_scan_tuples', most::text, true);
    ELSE
        PERFORM set_config('hnsw.ef_search', least(most, 1000)::text, true);
    END IF;
END $$;

-- Returns the most similar recent items of other channels, one for each channel. The index returns the nearest of all
-- items and the conditions filter them. The search reads 2,000 items at most: reports of the same story are nearer.
CREATE FUNCTION similar_items(
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

-- === Sources and sentences ===

-- Returns the host of a URL, reversed, so that a site and its subdomains are neighbours in an index. 255 is above the
-- length of any host name (RFC 1035: 253).
CREATE FUNCTION backward_host(address text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(reverse(split_part(split_part(address, '/', 3), ':', 1)), 255)
$$;

-- Pages, each stored once for all items. The operator's own documents and the program's built-in facts are pages too.
CREATE TABLE evidence_sources (
    id                text PRIMARY KEY,
    url               text NOT NULL,
    domain            text NOT NULL,
    title             text,
    published_at      timestamptz,
    language          text,
    raw_text          text NOT NULL DEFAULT '',
    source_type       text NOT NULL,
    content_hash      text,
    -- Pages of one group count as one independent source.
    independent_group text,
    -- The canonical URL that the page names.
    canonical         text,
    -- The address after redirects, if different. Credibility and deny rules use it.
    final_url         text,
    -- URLs of the pages that the page states as its source.
    based_on          text[] NOT NULL DEFAULT '{}',
    publisher         text,
    extraction_failed boolean NOT NULL DEFAULT false,
    -- The cause of a missing text, such as 'paywall'. 'not_found' with `extraction_failed` false: the page was removed
    -- after it was read, and no new item may cite it.
    failure           text,
    fetched_at        timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL,
    -- 'web': a fetched page. 'kb': a fact that comes with the program; only the program removes it. The others are the
    -- operator's own documents, which are queried again for each claim.
    origin            text NOT NULL DEFAULT 'web' CHECK (origin IN ('web', 'kb', 'corpus', 'api', 'database')),
    -- The server's validators for a conditional request (RFC 9110, 8.8), unchanged. The request goes to `final_url`, or
    -- to `url` if that is NULL.
    etag              text,
    last_modified     text,
    -- Fact-checks (ClaimReview) in the page's markup.
    claim_reviews     jsonb NOT NULL DEFAULT '[]',
    -- A hash index accepts URLs of any length. A B-tree index rejects those over 2,704 bytes.
    CONSTRAINT evidence_sources_url_once EXCLUDE USING hash (url WITH =)
);

CREATE INDEX evidence_sources_expiry ON evidence_sources (expires_at);
CREATE INDEX evidence_sources_host ON evidence_sources ((backward_host(url)) COLLATE "C");
CREATE INDEX evidence_sources_final_host ON evidence_sources ((backward_host(final_url)) COLLATE "C")
    WHERE final_url IS NOT NULL;
-- Each start of the program reads these facts.
CREATE INDEX evidence_sources_kb ON evidence_sources (id) WHERE origin = 'kb';

-- Returns the ids of pages whose address, or address after redirects, is under one of the domains. The range ends at a
-- slash, which follows the dot in the order of characters.
CREATE FUNCTION pages_under(domains text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT page.id FROM unnest(domains) AS edited(site) JOIN evidence_sources AS page
        ON backward_host(page.url) COLLATE "C" = reverse(site)
        OR (backward_host(page.url) COLLATE "C" > reverse(site) || '.' AND backward_host(page.url) COLLATE "C" < reverse(site) || '/')
    UNION
    SELECT page.id FROM unnest(domains) AS edited(site) JOIN evidence_sources AS page ON page.final_url IS NOT NULL AND (
        backward_host(page.final_url) COLLATE "C" = reverse(site)
        OR (backward_host(page.final_url) COLLATE "C" > reverse(site) || '.'
            AND backward_host(page.final_url) COLLATE "C" < reverse(site) || '/'))
$$;

-- Converts the dates of fetched pages from a process's clock, which shows `moment`, to the database's clock.
CREATE FUNCTION on_database_clock(page_rows jsonb, moment timestamptz) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(page || jsonb_build_object(
        'fetched_at', now() + ((page->>'fetched_at')::timestamptz - moment),
        'expires_at', now() + ((page->>'expires_at')::timestamptz - moment)) ORDER BY place), '[]')
    FROM jsonb_array_elements(page_rows) WITH ORDINALITY AS given (page, place)
$$;

-- Stores fetched pages. A page that was fetched later replaces the stored one.
--
-- An item is due for re-evaluation if a page lost a passage that supports or contradicts one of its claims. The same
-- applies if the server reports that the page no longer exists (404, 410). Its text stays for the items that cite it.
CREATE FUNCTION store_pages(page_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    new_ones bigint;
BEGIN
    -- DO UPDATE would name one of the two unique indexes. Two items that store the same new page concurrently can conflict
    -- on the other one. The second would then fail instead of waiting.
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
    -- Locked in the order of ids everywhere, so that two items with the same pages cannot deadlock.
    known AS (
        SELECT stored.id FROM evidence_sources AS stored WHERE stored.id IN (SELECT given.id FROM given)
        ORDER BY stored.id FOR NO KEY UPDATE),
    -- Sentences of a page whose text changed are removed.
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
                    -- A passage may consist of title and description. Only one that was in the text can be missing now.
                    AND position(e.passage IN stored.raw_text) > 0 AND position(e.passage IN given.raw_text) = 0)
                OR (given.failure = 'not_found' AND stored.failure IS DISTINCT FROM 'not_found'))
        ORDER BY 1
        ON CONFLICT (item_id, asks) DO UPDATE SET
            reason = CASE rejudging.reason WHEN 'requested' THEN 'requested' ELSE excluded.reason END, noted_at = now(),
            taken_until = NULL, attempts = CASE rejudging.reason WHEN excluded.reason THEN rejudging.attempts ELSE 0 END),
    -- The UPDATE below never writes these rows: a failed fetch does not replace a page that was read.
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
        -- A row that the INSERT above wrote, or that another process read at the same time, is equally good.
        AND stored.fetched_at < given.fetched_at
        -- Facts that come with the program cannot be fetched.
        AND stored.origin <> 'kb'
        -- A failed fetch does not replace a page that was read.
        AND (stored.extraction_failed OR NOT given.extraction_failed);
END $$;

-- The evidence store: sentences of pages that were judged for an item. A similar sentence is stored only once.
CREATE TABLE evidence_claims (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    evidence_id        text NOT NULL REFERENCES evidence_sources ON DELETE CASCADE,
    claim_text         text NOT NULL,
    claim_hash         text NOT NULL,
    embedding          vector(384) NOT NULL,
    -- As in `items`.
    embedding_bits     bit(384) GENERATED ALWAYS AS (binary_quantize(embedding)::bit(384)) STORED,
    entities           jsonb NOT NULL DEFAULT '[]',
    -- How many items used the sentence, how many of them for their verdict, the mean relevance and the last use. Clean-up
    -- adds `evidence_counters` to these columns.
    access_count       integer NOT NULL DEFAULT 0,
    verification_count integer NOT NULL DEFAULT 0,
    avg_relevance      double precision NOT NULL DEFAULT 0,
    last_accessed      timestamptz,
    embedder           text NOT NULL DEFAULT 'hashed-ngrams',
    UNIQUE (evidence_id, claim_hash)
);

CREATE INDEX evidence_claims_hash ON evidence_claims (claim_hash);
CREATE INDEX evidence_claims_embedding ON evidence_claims USING hnsw (embedding_bits bit_hamming_ops);
-- Each start of the program searches for sentences of another embedder.
CREATE INDEX evidence_claims_embedder ON evidence_claims (embedder, id);

-- Other pages that contain a stored sentence, in the same or similar words. Without these rows a sentence of five
-- independent sources would count as one source's.
CREATE TABLE evidence_echoes (
    evidence_claim_id bigint NOT NULL REFERENCES evidence_claims ON DELETE CASCADE,
    evidence_id       text NOT NULL REFERENCES evidence_sources ON DELETE CASCADE,
    PRIMARY KEY (evidence_claim_id, evidence_id)
);

CREATE INDEX evidence_echoes_source ON evidence_echoes (evidence_id);

-- Stores sentences of judged pages. If a sentence with a cosine of `alike` or more is stored already, the page is added to
-- `evidence_echoes` instead.
CREATE FUNCTION store_sentences(sentence_rows jsonb, made_by text, alike double precision)
RETURNS void LANGUAGE sql AS $$
    -- MATERIALIZED, so that the nearest neighbour is searched once for each sentence, in the index.
    WITH given AS MATERIALIZED (
        SELECT row.*, row.embedding_text::vector(384) AS embedding,
            binary_quantize(row.embedding_text::vector(384))::bit(384) AS bits
        FROM jsonb_to_recordset(sentence_rows) AS row(evidence_id text, claim_text text, claim_hash text,
            embedding_text text, entities jsonb, relevance double precision)),
    known AS MATERIALIZED (
        SELECT given.evidence_id, given.claim_hash, near.id
        FROM given LEFT JOIN LATERAL (
            SELECT candidate.id FROM (
                SELECT id, embedding FROM evidence_claims
                WHERE embedder = made_by
                ORDER BY embedding_bits <~> given.bits
                LIMIT 4) AS candidate
            WHERE 1 - (candidate.embedding <=> given.embedding) >= alike
            ORDER BY candidate.embedding <=> given.embedding LIMIT 1) AS near ON true),
    -- Locked against removal. Sentences that are being removed are skipped.
    held AS MATERIALIZED (
        SELECT id, evidence_id FROM evidence_claims WHERE id IN (SELECT id FROM known WHERE id IS NOT NULL)
        ORDER BY id FOR KEY SHARE SKIP LOCKED),
    echoed AS (
        INSERT INTO evidence_echoes (evidence_claim_id, evidence_id)
        SELECT DISTINCT held.id, known.evidence_id FROM known JOIN held USING (id)
        JOIN evidence_sources s ON s.id = known.evidence_id
        WHERE held.evidence_id <> known.evidence_id
        ORDER BY 1, 2
        ON CONFLICT DO NOTHING)
    INSERT INTO evidence_claims (evidence_id, claim_text, claim_hash, embedding, embedder, entities, avg_relevance)
    SELECT DISTINCT ON (given.evidence_id, given.claim_hash) given.evidence_id, given.claim_text, given.claim_hash,
        given.embedding, made_by, given.entities, given.relevance
    FROM given JOIN known USING (evidence_id, claim_hash)
    WHERE known.id IS NULL AND EXISTS (SELECT 1 FROM evidence_sources s WHERE s.id = given.evidence_id)
    ON CONFLICT (evidence_id, claim_hash) DO NOTHING
$$;

-- Returns the most similar stored sentences of pages that can be cited: not expired, read without a failure, not removed,
-- and not the operator's own texts, which are searched on their own. The index returns the nearest of all sentences;
-- `search_near` makes it continue if these conditions exclude many.
CREATE FUNCTION near_sentences(given vector, made_by text, at timestamptz, most bigint)
RETURNS TABLE (id bigint, evidence_id text, claim_text text, similarity double precision) LANGUAGE plpgsql ROWS 40 AS $$
#variable_conflict use_column
BEGIN
    PERFORM search_near(greatest(most, 40)::integer, 2000);
    RETURN QUERY SELECT near.id, near.evidence_id, near.claim_text, 1 - (near.embedding <=> given) FROM (
        SELECT said.id, said.evidence_id, said.claim_text, said.embedding FROM evidence_claims AS said
        -- Scalar subqueries, because the planner may execute EXISTS by reading all pages first.
        WHERE said.embedder = made_by AND (
            coalesce((SELECT page.origin IN ('web', 'kb') AND page.expires_at > at AND NOT page.extraction_failed
                    AND page.failure IS DISTINCT FROM 'not_found'
                FROM evidence_sources AS page WHERE page.id = said.evidence_id), false)
            OR coalesce((SELECT bool_or(page.origin IN ('web', 'kb') AND page.expires_at > at AND NOT page.extraction_failed
                    AND page.failure IS DISTINCT FROM 'not_found')
                FROM evidence_echoes AS echo JOIN evidence_sources AS page ON page.id = echo.evidence_id
                WHERE echo.evidence_claim_id = said.id), false))
        ORDER BY said.embedding_bits <~> binary_quantize(given)::bit(384) LIMIT most) AS near;
END $$;

-- Uses of sentences that are not counted yet, one row each. Counters in `evidence_claims` would rewrite its vector and five
-- indexes for each item, and items with the same sentence would wait for each other. There is no foreign key, so that a
-- use does not lock its sentence against removal.
CREATE TABLE evidence_uses (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    evidence_claim_id bigint NOT NULL,
    -- The sentence decided the verdict.
    deciding          boolean NOT NULL,
    relevance         double precision NOT NULL,
    used_at           timestamptz NOT NULL
);

CREATE INDEX evidence_uses_sentence ON evidence_uses (evidence_claim_id);

-- Sums of uses that are not yet in the counters of `evidence_claims`. The fill factor lets an updated row stay in its block.
CREATE TABLE evidence_counters (
    evidence_claim_id  bigint PRIMARY KEY,
    access_count       integer NOT NULL,
    verification_count integer NOT NULL,
    -- The sum, not the mean.
    relevance          double precision NOT NULL,
    last_accessed      timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Adds up to `most` uses to `evidence_counters`, and returns their number.
CREATE FUNCTION count_uses(most integer) RETURNS bigint LANGUAGE sql AS $$
    WITH taken AS (
        DELETE FROM evidence_uses WHERE id IN (
            SELECT id FROM evidence_uses ORDER BY id LIMIT most FOR UPDATE SKIP LOCKED)
        RETURNING evidence_claim_id, deciding, relevance, used_at),
    counted AS (
        -- In the order of ids everywhere, so that two processes cannot deadlock.
        INSERT INTO evidence_counters AS known (evidence_claim_id, access_count, verification_count, relevance, last_accessed)
        SELECT evidence_claim_id, count(*), count(*) FILTER (WHERE deciding), sum(relevance), max(used_at)
        FROM taken GROUP BY evidence_claim_id ORDER BY evidence_claim_id
        ON CONFLICT (evidence_claim_id) DO UPDATE SET access_count = known.access_count + excluded.access_count,
            verification_count = known.verification_count + excluded.verification_count,
            relevance = known.relevance + excluded.relevance,
            last_accessed = greatest(known.last_accessed, excluded.last_accessed))
    SELECT count(*) FROM taken
$$;

-- Adds the next `most` counters after the id `behind` to `evidence_claims`. Returns the last id, or NULL at the end.
-- Counters of sentences that are removed or locked are dropped: they justify neither a wait nor a deadlock.
CREATE FUNCTION settle_counters(behind bigint, most integer) RETURNS bigint LANGUAGE sql AS $$
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
            -- The relevance at which the sentence was stored is the first value of the mean.
            avg_relevance = (said.avg_relevance * (said.access_count + 1) + taken.relevance)
                / (said.access_count + 1 + taken.access_count)
        FROM taken JOIN held ON held.id = taken.evidence_claim_id WHERE said.id = held.id)
    SELECT max(evidence_claim_id) FROM taken
$$;

-- === Claims and evidence ===

-- The claims of an item's latest result, with their verdicts.
CREATE TABLE claims (
    claim_id             text PRIMARY KEY,
    item_id              text NOT NULL REFERENCES items ON DELETE CASCADE,
    position             integer NOT NULL,
    -- The text that contains the claim: 0 is the item's own, then its `sources`, then linked pages.
    source               integer NOT NULL DEFAULT 0,
    claim_text           text NOT NULL,
    kind                 text NOT NULL CHECK (kind IN ('factual', 'opinion', 'mixed', 'ambiguous')),
    verdict              text NOT NULL CHECK (verdict IN
        ('supported', 'refuted', 'contested', 'misleading', 'outdated', 'not_enough_evidence', 'not_verifiable')),
    -- True: conclusive. False: provisional.
    decisive             boolean NOT NULL,
    confidence           double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    score                integer CHECK (score BETWEEN 0 AND 100),
    tier                 fact_check_tier NOT NULL,
    -- Mean similarity of the three best passages to the claim, 0–1.
    agreement            double precision NOT NULL,
    contradiction        boolean NOT NULL,
    judge                text NOT NULL,
    -- The inputs of the score.
    features             jsonb NOT NULL,
    notes                jsonb NOT NULL DEFAULT '[]',
    justification        text NOT NULL,
    -- Ranks of the cited passages.
    citations            integer[] NOT NULL DEFAULT '{}',
    correction           jsonb,
    -- Inputs of the verdict besides the evidence, so that it can be computed again from the database.
    claim_date           timestamptz,
    confidence_threshold double precision NOT NULL,
    evaluated_at         timestamptz NOT NULL,
    -- Two more inputs: whether sources were searched, and whether a correction was requested. NULL: only the notes show it.
    searched             boolean,
    auto_correct         boolean
);

CREATE INDEX claims_item ON claims (item_id, position);
CREATE INDEX claims_contradicted ON claims (item_id) WHERE contradiction;

-- Passages that were judged for a claim, with all inputs of the score.
CREATE TABLE item_evidence (
    item_id           text NOT NULL REFERENCES items ON DELETE CASCADE,
    claim_id          text NOT NULL REFERENCES claims ON DELETE CASCADE,
    evidence_id       text NOT NULL REFERENCES evidence_sources,
    -- Similarity of the passage to the claim, 0–1.
    agreement_score   double precision NOT NULL,
    contradiction     boolean NOT NULL,
    stance            text NOT NULL CHECK (stance IN ('supports', 'contradicts', 'neutral')),
    -- The judge's three probabilities.
    entail            double precision NOT NULL,
    contradict        double precision NOT NULL,
    neutral           double precision NOT NULL,
    -- Each 0–1. `quality` is the weighted sum of the other four.
    relevance         double precision NOT NULL,
    quality           double precision NOT NULL,
    credibility       double precision NOT NULL,
    freshness         double precision NOT NULL,
    specificity       double precision NOT NULL,
    -- Whether numbers in claim and passage agree. NULL: there are none to compare.
    num_ok            boolean,
    independent_group text NOT NULL,
    source_type       text NOT NULL,
    origin            text NOT NULL,
    provider          text NOT NULL,
    -- The passage supports the claim, but for another time or place.
    out_of_context    boolean NOT NULL DEFAULT false,
    passage           text NOT NULL,
    passage_hash      text NOT NULL,
    -- 1 is the best passage of the claim.
    rank              integer NOT NULL,
    matched_at        timestamptz NOT NULL,
    -- The language model's stance, and whether it found another time or place. The columns above stay the judge's.
    llm_stance        text,
    llm_elsewhere     boolean NOT NULL DEFAULT false,
    -- The source of the probabilities. Passages of one claim in several languages have several judges.
    judge             text,
    PRIMARY KEY (claim_id, evidence_id, passage_hash)
);

CREATE INDEX item_evidence_item ON item_evidence (item_id);
CREATE INDEX item_evidence_source ON item_evidence (evidence_id);

-- Published fact-checks that match a claim.
CREATE TABLE item_fact_checks (
    item_id      text NOT NULL REFERENCES items ON DELETE CASCADE,
    claim_id     text NOT NULL REFERENCES claims ON DELETE CASCADE,
    -- The claim that the fact-check reviews, and its relation to ours.
    claim        text NOT NULL,
    relation     text NOT NULL CHECK (relation IN ('same', 'opposite', 'related', 'other')),
    url          text NOT NULL,
    publisher    text NOT NULL,
    title        text,
    claimant     text,
    -- The publisher's own words, and the class that they belong to.
    rating       text NOT NULL,
    rating_class text NOT NULL,
    language     text,
    review_date  timestamptz,
    similarity   double precision NOT NULL,
    matched_at   timestamptz NOT NULL,
    -- Keeps long claims out of the index of the primary key.
    claim_hash   text GENERATED ALWAYS AS (md5(claim)) STORED,
    PRIMARY KEY (claim_id, url, claim_hash)
);

CREATE INDEX item_fact_checks_item ON item_fact_checks (item_id);
CREATE INDEX item_fact_checks_matched ON item_fact_checks (matched_at);

-- Returns whether stored evidence justifies a claim's verdict. A conclusive side needs a passage of that stance, or a
-- fact-check with that rating. For a provisional one, a passage that leans to the side is enough, by the judge's
-- probabilities or by a language model. A language model alone makes no side conclusive.
CREATE FUNCTION claim_has_evidence(claim claims) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE claim.verdict
        WHEN 'supported' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'supports' OR (NOT claim.decisive
                    AND (e.entail > e.contradict OR (e.llm_stance = 'supports' AND e.stance <> 'contradicts')))))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class IN ('true', 'mostly_true'))
                  OR (f.relation = 'opposite' AND f.rating_class = 'false')))
        WHEN 'refuted' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'contradicts' OR (NOT claim.decisive
                    AND (e.contradict > e.entail OR (e.llm_stance = 'contradicts' AND e.stance <> 'supports')))))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class = 'false')
                  OR (f.relation = 'opposite' AND f.rating_class IN ('true', 'mostly_true'))))
        WHEN 'outdated' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'contradicts' OR (NOT claim.decisive
                    AND (e.contradict > e.entail OR (e.llm_stance = 'contradicts' AND e.stance <> 'supports')))))
        WHEN 'misleading' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'supports' OR (NOT claim.decisive
                    AND (e.entail > e.contradict OR (e.llm_stance = 'supports' AND e.stance <> 'contradicts')))))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation = 'same' AND f.rating_class IN ('mixed', 'misleading'))
        WHEN 'contested' THEN
            (EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.entail > e.contradict OR (e.llm_stance = 'supports' AND e.stance <> 'contradicts')))
             AND EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.contradict > e.entail OR (e.llm_stance = 'contradicts' AND e.stance <> 'supports'))))
            OR (SELECT count(*) FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation IN ('same', 'opposite') AND f.rating_class IN
                    ('true', 'mostly_true', 'mixed', 'misleading', 'false')) >= 2
        ELSE true
    END
$$;

-- Rejects a verdict without evidence. The trigger runs at commit, so that the order of the writes is free.
CREATE FUNCTION refuse_claim_without_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim claims;
BEGIN
    -- The row as it is at commit: it may have been replaced or deleted since the trigger was queued.
    SELECT * INTO claim FROM claims WHERE claim_id = NEW.claim_id;
    IF FOUND AND NOT claim_has_evidence(claim) THEN
        RAISE EXCEPTION 'claim % says % without a stored passage or fact-check of that stance', claim.claim_id, claim.verdict
            USING ERRCODE = 'check_violation', CONSTRAINT = 'claim_has_evidence';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER claim_has_evidence AFTER INSERT OR UPDATE ON claims
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.verdict IN ('supported', 'refuted', 'contested', 'misleading', 'outdated'))
    EXECUTE FUNCTION refuse_claim_without_evidence();

-- Rejects the removal of evidence that a remaining claim needs.
CREATE FUNCTION refuse_orphaned_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim claims;
BEGIN
    SELECT * INTO claim FROM claims WHERE claim_id = OLD.claim_id;
    IF FOUND AND NOT claim_has_evidence(claim) THEN
        RAISE EXCEPTION 'the evidence behind claim % (%) cannot be removed while the claim stands', claim.claim_id, claim.verdict
            USING ERRCODE = 'check_violation', CONSTRAINT = 'claim_has_evidence';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER evidence_stays_with_its_claim AFTER DELETE ON item_evidence
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_orphaned_claim();
CREATE CONSTRAINT TRIGGER fact_check_stays_with_its_claim AFTER DELETE ON item_fact_checks
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_orphaned_claim();

-- Adds the sentences that an item used to `evidence_uses`. Sentences that an earlier run of the item used are not counted
-- again, so call it before the item's evidence is replaced.
CREATE FUNCTION note_uses(use_rows jsonb, used_by text, moment timestamptz) RETURNS void LANGUAGE sql AS $$
    WITH given AS (
        SELECT DISTINCT ON (row.evidence_id, row.claim_hash) row.*
        FROM jsonb_to_recordset(use_rows) AS row(evidence_id text, claim_hash text, passage_hash text,
            relevance double precision, deciding boolean)
        WHERE NOT EXISTS (SELECT 1 FROM item_evidence old WHERE old.item_id = used_by
            AND old.evidence_id = row.evidence_id AND old.passage_hash = row.passage_hash)
        ORDER BY row.evidence_id, row.claim_hash, row.deciding DESC, row.relevance DESC)
    INSERT INTO evidence_uses (evidence_claim_id, deciding, relevance, used_at)
    SELECT said.id, given.deciding, given.relevance, moment FROM evidence_claims said JOIN given
        ON given.evidence_id = said.evidence_id AND given.claim_hash = said.claim_hash
$$;

-- === Domain lists and settings ===

-- Allow and deny rules for domains.
CREATE TABLE domain_rules (
    domain      text PRIMARY KEY,
    list        text NOT NULL CHECK (list IN ('allow', 'deny')),
    credibility double precision CHECK (credibility BETWEEN 0 AND 1),
    source_type text,
    why         text,
    updated_by  text NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- Edits of the domain lists, append-only.
CREATE TABLE domain_rule_changes (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    domain     text NOT NULL,
    action     text NOT NULL CHECK (action IN ('add', 'change', 'remove', 'install')),
    before     jsonb,
    after      jsonb,
    who        text NOT NULL,
    why        text,
    changed_at timestamptz NOT NULL
);

-- The version of the domain lists, which each process compares with its own. An edit locks the row until it commits, so
-- that edits become visible in the order of their versions and a process misses none.
CREATE TABLE domain_rules_version (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint NOT NULL
);

INSERT INTO domain_rules_version (version) VALUES (0);

-- Increments the version. A trigger also counts manual edits.
CREATE FUNCTION domain_rules_edited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domain_rules_version SET version = version + 1;
    RETURN NULL;
END $$;

CREATE TRIGGER domain_rules_edited AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON domain_rules
    FOR EACH STATEMENT EXECUTE FUNCTION domain_rules_edited();

-- Values that all processes share.
CREATE TABLE store_settings (
    key        text PRIMARY KEY,
    value      jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO store_settings (key, value) VALUES
    ('embedding_dimension', '384'),
    -- A program may use a newer schema if its own last migration has this number or a higher one. A migration that an
    -- earlier program cannot use raises the number.
    ('oldest_program', '1');

-- === Re-evaluation ===

-- Items that are due for re-evaluation. There is no foreign key: a commit that adds other items must neither wait for the
-- removal of one nor fail because of it. Rows of removed items are skipped, and clean-up deletes them.
CREATE TABLE rejudging (
    item_id     text NOT NULL,
    -- True: a new run, which queries providers, pages and models. False: new verdicts from the stored evidence.
    asks        boolean NOT NULL,
    reason      text NOT NULL CHECK (reason IN
        ('settings', 'domain_lists', 'model', 'evidence_corrected', 'fact_check', 'requested')),
    -- The first reason. Items that are due longest are processed first.
    due_at      timestamptz NOT NULL DEFAULT now(),
    -- The latest reason. A run that began before it does not settle it.
    noted_at    timestamptz NOT NULL DEFAULT now(),
    -- The end of a process's lease. A new reason clears it, so that a run in progress does not settle the new reason.
    taken_until timestamptz,
    attempts    integer NOT NULL DEFAULT 0,
    PRIMARY KEY (item_id, asks)
);

CREATE INDEX rejudging_due ON rejudging (asks, due_at, item_id);

-- The cost of re-evaluations in a UTC month.
CREATE TABLE rejudging_spending (
    month timestamptz PRIMARY KEY,
    usd   double precision NOT NULL
);

-- Makes items due that cite a page of an edited domain. A new reason for the same rule changes no verdict.
CREATE FUNCTION note_edited_domains() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rejudging (item_id, asks, reason)
    SELECT DISTINCT e.item_id, false, 'domain_lists'
    FROM item_evidence e
    -- An array, so that the index is used however many pages the function is expected to return.
    WHERE e.evidence_id = ANY (ARRAY(
        SELECT page.id FROM pages_under(ARRAY(SELECT regexp_replace(domain, '^\*\.', '') FROM edits WHERE action <> 'install'
            AND coalesce(before, '{}') - 'why' IS DISTINCT FROM coalesce(after, '{}') - 'why')) AS page (id)))
    ORDER BY 1
    ON CONFLICT (item_id, asks) DO UPDATE SET reason = excluded.reason, noted_at = now(), taken_until = NULL, attempts = 0;
    RETURN NULL;
END $$;

CREATE TRIGGER note_edited_domains AFTER INSERT ON domain_rule_changes REFERENCING NEW TABLE AS edits
    FOR EACH STATEMENT EXECUTE FUNCTION note_edited_domains();

-- Makes the items nearest to an item due if a fact-check that is new to it may concern their claims: their runs decide
-- that. `known` are the fact-checks that the item had before. 40 items are as many as the index returns.
CREATE FUNCTION note_new_fact_checks(own items, known text[], at_least double precision)
RETURNS void LANGUAGE sql AS $$
    WITH found AS MATERIALIZED (
        SELECT DISTINCT url FROM item_fact_checks WHERE item_id = own.item_id AND relation IN ('same', 'opposite')
            AND rating_class IN ('true', 'mostly_true', 'mixed', 'misleading', 'false') AND url <> ALL (known)),
    near AS MATERIALIZED (
        SELECT item_id, embedding FROM items WHERE embedder = own.embedder AND EXISTS (SELECT FROM found)
        ORDER BY embedding_bits <~> binary_quantize(own.embedding)::bit(384) LIMIT 40)
    INSERT INTO rejudging (item_id, asks, reason)
    SELECT DISTINCT near.item_id, true, 'fact_check' FROM near, found
    WHERE near.item_id <> own.item_id AND 1 - (near.embedding <=> own.embedding) >= at_least
        AND NOT EXISTS (SELECT FROM item_fact_checks has WHERE has.item_id = near.item_id AND has.url = found.url)
    ORDER BY 1
    -- A user's request stays one. An item whose runs fail is not tried for ever.
    ON CONFLICT (item_id, asks) DO UPDATE SET
        reason = CASE rejudging.reason WHEN 'requested' THEN 'requested' ELSE excluded.reason END, noted_at = now(), taken_until = NULL,
        attempts = CASE rejudging.reason WHEN excluded.reason THEN rejudging.attempts ELSE 0 END
$$;

-- === Queue and outbox ===

-- The queue of embedded mode.
CREATE TABLE queue_messages (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue          text NOT NULL,
    body           bytea NOT NULL,
    attempts       integer NOT NULL DEFAULT 0,
    -- All deliveries, including retries and clean returns.
    deliveries     integer NOT NULL DEFAULT 0,
    message_id     text,
    reply_to       text,
    correlation_id text,
    enqueued_at    timestamptz NOT NULL,
    available_at   timestamptz NOT NULL,
    -- The worker that holds the message. If its process crashes, an embedded store frees the message at the next start. On
    -- a shared server it is free at the end of the lease.
    taken_by       text,
    taken_at       timestamptz,
    last_error     text,
    -- Deliveries whose worker ended without settling the message. A message that crashes each worker becomes a dead letter.
    lost           integer NOT NULL DEFAULT 0
);

CREATE INDEX queue_messages_ready ON queue_messages (available_at, id);
CREATE INDEX queue_messages_taken ON queue_messages (taken_at) WHERE taken_by IS NOT NULL;
-- Important items are delivered before all others.
CREATE INDEX queue_messages_important ON queue_messages (available_at, id) WHERE queue = 'enrichment_important';

-- Messages that cannot succeed.
CREATE TABLE dead_messages (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue          text NOT NULL,
    body           bytea NOT NULL,
    attempts       integer NOT NULL,
    error_label    text NOT NULL,
    error          text NOT NULL,
    message_id     text,
    reply_to       text,
    correlation_id text,
    enqueued_at    timestamptz NOT NULL,
    failed_at      timestamptz NOT NULL,
    -- The size of a message that was refused because of its size; `body` is then an excerpt. NULL: `body` is complete.
    original_bytes bigint
);

-- How many items all processes together may shed from an overloaded queue (ENRICHMENT_OVERLOAD `defer` and `drop`). Without
-- it, each process would shed the whole excess.
CREATE TABLE load_shedding (
    queue   text PRIMARY KEY,
    -- Items that may still be shed. The process that counts the queue sets it.
    allowed bigint NOT NULL CHECK (allowed >= 0),
    -- Number of items shed so far; never decreases.
    shed    bigint NOT NULL,
    set_at  timestamptz NOT NULL
);

-- Results and signals that the broker has not confirmed yet. A refused message waits longer after each refusal and delays
-- no other message.
CREATE TABLE outbox (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- NULL: the default exchange, to a reply queue.
    exchange       text,
    routing_key    text NOT NULL,
    body           text NOT NULL,
    correlation_id text,
    message_id     text NOT NULL,
    -- Number of refusals.
    attempts       integer NOT NULL DEFAULT 0,
    -- The end of the lease of the process that publishes it.
    locked_until   timestamptz,
    created_at     timestamptz NOT NULL,
    next_try_at    timestamptz,
    last_error     text,
    -- Set if the message was refused so often that a person has to check it.
    parked_at      timestamptz
);

-- In the order of publishing: messages without a refusal first.
CREATE INDEX outbox_due ON outbox ((coalesce(next_try_at, '-infinity'::timestamptz)), id);
-- For the count every few seconds.
CREATE INDEX outbox_parked ON outbox (id) WHERE parked_at IS NOT NULL;

-- === Webhooks ===

-- Results and signals for the operator's web servers, one row for each receiver.
CREATE TABLE webhook_messages (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The receiver's name in the configuration.
    webhook      text NOT NULL,
    event        text NOT NULL,
    -- Equal in all attempts, so that the receiver recognises a copy.
    message_id   text NOT NULL,
    body         text NOT NULL,
    created_at   timestamptz NOT NULL,
    -- Start of the time limit for attempts: `created_at`, or the time of a manual retry.
    tried_since  timestamptz NOT NULL DEFAULT now(),
    attempts     integer NOT NULL DEFAULT 0,
    next_try_at  timestamptz,
    locked_until timestamptz,
    last_error   text,
    -- Set if the attempts have ended. A person retries or drops the message.
    dead_at      timestamptz
);

-- In the order of sending.
CREATE INDEX webhook_messages_due ON webhook_messages
    (webhook, (coalesce(next_try_at, '-infinity'::timestamptz)), id) WHERE dead_at IS NULL;
-- For the counts every few seconds.
CREATE INDEX webhook_messages_dead ON webhook_messages (id) WHERE dead_at IS NOT NULL;
CREATE INDEX webhook_messages_waiting ON webhook_messages (id) WHERE dead_at IS NULL;

-- === Writing a result ===

-- Writes one result with its evidence, idempotency key and messages in one round trip. `claim_rows` has, in the order of
-- the result's claims, what the result does not have. `begun` and `seen` are the start of
-- the run and the item's `evaluated_at` at that time. `is_written` is false if nothing was written, because another
-- run's result is newer or more complete.
--
-- The process that writes the messages leases them for `hold` and publishes them at once. `outbox_ids` has them in order.
CREATE FUNCTION commit_item(
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
    known_reviews text[] := '{}';
BEGIN
    own := jsonb_populate_record(null::items, item_row || jsonb_build_object('language', result_json->'language',
        'status', result_json->'status', 'degraded', result_json->'degraded', 'fact_check_score', result_json->'score',
        'fact_check_tier', result_json->'tier', 'fact_check_notes', result_json->'notes'));
    -- The item is first: its row lock, held until commit, serialises the runs of one item.
    INSERT INTO items AS stored (item_id, channel, title, text, url, language, published_at, importance, cluster_id,
        cluster_members, content_hash, embedding, status, degraded, fact_check_score, fact_check_tier, fact_check_notes,
        result, evaluated_at, enriched_at, expires_at, embedder, phase, began_at, sent_at, request, judged_with)
    VALUES (own.item_id, own.channel, own.title, own.text, own.url, own.language, own.published_at, own.importance,
        own.cluster_id, own.cluster_members, own.content_hash, own.embedding, own.status, own.degraded,
        own.fact_check_score, own.fact_check_tier, own.fact_check_notes, result_json, moment, moment, expiry,
        own.embedder, own.phase, begun, sent, request_json, own.judged_with)
    ON CONFLICT (item_id) DO UPDATE SET channel = excluded.channel, title = excluded.title, text = excluded.text,
        url = excluded.url, language = excluded.language, published_at = excluded.published_at,
        importance = excluded.importance, cluster_id = excluded.cluster_id, cluster_members = excluded.cluster_members,
        content_hash = excluded.content_hash, embedding = excluded.embedding, status = excluded.status,
        degraded = excluded.degraded, fact_check_score = excluded.fact_check_score,
        fact_check_tier = excluded.fact_check_tier, fact_check_notes = excluded.fact_check_notes,
        result = excluded.result, evaluated_at = excluded.evaluated_at, enriched_at = excluded.enriched_at,
        -- A re-evaluation does not extend the lifetime. Otherwise items that cite one changing page would keep each other
        -- stored.
        expires_at = CASE WHEN item_row->>'why' IS NULL THEN excluded.expires_at ELSE stored.expires_at END,
        embedder = excluded.embedder, phase = excluded.phase,
        began_at = excluded.began_at, request = excluded.request, judged_with = excluded.judged_with,
        -- Two messages with the same text: the later send time counts.
        sent_at = CASE WHEN stored.content_hash = excluded.content_hash
            THEN greatest(stored.sent_at, excluded.sent_at) ELSE excluded.sent_at END
    -- Evaluated under the row lock, so `stored` is the last committed row. Columns of that row are compared, because a
    -- subquery reads the statement's snapshot, which may be older.
    WHERE NOT coalesce(CASE
        -- The text that was sent later wins. If a send time is missing, or both are equal (AMQP has seconds), the later run
        -- wins. The start of a run is less exact, because the run of a deferred message can start after that of its edit.
        WHEN stored.content_hash <> excluded.content_hash AND stored.sent_at <> excluded.sent_at
            THEN stored.sent_at > excluded.sent_at
        WHEN stored.content_hash <> excluded.content_hash THEN stored.began_at > excluded.began_at
        -- Phase 2 contains phase 1. If `stored.phase` is NULL, only `item_phases` has the phase.
        WHEN excluded.phase = 'phase1' AND (stored.phase = 'phase2' OR EXISTS (
            SELECT FROM item_phases done WHERE done.item_id = stored.item_id AND done.phase = 'phase2'
                AND done.content_hash = stored.content_hash)) THEN true
        WHEN excluded.phase = 'phase2' AND stored.phase IS DISTINCT FROM 'phase2' THEN false
        -- Another run has done the same work after `seen`. Its result stays, unless it is degraded and this one is not.
        ELSE stored.evaluated_at IS DISTINCT FROM seen
            AND NOT (cardinality(stored.degraded) > 0 AND cardinality(excluded.degraded) = 0)
    END, false)
    -- xmax is 0 if the row was inserted, not updated.
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
        known_reviews := ARRAY(SELECT f.url FROM item_fact_checks f WHERE f.item_id = own.item_id);
        -- All earlier claims are replaced, including those of text that an edit removed.
        DELETE FROM claims c WHERE c.item_id = own.item_id;
    END IF;
    INSERT INTO claims (claim_id, item_id, position, source, claim_text, kind, verdict, decisive, confidence, score, tier,
        agreement, contradiction, judge, features, notes, justification, citations, correction, claim_date,
        confidence_threshold, searched, auto_correct, evaluated_at)
    SELECT row.claim_id, own.item_id, given.place - 1, row.source, given.claim->>'text', row.kind, row.verdict,
        row.decisive, row.confidence, row.score, row.tier, row.agreement, row.contradiction, row.judge, row.features,
        row.notes, row.justification, row.citations, row.correction, row.claim_date, row.confidence_threshold,
        row.searched, row.auto_correct, moment
    FROM jsonb_array_elements(result_json->'claims') WITH ORDINALITY AS given (claim, place),
        jsonb_populate_record(null::claims, given.claim || (claim_rows->(given.place::integer - 1))) AS row;
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
        -- A re-evaluation notes no further items, because each would note the others again.
        IF item_row->>'why' IS NULL AND own.embedding IS NOT NULL THEN
            PERFORM note_new_fact_checks(own, known_reviews, (item_row->>'similar_item')::double precision);
        END IF;
    END IF;
    -- Sentences that repeat another one of this item follow in a second call, which finds the stored one.
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
    -- A complete run settles the item's due run, including reasons that its own pages added in this transaction (now() is
    -- the transaction's start). Reasons that others added after the run's start stay. Rows that another session has locked
    -- are skipped.
    IF own.phase = 'phase2' AND cardinality(own.degraded) = 0 THEN
        DELETE FROM rejudging WHERE ctid = ANY (ARRAY(
            SELECT due.ctid FROM rejudging due WHERE due.item_id = own.item_id AND due.asks
                AND (due.noted_at <= begun OR due.noted_at = now()) FOR UPDATE SKIP LOCKED));
    END IF;
END $$;

-- === Feeds and pages ===

-- Feeds of trusted sites.
CREATE TABLE feeds (
    url           text PRIMARY KEY,
    -- Host of the site that the feed belongs to.
    host          text NOT NULL,
    title         text,
    language      text,
    -- The server's validators for a conditional request.
    etag          text,
    last_modified text,
    next_poll_at  timestamptz NOT NULL,
    -- The end of the lease of the process that reads it.
    claimed_until timestamptz,
    polled_at     timestamptz,
    -- The last successful read.
    read_at       timestamptz,
    failures      integer NOT NULL DEFAULT 0,
    last_error    text,
    -- The site reports that the feed was removed permanently.
    gone          boolean NOT NULL DEFAULT false
);

CREATE INDEX feeds_due ON feeds (next_poll_at) WHERE NOT gone;

-- Sites whose home page was searched for feeds.
CREATE TABLE feed_sites (
    host         text PRIMARY KEY,
    next_look_at timestamptz NOT NULL
);

-- Recent entries of feeds.
CREATE TABLE feed_entries (
    url          text PRIMARY KEY,
    feed_url     text NOT NULL,
    host         text NOT NULL,
    title        text NOT NULL,
    summary      text NOT NULL,
    language     text,
    published_at timestamptz,
    seen_at      timestamptz NOT NULL,
    -- Distinct stems of title and summary. `strong` are those of the title and of names; they count more.
    stems        text[] NOT NULL,
    strong       text[] NOT NULL
);

CREATE INDEX feed_entries_stems ON feed_entries USING gin (stems);
CREATE INDEX feed_entries_age ON feed_entries (coalesce(published_at, seen_at));

-- The pauses between requests to hosts that pages are read from. All processes together keep the pace of one visitor.
CREATE TABLE page_hosts (
    host        text PRIMARY KEY,
    -- The start of the next request.
    next_at     timestamptz NOT NULL,
    -- The host asked for a pause until this time, an hour at most (src/outbound/pages/hosts.rs).
    rests_until timestamptz
);

-- === Call control ===
--
-- Limits of calls to providers, for all processes together. A process executes `take_call` before each call, and `end_call`
-- after it if there is something to record. `provider_usage` and `provider_hours` are figures for display; no limit
-- depends on them.
--
-- Both functions lock the provider's row first and then, for a call that costs money, the row '*'. So they never wait for
-- each other in a circle.

-- Rate, quotas and circuit breaker of a provider, or of one of its endpoints (`name:part`). The row '*' has the money of all
-- providers.
CREATE TABLE provider_quota (
    provider    text PRIMARY KEY,
    -- The next call may be made from this time on.
    next_at     timestamptz NOT NULL DEFAULT '-infinity',
    -- Calls in this UTC day and month.
    day         date NOT NULL DEFAULT '-infinity',
    day_calls   bigint NOT NULL DEFAULT 0,
    month       date NOT NULL DEFAULT '-infinity',
    month_calls bigint NOT NULL DEFAULT 0,
    -- US dollars of this month. Numeric, so that a sum of many small prices is exact at the cap.
    usd         numeric NOT NULL DEFAULT 0,
    -- The circuit breaker. It belongs to one key and address; another key has a closed breaker. 'ready' is closed; all
    -- other states become half-open at `until`.
    identity    text NOT NULL DEFAULT '',
    state       text NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'open', 'exhausted', 'disabled')),
    until       timestamptz,
    reason      text,
    -- Openings since the last success. Each doubles the cool-down.
    trips       integer NOT NULL DEFAULT 0,
    -- A probe is in progress until this time.
    probe_until timestamptz,
    -- Grows with each change of the breaker, so that processes can order the states that they receive.
    version     bigint NOT NULL DEFAULT 0,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    CHECK (state = 'ready' OR until IS NOT NULL)
);

-- Returns the row of a provider and locks it. Its windows are the present ones, its breaker that of the key `which`, and no
-- end is further ahead than it can be, because the clock may have been set back.
CREATE FUNCTION provider_row(who text, which text) RETURNS provider_quota LANGUAGE plpgsql AS $$
DECLARE
    known      provider_quota;
    moment     timestamptz;
    today      date;
    this_month date;
BEGIN
    SELECT * INTO known FROM provider_quota q WHERE q.provider = who FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO provider_quota (provider) VALUES (who) ON CONFLICT DO NOTHING;
        SELECT * INTO known FROM provider_quota q WHERE q.provider = who FOR UPDATE;
    END IF;
    -- After the lock, because waiting for it takes time.
    moment := clock_timestamp();
    today := (moment AT TIME ZONE 'UTC')::date;
    this_month := date_trunc('month', today)::date;
    -- After a small step back over midnight the later window stays.
    IF known.day NOT BETWEEN today AND today + 1 THEN
        known.day := today;
        known.day_calls := 0;
    END IF;
    IF known.month NOT BETWEEN this_month AND this_month + 31 THEN
        known.month := this_month;
        known.month_calls := 0;
        known.usd := 0;
    END IF;
    IF known.identity <> which THEN
        known.identity := which;
        known.state := 'ready';
        known.until := NULL;
        known.reason := NULL;
        known.trips := 0;
        known.probe_until := NULL;
        known.version := 0;
    END IF;
    -- A used-up quota lasts a month at most. An open or disabled provider is called again within a day.
    known.until := bounded_until(
        known.until, CASE known.state WHEN 'exhausted' THEN interval '36 days' ELSE interval '2 days' END, moment);
    known.probe_until := bounded_until(known.probe_until, interval '1 hour', moment);
    RETURN known;
END $$;

-- Takes the right to make one call now, or returns why not and for how many seconds (`wait`): the breaker is open, a quota
-- is used up, the call costs more than the rest of the cap, or the rate has no call yet. After `period` seconds the next
-- call may follow, or up to `tolerance` seconds earlier if this one is that late. The price counts as spent until `end_call`
-- refunds it. A limit that is NULL does not exist.
CREATE FUNCTION take_call(
    who text, which text, period double precision, tolerance double precision, probe_time double precision,
    day_limit bigint, month_limit bigint, price numeric, cap numeric,
    OUT decision text, OUT wait double precision, OUT taken_at timestamptz, OUT is_probe boolean,
    OUT state text, OUT until_in double precision, OUT reason text, OUT trips integer, OUT version bigint
) LANGUAGE plpgsql AS $$
DECLARE
    known  provider_quota;
    money  provider_quota;
    moment timestamptz;
BEGIN
    known := provider_row(who, which);
    IF price > 0 THEN
        money := provider_row('*', '');
    END IF;
    moment := clock_timestamp();
    state := known.state;
    reason := known.reason;
    trips := known.trips;
    version := known.version;
    is_probe := known.state <> 'ready';
    until_in := extract(epoch FROM greatest(known.until, known.probe_until) - moment);
    -- The clock was set back.
    known.next_at := bounded_until(known.next_at, make_interval(secs => period + 60), moment);
    IF is_probe AND until_in > 0 THEN
        decision := 'breaker';
        wait := until_in;
    ELSIF day_limit <= known.day_calls THEN
        decision := 'day';
        wait := extract(epoch FROM ((known.day + 1)::timestamp AT TIME ZONE 'UTC') - moment);
    ELSIF month_limit <= known.month_calls THEN
        decision := 'month';
    ELSIF money.usd + price > cap THEN
        decision := 'cap';
    ELSIF known.next_at > moment THEN
        decision := 'rate';
        wait := extract(epoch FROM known.next_at - moment);
    ELSE
        decision := 'taken';
        taken_at := moment;
        IF is_probe THEN
            version := version + 1;
            known.probe_until := moment + make_interval(secs => probe_time);
        END IF;
        UPDATE provider_quota q SET
            next_at = greatest(known.next_at, moment - make_interval(secs => tolerance)) + make_interval(secs => period),
            day = known.day, day_calls = known.day_calls + 1, month = known.month, month_calls = known.month_calls + 1,
            probe_until = CASE WHEN is_probe THEN known.probe_until ELSE q.probe_until END,
            version = CASE WHEN is_probe THEN take_call.version ELSE q.version END, updated_at = moment
            WHERE q.provider = who;
        UPDATE provider_quota q SET month = money.month, usd = money.usd + price, updated_at = moment
            WHERE q.provider = money.provider;
    END IF;
    IF decision IN ('month', 'cap') THEN
        wait := extract(epoch FROM
            ((date_trunc('month', moment AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC') - moment);
    END IF;
END $$;

-- Records the end of a call that was taken at `taken`, when the breaker had the version `seen`. An unused call counts in no
-- quota. `refund` is the part of the price that was not billed; it is negative if the call cost more.
--
-- `outcome` is a state that the breaker enters for `cooldown` seconds, or 'ready' if the probe succeeded, or 'unknown' if the
-- probe ended without an answer. NULL changes nothing. A cool-down that another process began is never shortened, and a
-- report that does not know of it is no second opening.
CREATE FUNCTION end_call(
    who text, which text, taken timestamptz, seen bigint, unused boolean, refund numeric,
    outcome text, cooldown double precision, why text,
    OUT state text, OUT until_in double precision, OUT reason text, OUT trips integer, OUT version bigint
) LANGUAGE plpgsql AS $$
DECLARE
    known    provider_quota := provider_row(who, which);
    moment   timestamptz := clock_timestamp();
    ends     timestamptz := moment + make_interval(secs => cooldown);
    is_fresh boolean := known.state = 'ready' OR known.version = seen;
    changes  boolean := CASE WHEN outcome IN ('ready', 'unknown') THEN known.version = seen
        WHEN outcome IS NOT NULL THEN is_fresh OR ends > known.until ELSE false END;
BEGIN
    IF unused AND known.day = (taken AT TIME ZONE 'UTC')::date THEN
        known.day_calls := greatest(known.day_calls - 1, 0);
    END IF;
    IF unused AND known.month = date_trunc('month', taken AT TIME ZONE 'UTC')::date THEN
        known.month_calls := greatest(known.month_calls - 1, 0);
    END IF;
    UPDATE provider_quota q SET day = known.day, day_calls = known.day_calls, month = known.month,
        month_calls = known.month_calls, updated_at = moment WHERE q.provider = who;
    IF changes THEN
        IF outcome = 'ready' THEN
            known.trips := 0;
        ELSIF outcome <> 'unknown' AND is_fresh THEN
            known.trips := known.trips + 1;
        END IF;
        UPDATE provider_quota q SET identity = which, trips = known.trips, version = q.version + 1,
            state = CASE outcome WHEN 'unknown' THEN known.state ELSE outcome END,
            until = CASE outcome WHEN 'unknown' THEN known.until ELSE ends END,
            reason = CASE outcome WHEN 'unknown' THEN known.reason ELSE why END,
            probe_until = CASE WHEN is_fresh THEN NULL ELSE known.probe_until END
            WHERE q.provider = who RETURNING * INTO known;
    END IF;
    IF refund <> 0 THEN
        UPDATE provider_quota q SET usd = greatest(q.usd - refund, 0), updated_at = moment
            WHERE q.provider = '*' AND q.month = date_trunc('month', taken AT TIME ZONE 'UTC')::date;
    END IF;
    state := known.state;
    reason := known.reason;
    trips := known.trips;
    version := known.version;
    until_in := extract(epoch FROM greatest(known.until, known.probe_until) - moment);
END $$;

-- Calls, errors and cost of a provider per UTC day.
CREATE TABLE provider_usage (
    provider text NOT NULL,
    day      date NOT NULL,
    requests bigint NOT NULL DEFAULT 0,
    errors   bigint NOT NULL DEFAULT 0,
    usd      double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (provider, day)
);

-- The same per hour.
CREATE TABLE provider_hours (
    provider text NOT NULL,
    hour     timestamptz NOT NULL,
    requests bigint NOT NULL DEFAULT 0,
    errors   bigint NOT NULL DEFAULT 0,
    usd      double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (provider, hour)
);

-- === Caches ===

-- Recent answers of providers. The key is a hash of the query; the query is not stored.
CREATE TABLE answers (
    key        text PRIMARY KEY,
    provider   text NOT NULL,
    answer     jsonb NOT NULL,
    cached_at  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX answers_expiry ON answers (expires_at);

-- Recent answers of fact-check lookups, by claim.
CREATE TABLE fact_check_cache (
    normalized_claim text NOT NULL,
    provider         text NOT NULL,
    result_json      jsonb NOT NULL,
    cached_at        timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    PRIMARY KEY (normalized_claim, provider)
);

CREATE INDEX fact_check_cache_expiry ON fact_check_cache (expires_at);

-- === HTTP access and sessions ===

-- Access tokens that were created at run time. Only a digest is stored: a token is shown once, when it is created.
CREATE TABLE access_tokens (
    id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                text NOT NULL,
    digest              bytea NOT NULL UNIQUE,
    scope               text NOT NULL CHECK (scope IN ('read', 'check', 'admin')),
    -- NULL: the server's limit for all clients.
    requests_per_minute integer CHECK (requests_per_minute > 0),
    created_by          text NOT NULL,
    created_at          timestamptz NOT NULL,
    expires_at          timestamptz,
    revoked_at          timestamptz,
    used_at             timestamptz
);

-- The name of a revoked token can be used again. The audit log distinguishes tokens by id.
CREATE UNIQUE INDEX access_tokens_name ON access_tokens (name) WHERE revoked_at IS NULL;

-- Sessions at the web UI.
CREATE TABLE http_sessions (
    -- SHA-256 of the secret in the cookie. The secret itself is not stored.
    digest           bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    -- Forms of its pages contain it.
    csrf_token       text NOT NULL,
    scope            text NOT NULL CHECK (scope IN ('read', 'check', 'admin')),
    -- The token that the session began with. NULL: a token of the configuration, which is not stored.
    token_id         bigint REFERENCES access_tokens ON DELETE CASCADE,
    -- Set for a token of the configuration: its HMAC-SHA256, keyed with the secret in the cookie. A changed token changes
    -- the value, which ends the session. Neither this table nor the cookie alone can confirm a guessed token.
    server_token_mac bytea CHECK (octet_length(server_token_mac) = 32),
    created_at       timestamptz NOT NULL DEFAULT now(),
    expires_at       timestamptz NOT NULL,
    CHECK ((token_id IS NULL) <> (server_token_mac IS NULL))
);

CREATE INDEX http_sessions_token_id ON http_sessions (token_id);
CREATE INDEX http_sessions_expires_at ON http_sessions (expires_at);

-- === Audit ===

-- Actions of users, append-only. Edits of the domain lists are in `domain_rule_changes`, with both values.
CREATE TABLE audit_log (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    who     text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    detail  jsonb
);
