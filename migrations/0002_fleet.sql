-- The discipline of asking, across every process that shares this database.
--
-- Which table is the truth for what:
--   provider_schedule  the rate: from when on the next call may be made
--   provider_quota     the operator's own limits per UTC day and month: turns taken, whether used or still out
--   fleet_spending     the monthly cap: dollars taken for calls, before they are made
--   provider_breakers  who is left alone, until when and why
--   provider_usage     what is shown and charted: calls, errors and dollars of calls that were made
--
-- Whoever takes several locks takes the schedule's row of its provider first, which lets one in at a time; the row of the
-- month's spending is the only one that providers share, and whoever holds it waits for nothing that another holder has.

CREATE TABLE IF NOT EXISTS provider_schedule (
    provider text PRIMARY KEY,
    -- The first turn that nobody has taken.
    next_at  timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS fleet_spending (
    month date PRIMARY KEY,
    -- US dollars; numeric, so that a sum of many small prices is exact at the cap.
    usd   numeric NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS provider_breakers (
    provider    text NOT NULL,
    -- Which key at which address: a new key is not blamed for the old one.
    identity    text NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('ready', 'open', 'exhausted', 'disabled')),
    until       timestamptz,
    -- In words for a person, and as a label.
    reason      text,
    error       text,
    -- Openings since the last success: each doubles the wait.
    trips       integer NOT NULL DEFAULT 0,
    -- While a probe is out, nobody else may ask.
    probe_until timestamptz,
    -- Grows with every change, so that what is older is never mistaken for what is newer.
    version     bigint NOT NULL DEFAULT 1,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (provider, identity),
    CHECK (kind = 'ready' OR until IS NOT NULL)
);

-- What was asked and spent before this migration counts.
INSERT INTO fleet_spending (month, usd)
    SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date, sum(usd)::numeric FROM provider_usage
    WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date HAVING sum(usd) > 0
    ON CONFLICT DO NOTHING;
INSERT INTO provider_quota (provider, time_window, starts_at, used)
    SELECT provider, 'day', date_trunc('day', now(), 'UTC'), sum(requests) FROM provider_usage
    WHERE day = (now() AT TIME ZONE 'UTC')::date GROUP BY provider
    ON CONFLICT DO NOTHING;
INSERT INTO provider_quota (provider, time_window, starts_at, used)
    SELECT provider, 'month', date_trunc('month', now(), 'UTC'), sum(requests) FROM provider_usage
    WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date GROUP BY provider
    ON CONFLICT DO NOTHING;

-- Takes back what a process did not use: turns off the quotas of the windows they were taken from, dollars off the month.
CREATE OR REPLACE FUNCTION give_back_turns(who text, from_when timestamptz, turns bigint, dollars numeric)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM provider_schedule s WHERE s.provider = who FOR UPDATE;
    UPDATE provider_quota q SET used = greatest(q.used - turns, 0)
        WHERE q.provider = who AND ((q.time_window = 'day' AND q.starts_at = date_trunc('day', from_when, 'UTC'))
            OR (q.time_window = 'month' AND q.starts_at = date_trunc('month', from_when, 'UTC')));
    IF dollars > 0 THEN
        UPDATE fleet_spending f SET usd = greatest(f.usd - dollars, 0)
            WHERE f.month = date_trunc('month', from_when AT TIME ZONE 'UTC')::date;
    END IF;
END $$;

-- Leases a block of turns: rate, quotas, money and breaker in one round trip. Every statement in here sees what others
-- committed before it, and the schedule's row lock lets one process in at a time; so nothing is given twice.
--
-- Spans are seconds, counted from this server's clock at `moment`, since no two machines' clocks agree.
CREATE OR REPLACE FUNCTION lease_turns(
    who text, which text, wanted integer, period double precision, patience double precision, horizon double precision,
    day_limit bigint, month_limit bigint, price numeric, cap numeric, held_probe bigint, probe_time double precision,
    back_from timestamptz, back_turns bigint, back_dollars numeric,
    OUT decision text, OUT turns integer, OUT first_in double precision, OUT leased_for timestamptz,
    OUT day_ends_in double precision, OUT month_ends_in double precision, OUT is_probe boolean,
    OUT kind text, OUT until_in double precision, OUT probe_in double precision, OUT reason text, OUT error text,
    OUT trips integer, OUT version bigint
) LANGUAGE plpgsql AS $$
DECLARE
    due     timestamptz;
    moment  timestamptz;
    first   timestamptz;
    day_start   timestamptz;
    month_start timestamptz;
    day_used   bigint;
    month_used bigint;
    spent   numeric;
    breaker provider_breakers;
BEGIN
    SELECT s.next_at INTO due FROM provider_schedule s WHERE s.provider = who FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO provider_schedule (provider, next_at) VALUES (who, clock_timestamp()) ON CONFLICT DO NOTHING;
        SELECT s.next_at INTO due FROM provider_schedule s WHERE s.provider = who FOR UPDATE;
    END IF;
    IF back_from IS NOT NULL THEN
        PERFORM give_back_turns(who, back_from, back_turns, back_dollars);
    END IF;
    SELECT * INTO breaker FROM provider_breakers b WHERE b.provider = who AND b.identity = which FOR UPDATE;
    -- Only now: whatever was waited for is over.
    moment := clock_timestamp();
    kind := coalesce(breaker.kind, 'ready');
    until_in := extract(epoch FROM breaker.until - moment);
    probe_in := extract(epoch FROM breaker.probe_until - moment);
    reason := breaker.reason;
    error := breaker.error;
    trips := coalesce(breaker.trips, 0);
    version := coalesce(breaker.version, 0);
    is_probe := kind <> 'ready';
    turns := 0;
    first := greatest(due, moment);
    first_in := extract(epoch FROM first - moment);
    day_start := date_trunc('day', first, 'UTC');
    month_start := date_trunc('month', first, 'UTC');
    leased_for := first;
    day_ends_in := extract(epoch FROM day_start + interval '1 day' - moment);
    month_ends_in := extract(epoch FROM
        ((month_start AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC' - moment);
    IF is_probe AND (until_in > 0 OR (probe_in > 0 AND held_probe IS DISTINCT FROM breaker.version)) THEN
        decision := 'breaker';
        RETURN;
    END IF;
    IF first_in > patience THEN
        decision := 'rate';
        RETURN;
    END IF;
    SELECT q.used INTO day_used FROM provider_quota q
        WHERE q.provider = who AND q.time_window = 'day' AND q.starts_at = day_start;
    SELECT q.used INTO month_used FROM provider_quota q
        WHERE q.provider = who AND q.time_window = 'month' AND q.starts_at = month_start;
    IF day_limit <= coalesce(day_used, 0) THEN
        decision := 'day';
        RETURN;
    END IF;
    IF month_limit <= coalesce(month_used, 0) THEN
        decision := 'month';
        RETURN;
    END IF;
    -- A limit that is not set is null, which `least` passes over.
    turns := least(CASE WHEN is_probe THEN 1 ELSE wanted END,
        1 + floor(greatest(horizon - first_in, 0) / period),
        day_limit - coalesce(day_used, 0), month_limit - coalesce(month_used, 0));
    IF price > 0 THEN
        INSERT INTO fleet_spending (month) VALUES ((month_start AT TIME ZONE 'UTC')::date) ON CONFLICT DO NOTHING;
        SELECT f.usd INTO spent FROM fleet_spending f WHERE f.month = (month_start AT TIME ZONE 'UTC')::date FOR UPDATE;
        IF spent + price > cap THEN
            decision := 'cap';
            turns := 0;
            RETURN;
        END IF;
        turns := least(turns, floor((cap - spent) / price));
        UPDATE fleet_spending f SET usd = f.usd + turns * price WHERE f.month = (month_start AT TIME ZONE 'UTC')::date;
    END IF;
    INSERT INTO provider_quota AS q (provider, time_window, starts_at, used)
        VALUES (who, 'day', day_start, turns), (who, 'month', month_start, turns)
        ON CONFLICT (provider, time_window, starts_at) DO UPDATE SET used = q.used + excluded.used;
    UPDATE provider_schedule s SET next_at = first + make_interval(secs => turns * period) WHERE s.provider = who;
    IF is_probe THEN
        UPDATE provider_breakers b SET probe_until = first + make_interval(secs => probe_time),
            version = b.version + 1, updated_at = moment
            WHERE b.provider = who AND b.identity = which
            RETURNING b.version, extract(epoch FROM b.probe_until - moment) INTO version, probe_in;
    END IF;
    decision := 'granted';
END $$;
