-- What a page's server gave along to ask whether the page has changed since (RFC 9110, 8.8). Both as sent; null where it
-- gave none. They belong to the address the page really came from: final_url, or url where that is null.
ALTER TABLE evidence_sources ADD COLUMN IF NOT EXISTS etag text;
ALTER TABLE evidence_sources ADD COLUMN IF NOT EXISTS last_modified text;
