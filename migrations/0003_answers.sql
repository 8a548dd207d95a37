-- What providers answered lately, for every process: the level behind each process's own memory. Of a question only a
-- hash is kept. Fact-check answers stay in `fact_check_cache`.

CREATE TABLE IF NOT EXISTS answers (
    key        text PRIMARY KEY,
    provider   text NOT NULL,
    answer     jsonb NOT NULL,
    cached_at  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX IF NOT EXISTS answers_expiry ON answers (expires_at);

-- Who is asking right now, so that the others wait for its answer instead of asking too. Not logged: after a crash of the
-- server nobody is asking any more. Times are the server's own, whatever the clocks of the processes say.
CREATE UNLOGGED TABLE IF NOT EXISTS answer_claims (
    key    text PRIMARY KEY,
    holder text NOT NULL,
    until  timestamptz NOT NULL
);

-- A kept answer: of a claim that was looked up among reviews where one is given, else of a search.
CREATE OR REPLACE FUNCTION kept_answer(wanted text, asked text, reviewed text, moment timestamptz)
RETURNS TABLE (found jsonb, until timestamptz) LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF reviewed IS NULL THEN
        RETURN QUERY SELECT a.answer, a.expires_at FROM answers a WHERE a.key = wanted AND a.expires_at > moment;
    ELSE
        RETURN QUERY SELECT f.result_json, f.expires_at FROM fact_check_cache f
            WHERE f.normalized_claim = reviewed AND f.provider = asked AND f.expires_at > moment;
    END IF;
END
$$;

-- The answer, or the claim to the question, or neither: then somebody else is asking. One round trip.
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
        WHERE claim.until <= clock_timestamp();
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
