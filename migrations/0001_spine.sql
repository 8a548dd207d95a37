-- The whole store of the first release. Forward only: a later change is a new file.
-- Vectors have 384 dimensions, the default embedder's; `store_settings` remembers it and a start with another
-- embedder is refused with the mend.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE store_settings (
    key        text PRIMARY KEY,
    value      jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO store_settings (key, value) VALUES ('embedding_dimension', '384');

CREATE TYPE fact_check_tier AS ENUM ('high', 'medium', 'low');

CREATE TABLE items (
    item_id          text PRIMARY KEY,
    channel          text,
    title            text,
    text             text NOT NULL,
    url              text,
    language         text,
    published_at     timestamptz,
    importance       double precision,
    cluster_id       text,
    cluster_members  jsonb NOT NULL DEFAULT '[]',
    content_hash     text NOT NULL,
    embedding        vector(384),
    -- One bit a dimension: an index a thirtieth of the size, and short to compare; its hits are ranked by the exact cosine.
    embedding_bits   bit(384) GENERATED ALWAYS AS (binary_quantize(embedding)::bit(384)) STORED,
    status           text NOT NULL CHECK (status IN ('complete', 'degraded', 'skipped', 'failed')),
    degraded         text[] NOT NULL DEFAULT '{}',
    fact_check_score double precision,
    fact_check_tier  fact_check_tier,
    fact_check_notes jsonb NOT NULL DEFAULT '[]',
    -- The result as published; the claim and evidence tables hold the same figures row by row.
    result           jsonb NOT NULL,
    evaluated_at     timestamptz NOT NULL,
    enriched_at      timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL
);

CREATE INDEX items_recent ON items (enriched_at DESC, item_id DESC);
CREATE INDEX items_expiry ON items (expires_at);
CREATE INDEX items_cluster ON items (cluster_id) WHERE cluster_id IS NOT NULL;
CREATE INDEX items_embedding ON items USING hnsw (embedding_bits bit_hamming_ops);

-- What has been done of an item: the idempotency key (item_id, phase, content_hash).
CREATE TABLE item_phases (
    item_id      text NOT NULL REFERENCES items ON DELETE CASCADE,
    phase        text NOT NULL CHECK (phase IN ('phase1', 'phase2')),
    content_hash text NOT NULL,
    degraded     boolean NOT NULL,
    message_id   text,
    done_at      timestamptz NOT NULL,
    PRIMARY KEY (item_id, phase)
);

CREATE TABLE claims (
    claim_id             text PRIMARY KEY,
    item_id              text NOT NULL REFERENCES items ON DELETE CASCADE,
    position             integer NOT NULL,
    source               integer NOT NULL DEFAULT 0,
    claim_text           text NOT NULL,
    kind                 text NOT NULL CHECK (kind IN ('factual', 'opinion', 'mixed', 'ambiguous')),
    verdict              text NOT NULL CHECK (verdict IN
        ('supported', 'refuted', 'contested', 'misleading', 'outdated', 'not_enough_evidence', 'not_verifiable')),
    decisive             boolean NOT NULL,
    confidence           double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    score                integer CHECK (score BETWEEN 0 AND 100),
    tier                 fact_check_tier NOT NULL,
    agreement            double precision NOT NULL,
    contradiction        boolean NOT NULL,
    judge                text NOT NULL,
    features             jsonb NOT NULL,
    notes                jsonb NOT NULL DEFAULT '[]',
    justification        text NOT NULL,
    citations            integer[] NOT NULL DEFAULT '{}',
    correction           jsonb,
    -- What the verdict depends on besides the evidence, so that it can be computed again from here alone.
    claim_date           timestamptz,
    confidence_threshold double precision NOT NULL,
    evaluated_at         timestamptz NOT NULL
);

CREATE INDEX claims_item ON claims (item_id, position);

CREATE TABLE item_fact_checks (
    item_id      text NOT NULL REFERENCES items ON DELETE CASCADE,
    claim_id     text NOT NULL REFERENCES claims ON DELETE CASCADE,
    claim        text NOT NULL,
    relation     text NOT NULL CHECK (relation IN ('same', 'opposite', 'related', 'other')),
    url          text NOT NULL,
    publisher    text NOT NULL,
    title        text,
    claimant     text,
    rating       text NOT NULL,
    rating_class text NOT NULL,
    language     text,
    review_date  timestamptz,
    similarity   double precision NOT NULL,
    matched_at   timestamptz NOT NULL,
    claim_hash   text GENERATED ALWAYS AS (md5(claim)) STORED,
    PRIMARY KEY (claim_id, url, claim_hash)
);

CREATE INDEX item_fact_checks_item ON item_fact_checks (item_id);

CREATE TABLE fact_check_cache (
    normalized_claim text NOT NULL,
    provider         text NOT NULL,
    result_json      jsonb NOT NULL,
    cached_at        timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    PRIMARY KEY (normalized_claim, provider)
);

CREATE INDEX fact_check_cache_expiry ON fact_check_cache (expires_at);

CREATE TABLE evidence_sources (
    id                text PRIMARY KEY,
    url               text NOT NULL UNIQUE,
    domain            text NOT NULL,
    title             text,
    published_at      timestamptz,
    language          text,
    raw_text          text NOT NULL DEFAULT '',
    source_type       text NOT NULL,
    content_hash      text,
    independent_group text,
    canonical         text,
    -- Where the address led to, when that is elsewhere: credibility and deny rules go by it.
    final_url         text,
    based_on          text[] NOT NULL DEFAULT '{}',
    publisher         text,
    extraction_failed boolean NOT NULL DEFAULT false,
    failure           text,
    fetched_at        timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL
);

CREATE INDEX evidence_sources_expiry ON evidence_sources (expires_at);

CREATE TABLE evidence_claims (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    evidence_id        text NOT NULL REFERENCES evidence_sources ON DELETE CASCADE,
    claim_text         text NOT NULL,
    claim_hash         text NOT NULL,
    embedding          vector(384) NOT NULL,
    embedding_bits     bit(384) GENERATED ALWAYS AS (binary_quantize(embedding)::bit(384)) STORED,
    entities           jsonb NOT NULL DEFAULT '[]',
    access_count       integer NOT NULL DEFAULT 0,
    verification_count integer NOT NULL DEFAULT 0,
    avg_relevance      double precision NOT NULL DEFAULT 0,
    last_accessed      timestamptz,
    UNIQUE (evidence_id, claim_hash)
);

CREATE INDEX evidence_claims_hash ON evidence_claims (claim_hash);
CREATE INDEX evidence_claims_embedding ON evidence_claims USING hnsw (embedding_bits bit_hamming_ops);

CREATE TABLE item_evidence (
    item_id           text NOT NULL REFERENCES items ON DELETE CASCADE,
    claim_id          text NOT NULL REFERENCES claims ON DELETE CASCADE,
    evidence_id       text NOT NULL REFERENCES evidence_sources,
    agreement_score   double precision NOT NULL,
    contradiction     boolean NOT NULL,
    stance            text NOT NULL CHECK (stance IN ('supports', 'contradicts', 'neutral')),
    entail            double precision NOT NULL,
    contradict        double precision NOT NULL,
    neutral           double precision NOT NULL,
    relevance         double precision NOT NULL,
    quality           double precision NOT NULL,
    credibility       double precision NOT NULL,
    freshness         double precision NOT NULL,
    specificity       double precision NOT NULL,
    num_ok            boolean,
    independent_group text NOT NULL,
    source_type       text NOT NULL,
    origin            text NOT NULL,
    provider          text NOT NULL,
    out_of_context    boolean NOT NULL DEFAULT false,
    passage           text NOT NULL,
    passage_hash      text NOT NULL,
    rank              integer NOT NULL,
    matched_at        timestamptz NOT NULL,
    PRIMARY KEY (claim_id, evidence_id, passage_hash)
);

CREATE INDEX item_evidence_item ON item_evidence (item_id);
CREATE INDEX item_evidence_source ON item_evidence (evidence_id);

-- No decisive word without evidence: a verdict that says something must have a passage of that stance, or a
-- fact-check that says it, in the same transaction. Checked at commit, so the order of inserts is free.
CREATE FUNCTION claim_has_evidence(claim claims) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE claim.verdict
        WHEN 'supported' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.stance = 'supports')
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class IN ('true', 'mostly_true'))
                  OR (f.relation = 'opposite' AND f.rating_class = 'false')))
        WHEN 'refuted' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.stance = 'contradicts')
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class = 'false')
                  OR (f.relation = 'opposite' AND f.rating_class IN ('true', 'mostly_true'))))
        WHEN 'outdated' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.contradict >= 0.5)
        WHEN 'misleading' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.stance = 'supports')
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation = 'same' AND f.rating_class IN ('mixed', 'misleading'))
        WHEN 'contested' THEN
            -- The rule's own threshold: a passage at 0.5 speaks against a claim before it contradicts it outright.
            (EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.stance = 'supports')
             AND EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.contradict >= 0.5))
            OR (SELECT count(*) FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation IN ('same', 'opposite') AND f.rating_class IN
                    ('true', 'mostly_true', 'mixed', 'misleading', 'false')) >= 2
        ELSE true
    END
$$;

CREATE FUNCTION refuse_claim_without_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim claims;
BEGIN
    -- The row as it stands at commit: it may have been replaced or deleted since the trigger was queued.
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

CREATE TABLE domain_rules (
    domain      text PRIMARY KEY,
    list        text NOT NULL CHECK (list IN ('allow', 'deny')),
    credibility double precision CHECK (credibility BETWEEN 0 AND 1),
    source_type text,
    why         text,
    updated_by  text NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- Append only. Its highest id is the version every process compares with its own.
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

CREATE TABLE provider_usage (
    provider text NOT NULL,
    day      date NOT NULL,
    requests bigint NOT NULL DEFAULT 0,
    errors   bigint NOT NULL DEFAULT 0,
    usd      double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (provider, day)
);

-- The fleet's windows: how much of a quota is used, and until when a provider is not to be asked.
CREATE TABLE provider_quota (
    provider     text NOT NULL,
    time_window  text NOT NULL CHECK (time_window IN ('day', 'month')),
    starts_at    timestamptz NOT NULL,
    used         bigint NOT NULL DEFAULT 0,
    usd          double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (provider, time_window, starts_at)
);

-- Results and signals not yet confirmed by the broker.
CREATE TABLE outbox (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- NULL: the default exchange, to a reply queue.
    exchange       text,
    routing_key    text NOT NULL,
    body           text NOT NULL,
    correlation_id text,
    message_id     text NOT NULL,
    attempts       integer NOT NULL DEFAULT 0,
    -- Set while a process publishes it; free again when that time has passed.
    locked_until   timestamptz,
    created_at     timestamptz NOT NULL
);

-- The queue of embedded mode.
CREATE TABLE queue_messages (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue          text NOT NULL,
    body           bytea NOT NULL,
    attempts       integer NOT NULL DEFAULT 0,
    -- How often it was taken, for whatever reason it came back.
    deliveries     integer NOT NULL DEFAULT 0,
    message_id     text,
    reply_to       text,
    correlation_id text,
    enqueued_at    timestamptz NOT NULL,
    available_at   timestamptz NOT NULL,
    -- Set while a worker holds it. What a dead process left is free at the next start of the embedded store, whose folder
    -- has one owner, and after a lease where several processes share a server.
    taken_by       text,
    taken_at       timestamptz,
    last_error     text
);

CREATE INDEX queue_messages_ready ON queue_messages (available_at, id);

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
    failed_at      timestamptz NOT NULL
);
