-- Items of other channels that are nearest in meaning. The index brings the nearest of all items and the conditions are looked at
-- afterwards: where the item's own channel told its story forty times, or old items lay nearer, none of another channel was left.
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
