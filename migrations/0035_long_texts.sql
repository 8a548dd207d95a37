-- A page's URL is unique at any length. The B-tree index of before refused URLs of more than 2,704 bytes, and with the URL the
-- whole item that had found the page.
--
-- The hash index keeps four bytes of each URL, compares the URL itself, and serves `url = ANY (...)` as the old index did. No
-- statement of program 33 or later names the old constraint: pages are inserted with ON CONFLICT DO NOTHING or ON CONFLICT (id).
-- The build of the index locks the table: a few seconds for a million pages.
UPDATE store_settings SET value = '33' WHERE key = 'oldest_program';

ALTER TABLE evidence_sources
    DROP CONSTRAINT evidence_sources_url_key,
    ADD CONSTRAINT evidence_sources_url_once EXCLUDE USING hash (url WITH =);

-- As in 0027, cut at the length of the longest host name (RFC 1035: 253), since two indexes hold the result.
CREATE OR REPLACE FUNCTION backward_host(address text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(reverse(split_part(split_part(address, '/', 3), ':', 1)), 255)
$$;
