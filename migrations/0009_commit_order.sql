-- Which of two runs stands where two processes worked on one item at the same time: how far the stored one went, and when
-- it began by this server's clock. Null where a program before this migration wrote the row. Two texts are told apart by
-- when their messages were sent, where that is known of both: one that was put off begins after its edit is done.
ALTER TABLE items ADD COLUMN IF NOT EXISTS phase text;
ALTER TABLE items ADD COLUMN IF NOT EXISTS began_at timestamptz;
ALTER TABLE items ADD COLUMN IF NOT EXISTS sent_at timestamptz;

-- A program before this migration replaces the text and leaves these columns as they are. They say nothing of its text.
-- (A later program writes another began_at each time.)
CREATE OR REPLACE FUNCTION forget_commit_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.phase := NULL;
    NEW.began_at := NULL;
    NEW.sent_at := NULL;
    RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS forget_commit_order ON items;
CREATE TRIGGER forget_commit_order BEFORE UPDATE ON items FOR EACH ROW
    WHEN (NEW.content_hash IS DISTINCT FROM OLD.content_hash AND NEW.began_at IS NOT DISTINCT FROM OLD.began_at)
    EXECUTE FUNCTION forget_commit_order();

-- The floor: a program runs on a schema that is newer than itself if its own last migration is not before this one. A
-- migration that an earlier program cannot live with raises it, in the same file.
INSERT INTO store_settings (key, value) VALUES ('oldest_program', '8') ON CONFLICT DO NOTHING;
