-- A message that the broker refuses waits by itself, longer each time, and holds up none behind it. `attempts` counts the
-- refusals; a process of the version before this one counts none and sends what it finds.
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS next_try_at timestamptz;
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS last_error text;
-- Set when it was refused so often that a person has to look.
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS parked_at timestamptz;

-- Messages in the order they are taken: what was never refused, then what is due again. Those put off lie behind.
CREATE INDEX IF NOT EXISTS outbox_due ON outbox ((coalesce(next_try_at, '-infinity'::timestamptz)), id);
