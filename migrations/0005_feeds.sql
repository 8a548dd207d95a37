-- Feeds of the trusted sites, and what they published lately.

CREATE TABLE feeds (
    url           text PRIMARY KEY,
    -- Host of the site it was found at or belongs to.
    host          text NOT NULL,
    title         text,
    language      text,
    etag          text,
    last_modified text,
    -- Not read before.
    next_poll_at  timestamptz NOT NULL,
    -- Set while a process reads it; free again when that time has passed.
    claimed_until timestamptz,
    polled_at     timestamptz,
    -- When it was last read with success.
    read_at       timestamptz,
    failures      integer NOT NULL DEFAULT 0,
    last_error    text,
    -- The site said that it is gone for good.
    gone          boolean NOT NULL DEFAULT false
);

CREATE INDEX feeds_due ON feeds (next_poll_at) WHERE NOT gone;

-- Sites whose home page was looked at for feeds.
CREATE TABLE feed_sites (
    host         text PRIMARY KEY,
    next_look_at timestamptz NOT NULL
);

CREATE TABLE feed_entries (
    url          text PRIMARY KEY,
    feed_url     text NOT NULL,
    host         text NOT NULL,
    title        text NOT NULL,
    summary      text NOT NULL,
    language     text,
    published_at timestamptz,
    seen_at      timestamptz NOT NULL,
    -- Stems of title and summary, each once; those of the title, and of names, count for more.
    stems        text[] NOT NULL,
    strong       text[] NOT NULL
);

CREATE INDEX feed_entries_stems ON feed_entries USING gin (stems);
CREATE INDEX feed_entries_age ON feed_entries (coalesce(published_at, seen_at));
