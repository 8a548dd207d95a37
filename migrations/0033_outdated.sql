-- A result that is written late: while it was made, an edit of the domain lists, other settings or other models took hold, and whoever
-- looked for what rests on the old ones did not see it yet. It is due from its first moment. A program of the version before writes
-- its results as it did.

-- Writers of results hold this lock, shared, until they commit. Whoever changes what results are judged by waits for them in its own
-- commit, and holds nobody up beyond that: results written before are there for who looks next, and those written after see the
-- change. One that takes longer than five seconds is not waited for: nobody else could write meanwhile.
CREATE OR REPLACE FUNCTION begin_result() RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock_shared(hashtextextended('corroborate results', 33))
$$;

CREATE OR REPLACE FUNCTION await_results() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('corroborate results', 33));
    RETURN NULL;
EXCEPTION WHEN lock_not_available THEN
    RAISE WARNING 'a result takes longer to be written than is waited for';
    RETURN NULL;
END $$;

-- Deferred: they run when all else is done. Edits by hand and by programs of before wait as well.
CREATE CONSTRAINT TRIGGER await_results AFTER UPDATE ON domain_rules_version
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION await_results();
CREATE CONSTRAINT TRIGGER await_results AFTER UPDATE ON store_settings
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (new.key = 'rejudging_basis' AND new.value IS DISTINCT FROM old.value) EXECUTE FUNCTION await_results();

-- Notes an item as due whose result was judged by an earlier version of the domain lists, or by other settings or models than the
-- process that came last; true where it does. NULL: not known, and nothing is noted for it. Called behind the writing, in its
-- transaction. Whoever holds the item's row is noting it for the same, or settles it within a moment: it is waited for less long
-- than it takes two to be found waiting for each other.
CREATE OR REPLACE FUNCTION note_outdated(item text, lists bigint, basis jsonb) RETURNS boolean LANGUAGE plpgsql
SET lock_timeout = '800ms' AS $$
DECLARE
    latest jsonb;
    by_lists boolean := lists < (SELECT version FROM domain_rules_version);
    by_settings boolean;
    by_models boolean;
BEGIN
    SELECT value INTO latest FROM store_settings WHERE key = 'rejudging_basis';
    by_settings := latest->>'settings' <> basis->>'settings';
    by_models := latest->>'models' <> basis->>'models';
    IF NOT coalesce(by_lists, false) AND NOT coalesce(by_settings, false) AND NOT coalesce(by_models, false) THEN
        RETURN false;
    END IF;
    BEGIN
        INSERT INTO rejudging (item_id, asks, reason)
        SELECT DISTINCT ON (late.asks) item, late.asks, late.reason
        FROM (VALUES (false, 'domain_lists', by_lists), (false, 'settings', by_settings), (true, 'model', by_models))
            AS late(asks, reason, holds)
        WHERE late.holds
        -- One row for each kind; an edit of the lists goes before settings.
        ORDER BY late.asks, late.reason
        ON CONFLICT (item_id, asks) DO UPDATE SET noted_at = now(), taken_until = NULL, attempts = 0,
            reason = more_urgent(rejudging.reason, excluded.reason);
    EXCEPTION WHEN lock_not_available THEN
        RAISE WARNING 'an item that is judged again is held by another session';
    END;
    RETURN true;
END $$;
