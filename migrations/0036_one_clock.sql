-- One clock and one rule for every "until": the database's clock, and no longer than the longest term. Before, a clock of the
-- database that was set back by an hour kept hosts, breakers and questions taken for that hour. All functions keep their names
-- and arguments: a program of the version before uses them as they are.

-- The end of a lease, a rest or a delay. One that is further ahead than its longest term was written before the clock was set
-- back: it ends now.
CREATE OR REPLACE FUNCTION bounded_until(
    until timestamptz, longest interval, moment timestamptz DEFAULT clock_timestamp()
) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN until > moment + longest THEN moment ELSE until END
$$;

-- The same for a breaker. A quota is gone for a month at most; an open or disabled provider is asked again within a day.
CREATE OR REPLACE FUNCTION breaker_until(kind text, until timestamptz, moment timestamptz DEFAULT clock_timestamp())
RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT bounded_until(until, CASE kind WHEN 'exhausted' THEN interval '36 days' ELSE interval '2 days' END, moment)
$$;

-- Pages dated by a process, whose clock says `moment`, dated by the clock of the database.
CREATE OR REPLACE FUNCTION on_database_clock(page_rows jsonb, moment timestamptz) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(page || jsonb_build_object(
        'fetched_at', now() + ((page->>'fetched_at')::timestamptz - moment),
        'expires_at', now() + ((page->>'expires_at')::timestamptz - moment)) ORDER BY place), '[]')
    FROM jsonb_array_elements(page_rows) WITH ORDINALITY AS given (page, place)
$$;

-- As in 0028, with bounds for the breaker.
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
    -- What was leased before the clock was set back may be used in addition to what is leased now, a block at most.
    due := bounded_until(due, make_interval(secs => greatest(patience, horizon, 600) + period), moment);
    breaker.until := breaker_until(breaker.kind, breaker.until, moment);
    breaker.probe_until := bounded_until(
        breaker.probe_until, make_interval(secs => greatest(patience, 600) + probe_time), moment);
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

-- As in 0015, with bounds. A host rests for an hour at most (src/outbound/pages/hosts.rs).
CREATE OR REPLACE FUNCTION lease_page_host(
    who text, most integer, pause double precision, patience double precision, hold double precision,
    OUT decision text, OUT wait double precision, OUT place timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
    known  page_hosts;
    moment timestamptz;
    first  timestamptz;
    busy   timestamptz[];
BEGIN
    SELECT * INTO known FROM page_hosts h WHERE h.host = who FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO page_hosts (host, next_at) VALUES (who, clock_timestamp()) ON CONFLICT DO NOTHING;
        SELECT * INTO known FROM page_hosts h WHERE h.host = who FOR UPDATE;
    END IF;
    -- Only now: whatever was waited for is over.
    moment := clock_timestamp();
    known.rests_until := bounded_until(known.rests_until, interval '61 minutes', moment);
    known.next_at := bounded_until(known.next_at, make_interval(secs => greatest(patience, 600) + pause), moment);
    IF known.rests_until > moment THEN
        decision := 'rests';
        wait := extract(epoch FROM known.rests_until - moment);
        RETURN;
    END IF;
    busy := ARRAY(SELECT p FROM unnest(known.places) AS p
        WHERE bounded_until(p, make_interval(secs => greatest(patience, 600) + hold), moment) > moment);
    IF cardinality(busy) >= most THEN
        decision := 'full';
        wait := extract(epoch FROM (SELECT min(p) FROM unnest(busy) AS p) - moment);
        RETURN;
    END IF;
    first := greatest(known.next_at, moment);
    wait := extract(epoch FROM first - moment);
    IF wait > patience THEN
        decision := 'later';
        RETURN;
    END IF;
    place := first + make_interval(secs => hold);
    -- The place is known by its end when it is given back.
    WHILE place = ANY (busy) LOOP
        place := place + interval '1 microsecond';
    END LOOP;
    UPDATE page_hosts h SET next_at = first + make_interval(secs => pause), places = busy || place WHERE h.host = who;
    decision := 'granted';
END $$;

-- As in 0024, with a bound: a claim is held for seconds.
CREATE OR REPLACE FUNCTION answer_or_claim(
    wanted text, asked text, reviewed text, moment timestamptz, asker text, lease interval
) RETURNS TABLE (found jsonb, until timestamptz, claimed boolean) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT kept.found, kept.until, false FROM kept_answer(wanted, asked, reviewed, moment) kept;
    IF FOUND THEN
        RETURN;
    END IF;
    INSERT INTO answer_claims AS claim (key, holder, until) VALUES (wanted, asker, clock_timestamp() + lease)
    ON CONFLICT ON CONSTRAINT answer_claims_pkey DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE bounded_until(claim.until, greatest(lease, interval '1 minute')) <= clock_timestamp()
            OR claim.holder = excluded.holder;
    IF NOT FOUND THEN
        RETURN QUERY SELECT NULL::jsonb, NULL::timestamptz, false;
        RETURN;
    END IF;
    -- The one who held the claim may have answered and let go of it since the look above: each statement here sees what
    -- was committed before it began.
    RETURN QUERY SELECT kept.found, kept.until, false FROM kept_answer(wanted, asked, reviewed, moment) kept;
    IF FOUND THEN
        DELETE FROM answer_claims claim WHERE claim.key = wanted AND claim.holder = asker;
        RETURN;
    END IF;
    RETURN QUERY SELECT NULL::jsonb, NULL::timestamptz, true;
END
$$;
