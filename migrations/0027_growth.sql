-- Items of other channels that are nearest in meaning. The index brings the nearest of all items and the conditions are looked at
-- afterwards: where the item's own channel had published its story forty times, or old items were nearer, no other channel was found.
-- Within this function the index goes on until enough are found that fit, where the extension can do so (from 0.8 on), and looks
-- at 2,000 at most: a story that others tell lies nearer than that.
-- A program of the version before asks by a statement of its own and goes on beside this one.
CREATE OR REPLACE FUNCTION similar_items(
    given vector, made_by text, own_channel text, own_item text, since timestamptz, at_least double precision, most bigint
) RETURNS TABLE (item_id text, channel text, similarity double precision) LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (ranked.channel) ranked.item_id, ranked.channel, ranked.similarity FROM (
        SELECT near.item_id, near.channel, 1 - (near.embedding <=> given) AS similarity FROM (
            SELECT one.item_id, one.channel, one.embedding FROM items AS one
            WHERE one.channel IS NOT NULL AND lower(ltrim(trim(one.channel), '@')) <> own_channel AND one.item_id <> own_item
                AND one.enriched_at >= since AND one.embedder = made_by
            ORDER BY one.embedding_bits <~> binary_quantize(given)::bit(384) LIMIT 50) AS near) AS ranked
    WHERE ranked.similarity >= at_least
    ORDER BY ranked.channel, ranked.similarity DESC LIMIT most
$$;

DO $$
DECLARE
    version integer[] := (SELECT string_to_array(substring(extversion FROM '^[0-9.]+'), '.')::integer[]
        FROM pg_extension WHERE extname = 'vector');
BEGIN
    -- Settings of an extension are known once something of it was used.
    PERFORM '[1]'::vector;
    ALTER FUNCTION similar_items SET hnsw.ef_search = 50;
    IF version >= ARRAY[0, 8] THEN
        ALTER FUNCTION similar_items SET hnsw.iterative_scan = 'relaxed_order';
        ALTER FUNCTION similar_items SET hnsw.max_scan_tuples = 2000;
    END IF;
END $$;

-- Facts that come with the program, which each start looks for.
CREATE INDEX IF NOT EXISTS evidence_sources_kb ON evidence_sources (id) WHERE origin = 'kb';

-- Sentences that another embedder embedded, which each start looks for as well.
CREATE INDEX IF NOT EXISTS evidence_claims_embedder ON evidence_claims (embedder, id);

-- Pages of a site with its subdomains, which an edit of the lists is about. Hosts are kept from their end, so that a site and what
-- is below it stand together.
CREATE OR REPLACE FUNCTION backward_host(address text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT reverse(split_part(split_part(address, '/', 3), ':', 1))
$$;
CREATE INDEX IF NOT EXISTS evidence_sources_host ON evidence_sources ((backward_host(url)) COLLATE "C");
CREATE INDEX IF NOT EXISTS evidence_sources_final_host ON evidence_sources ((backward_host(final_url)) COLLATE "C")
    WHERE final_url IS NOT NULL;

-- Ids of the pages that stand, or led to one, under these domains. A slash follows the dot in the order of signs.
CREATE OR REPLACE FUNCTION pages_under(domains text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT page.id FROM unnest(domains) AS edited(site) JOIN evidence_sources AS page
        ON backward_host(page.url) COLLATE "C" = reverse(site)
        OR (backward_host(page.url) COLLATE "C" > reverse(site) || '.' AND backward_host(page.url) COLLATE "C" < reverse(site) || '/')
    UNION
    SELECT page.id FROM unnest(domains) AS edited(site) JOIN evidence_sources AS page ON page.final_url IS NOT NULL AND (
        backward_host(page.final_url) COLLATE "C" = reverse(site)
        OR (backward_host(page.final_url) COLLATE "C" > reverse(site) || '.'
            AND backward_host(page.final_url) COLLATE "C" < reverse(site) || '/'))
$$;
