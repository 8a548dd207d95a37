-- What the pages and the API of people need: tokens with names, who changed what, what an item's answers were before they
-- were judged again, the item as it was sent, and what providers were asked hour by hour. Everything is added: a program of
-- the version before goes on beside it.

-- Only a digest is kept: a token is shown once, when it is made.
CREATE TABLE IF NOT EXISTS access_tokens (
    id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                text NOT NULL,
    digest              bytea NOT NULL UNIQUE,
    scope               text NOT NULL CHECK (scope IN ('read', 'check', 'admin')),
    -- NULL: as often as any client of the server.
    requests_per_minute integer CHECK (requests_per_minute > 0),
    created_by          text NOT NULL,
    created_at          timestamptz NOT NULL,
    expires_at          timestamptz,
    revoked_at          timestamptz,
    used_at             timestamptz
);

-- A name is free again once its token was revoked; the record keeps both apart by their ids.
CREATE UNIQUE INDEX IF NOT EXISTS access_tokens_name ON access_tokens (name) WHERE revoked_at IS NULL;

-- Append only. Edits of the domain lists have a record of their own, with both values: domain_rule_changes.
CREATE TABLE IF NOT EXISTS audit_log (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    who     text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    detail  jsonb
);

-- An answer that a later one took the place of.
CREATE TABLE IF NOT EXISTS verdict_history (
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
    -- When the later answer came.
    replaced_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (item_id, replaced_at, position)
);

-- The item as it was sent, without a text that stands in `text` already: what judging again needs. NULL in rows of programs
-- before this one, whose items are put together from their columns.
ALTER TABLE items ADD COLUMN IF NOT EXISTS request jsonb;

CREATE TABLE IF NOT EXISTS provider_hours (
    provider text NOT NULL,
    hour     timestamptz NOT NULL,
    requests bigint NOT NULL DEFAULT 0,
    errors   bigint NOT NULL DEFAULT 0,
    usd      double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (provider, hour)
);
