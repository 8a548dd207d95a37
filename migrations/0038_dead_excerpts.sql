-- A message that is refused for its size leaves an excerpt among the dead letters. Its whole length is kept here; NULL says that
-- `body` is the whole message. A program of the version before writes and reads whole messages, and leaves the column alone.
ALTER TABLE dead_messages ADD COLUMN IF NOT EXISTS original_bytes bigint;
