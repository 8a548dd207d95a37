-- What all processes together may shed of an overloaded queue (ENRICHMENT_OVERLOAD defer and drop): each of them sees the
-- whole excess, and would shed all of it.

CREATE TABLE load_shedding (
    queue   text PRIMARY KEY,
    -- Items that may still be shed; set anew by whoever counts the queue.
    allowed bigint NOT NULL CHECK (allowed >= 0),
    -- Items shed so far; only grows.
    shed    bigint NOT NULL,
    set_at  timestamptz NOT NULL
);
