-- A question whose answer got lost with its connection is put again by the same asker, which then must not wait for its own claim.
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
        WHERE claim.until <= clock_timestamp() OR claim.holder = excluded.holder;
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
