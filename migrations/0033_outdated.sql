-- A result that is written late: while it was made, an edit of the domain lists, other settings or other models took hold, and whoever
-- looked for what rests on the old ones did not see it yet. It is due from its first moment. A program of the version before writes
-- its results as it did.

-- Writers of results hold this lock, shared, until they commit. Whoever changes what results are judged by waits for them once,
-- just before it commits: results written before are there for who looks next, and those written after see the change. One that
-- takes longer is not waited for: nobody else could write meanwhile.
CREATE OR REPLACE FUNCTION await_results() RETURNS void LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('corroborate results', 33));
EXCEPTION WHEN lock_not_available THEN
    RAISE WARNING 'a result takes longer to be written than is waited for';
END $$;

CREATE OR REPLACE FUNCTION begin_result() RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock_shared(hashtextextended('corroborate results', 33))
$$;

-- Notes an item as due whose result was judged by an earlier version of the domain lists, or by other settings or models than the
-- process that came last; true where it does. NULL: not known, and nothing is noted for it. Called behind the writing, in its
-- transaction.
CREATE OR REPLACE FUNCTION note_outdated(item text, lists bigint, basis jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    latest jsonb;
BEGIN
    SELECT value INTO latest FROM store_settings WHERE key = 'rejudging_basis';
    INSERT INTO rejudging (item_id, asks, reason)
    SELECT DISTINCT ON (late.asks) item, late.asks, late.reason
    FROM (VALUES
        (false, 'domain_lists', lists < (SELECT version FROM domain_rules_version)),
        (false, 'settings', latest->>'settings' <> basis->>'settings'),
        (true, 'model', latest->>'models' <> basis->>'models')) AS late(asks, reason, holds)
    WHERE late.holds
    -- One row for each kind; an edit of the lists goes before settings.
    ORDER BY late.asks, late.reason
    ON CONFLICT (item_id, asks) DO UPDATE SET noted_at = now(), taken_until = NULL, attempts = 0,
        reason = more_urgent(rejudging.reason, excluded.reason);
    RETURN FOUND;
END $$;
