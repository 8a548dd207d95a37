-- Sessions of people at the web pages. A program of the version before keeps its sessions in signed cookies and does not read this
-- table; the two kinds of cookie are not compatible, so people sign in again after the upgrade.

-- One row for each value of the session cookie. A rotation adds a row and lets the earlier one expire within a minute, so that
-- requests which are under way with the earlier value are still answered. All times are the database's.
CREATE TABLE IF NOT EXISTS http_sessions (
    -- SHA-256 of the secret in the cookie. The secret itself is not stored.
    digest           bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    -- The same in all rows of a session; forms of its pages carry it.
    csrf_token       text NOT NULL,
    scope            text NOT NULL CHECK (scope IN ('read', 'check', 'admin')),
    -- The token that the session began with. NULL: one of the server's own tokens, which are not stored.
    token_id         bigint REFERENCES access_tokens ON DELETE CASCADE,
    -- Of a session that began with one of the server's own tokens: HMAC-SHA256 of that token, keyed with the secret in the cookie.
    -- Another token gives another value, which ends the session. Neither this table nor the cookie alone can confirm a guess.
    server_token_mac bytea CHECK (octet_length(server_token_mac) = 32),
    created_at       timestamptz NOT NULL DEFAULT now(),
    rotated_at       timestamptz NOT NULL DEFAULT now(),
    expires_at       timestamptz NOT NULL,
    -- A later row has taken the place of this one.
    is_replaced      boolean NOT NULL DEFAULT false,
    CHECK ((token_id IS NULL) <> (server_token_mac IS NULL))
);

CREATE INDEX IF NOT EXISTS http_sessions_csrf_token ON http_sessions (csrf_token);
CREATE INDEX IF NOT EXISTS http_sessions_token_id ON http_sessions (token_id);
CREATE INDEX IF NOT EXISTS http_sessions_expires_at ON http_sessions (expires_at);
