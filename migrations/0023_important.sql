-- Important items are looked for before all others.
CREATE INDEX IF NOT EXISTS queue_messages_important ON queue_messages (available_at, id) WHERE queue = 'enrichment_important';
