-- How often a message's holder ended without settling it: one that ends its process each time must not be handed out for
-- ever. `deliveries` counts every hand-out, retries and clean hand-backs among them.
ALTER TABLE queue_messages ADD COLUMN IF NOT EXISTS lost integer NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS queue_messages_taken ON queue_messages (taken_at) WHERE taken_by IS NOT NULL;
