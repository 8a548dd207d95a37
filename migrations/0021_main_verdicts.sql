-- The verdict of an item's main claim stands beside the item, so that lists by verdict and the overview need not read whole
-- results. A trigger takes it from the result, so that a program of the version before goes on beside this one. (A generated
-- column would do, but has the table written anew under a lock, after which the embedded store does not survive a crash.)

CREATE OR REPLACE FUNCTION main_claim(result jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT claim FROM jsonb_array_elements(CASE jsonb_typeof(result->'claims') WHEN 'array' THEN result->'claims' END)
        WITH ORDINALITY AS claims (claim, position)
    ORDER BY (claim->>'claim_id' = result->>'main_claim') DESC NULLS LAST, position LIMIT 1
$$;

ALTER TABLE items ADD COLUMN IF NOT EXISTS verdict text, ADD COLUMN IF NOT EXISTS decisive boolean;

CREATE OR REPLACE FUNCTION items_main_verdict() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim jsonb := main_claim(NEW.result);
BEGIN
    NEW.verdict := claim->>'verdict';
    NEW.decisive := (claim->>'decisive')::boolean;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER items_main_verdict BEFORE INSERT OR UPDATE OF result ON items
    FOR EACH ROW EXECUTE FUNCTION items_main_verdict();

UPDATE items SET verdict = claim->>'verdict', decisive = (claim->>'decisive')::boolean
    FROM (SELECT item_id, main_claim(result) AS claim FROM items) AS main WHERE main.item_id = items.item_id;

CREATE INDEX IF NOT EXISTS items_verdict ON items (verdict, enriched_at DESC, item_id DESC);
