-- What a language model made of a passage, beside the judge's own figures, which stay the judge's.
ALTER TABLE item_evidence ADD COLUMN llm_stance text;
ALTER TABLE item_evidence ADD COLUMN llm_elsewhere boolean NOT NULL DEFAULT false;

-- A lean may rest on a passage that the language model takes for that side, where the judge's own reading does not take the
-- other. What is decisive still has a passage of that very stance by the judge's own reading, or a fact-check that says it:
-- a language model alone makes nothing decisive.
CREATE OR REPLACE FUNCTION claim_has_evidence(claim claims) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE claim.verdict
        WHEN 'supported' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'supports' OR (NOT claim.decisive
                    AND (e.entail > e.contradict OR (e.llm_stance = 'supports' AND e.stance <> 'contradicts')))))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class IN ('true', 'mostly_true'))
                  OR (f.relation = 'opposite' AND f.rating_class = 'false')))
        WHEN 'refuted' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'contradicts' OR (NOT claim.decisive
                    AND (e.contradict > e.entail OR (e.llm_stance = 'contradicts' AND e.stance <> 'supports')))))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND ((f.relation = 'same' AND f.rating_class = 'false')
                  OR (f.relation = 'opposite' AND f.rating_class IN ('true', 'mostly_true'))))
        WHEN 'outdated' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'contradicts' OR (NOT claim.decisive
                    AND (e.contradict > e.entail OR (e.llm_stance = 'contradicts' AND e.stance <> 'supports')))))
        WHEN 'misleading' THEN
            EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.stance = 'supports' OR (NOT claim.decisive
                    AND (e.entail > e.contradict OR (e.llm_stance = 'supports' AND e.stance <> 'contradicts')))))
            OR EXISTS (SELECT 1 FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation = 'same' AND f.rating_class IN ('mixed', 'misleading'))
        WHEN 'contested' THEN
            (EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.entail > e.contradict OR (e.llm_stance = 'supports' AND e.stance <> 'contradicts')))
             AND EXISTS (SELECT 1 FROM item_evidence e WHERE e.claim_id = claim.claim_id
                AND (e.contradict > e.entail OR (e.llm_stance = 'contradicts' AND e.stance <> 'supports'))))
            OR (SELECT count(*) FROM item_fact_checks f WHERE f.claim_id = claim.claim_id
                AND f.relation IN ('same', 'opposite') AND f.rating_class IN
                    ('true', 'mostly_true', 'mixed', 'misleading', 'false')) >= 2
        ELSE true
    END
$$;
