-- As in 0002, with an end to waiting for a clock: a database whose clock was an hour ahead and was set back let nobody ask a
-- provider for that hour.
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
    -- Nobody leases that far ahead: the clock was set back, and the rate would stand still until it is where it was. What was
    -- leased before the step may be used beside what is leased now, a block at most.
    IF due > moment + make_interval(secs => greatest(patience, horizon, 600) + period) THEN
        due := moment;
    END IF;
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
