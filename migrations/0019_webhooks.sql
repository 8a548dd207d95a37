-- Results and signals on their way to web servers of the operator's, one row for each that wants it. Beside `outbox`, which
-- is the broker's: a program of the version before would send what it finds there to the broker.
CREATE TABLE IF NOT EXISTS webhook_messages (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The name of the endpoint in the configuration.
    webhook      text NOT NULL,
    event        text NOT NULL,
    -- The same at every try, so that the receiver knows a copy.
    message_id   text NOT NULL,
    body         text NOT NULL,
    created_at   timestamptz NOT NULL,
    -- From when on the time is counted after which it is given up: `created_at`, or when a person sent it again.
    tried_since  timestamptz NOT NULL DEFAULT now(),
    attempts     integer NOT NULL DEFAULT 0,
    next_try_at  timestamptz,
    locked_until timestamptz,
    last_error   text,
    -- Set when it was given up; a person sends it again or drops it.
    dead_at      timestamptz
);

-- In the order they are taken; those given up lie outside.
CREATE INDEX IF NOT EXISTS webhook_messages_due ON webhook_messages
    (webhook, (coalesce(next_try_at, '-infinity'::timestamptz)), id) WHERE dead_at IS NULL;
