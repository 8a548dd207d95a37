-- A verdict that is not decisive is a lean: it may rest on passages that lean to a side without taking it. What is decisive
-- still has a passage of that very stance, or a fact-check that says it, in the same transaction. Rows of programs before this
-- one have their stance from 0.6 on: what took none takes one by the rule of today.
CREATE OR REPLACE FUNCTION claim_has_evidence(claim claims) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE claim.verdict
        WHEN 'supported' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'supports' OR (NOT claim.decisive AND e.entail > e.contradict)))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class IN ('true', 'mostly_true'))
                  OR (f.relation = 'opposite' AND f.rating_class = 'false')))
        WHEN 'refuted' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'contradicts' OR (NOT claim.decisive AND e.contradict > e.entail)))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class = 'false')
                  OR (f.relation = 'opposite' AND f.rating_class IN ('true', 'mostly_true'))))
        WHEN 'outdated' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'contradicts' OR (NOT claim.decisive AND e.contradict > e.entail)))
        WHEN 'misleading' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'supports' OR (NOT claim.decisive AND e.entail > e.contradict)))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation = 'same' AND f.rating_class IN ('mixed', 'misleading'))
        WHEN 'contested' THEN
            (EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.entail > e.contradict)
             AND EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id AND e.contradict > e.entail))
            OR (SELECT count(*) FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation IN ('same', 'opposite') AND f.rating_class IN
                    ('true', 'mostly_true', 'mixed', 'misleading', 'false')) >= 2
        ELSE true
    END
$$;

UPDATE item_evidence SET stance = 'supports'
WHERE stance = 'neutral' AND entail >= 0.5 AND entail > contradict AND entail > neutral;

UPDATE item_evidence SET stance = 'contradicts', contradiction = true
WHERE stance = 'neutral' AND contradict >= 0.5 AND contradict > entail AND contradict > neutral;
