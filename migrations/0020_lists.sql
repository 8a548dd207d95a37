-- What narrows the list of items finds its rows by an index: with 100,000 items stored a search for words read every text, and
-- "with a contradiction" every claim. Only indexes: a program of the version before goes on beside them. While the one over
-- words is built, 17 seconds for 100,000 items on a busy machine, commits wait.

-- Few claims are contradicted, so the others pay nothing for it.
CREATE INDEX IF NOT EXISTS claims_contradicted ON claims (item_id) WHERE contradiction;

CREATE INDEX IF NOT EXISTS items_channel ON items (channel, enriched_at DESC, item_id DESC);

-- The words of an item, as they stand. Signs part words, so that hosts and hyphenated words are found by each of their parts; a
-- text is read up to a length whose words always fit in a tsvector, since one that did not could never be committed.
CREATE OR REPLACE FUNCTION item_words(title text, body text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector('pg_catalog.simple', translate(left(coalesce(title, '') || ' ' || body, 100000),
        '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)))
$$;

-- Words wait in a short list until they are sorted in: a long one would make a search slow, and now and then a commit.
CREATE INDEX IF NOT EXISTS items_words ON items USING gin (item_words(title, text)) WITH (gin_pending_list_limit = 256);
