-- Politeness towards the hosts of pages, across every process that shares this database: a host sees the pace of one
-- visitor, however many processes read its pages.

CREATE TABLE IF NOT EXISTS page_hosts (
    host        text PRIMARY KEY,
    -- The first moment that no request has yet.
    next_at     timestamptz NOT NULL,
    -- The host asked to be left alone until then.
    rests_until timestamptz,
    -- When each request under way ends at the latest, should the process that makes it never report its end.
    places      timestamptz[] NOT NULL DEFAULT '{}'
);

-- Leases the right to one request. Every statement in here sees what others committed before it, and the row's lock lets
-- one process in at a time; so no moment is given twice, and no more than `most` requests are under way.
--
-- Spans are seconds, counted from this server's clock, since no two machines' clocks agree.
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
    IF known.rests_until > moment THEN
        decision := 'rests';
        wait := extract(epoch FROM known.rests_until - moment);
        RETURN;
    END IF;
    busy := ARRAY(SELECT p FROM unnest(known.places) AS p WHERE p > moment);
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

-- The robots.txt of each site, asked for by one process for all of them.
CREATE TABLE IF NOT EXISTS page_robots (
    -- Scheme, host and port.
    site        text PRIMARY KEY,
    -- What the site served, empty where it has none; null where it could not be had, which forbids everything for a while.
    file        bytea,
    -- Until when that is believed; null before the first answer.
    expires_at  timestamptz,
    -- While a process asks, the others wait for what it hears.
    asked_until timestamptz NOT NULL
);
