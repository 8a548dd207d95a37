-- The version of the domain lists, which every process compares with its own: one row, locked by whoever edits the lists
-- until the edit commits. So edits become visible in the order of their versions, and none of them can be passed by.
-- (The highest id of domain_rule_changes, which served before, is given out long before its edit commits.)
--
-- A trigger keeps it, so that an edit by an older process, or by hand, counts as well.

CREATE TABLE domain_rules_version (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint NOT NULL
);

INSERT INTO domain_rules_version (version) SELECT coalesce(max(id), 0) FROM domain_rule_changes;

CREATE FUNCTION domain_rules_edited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domain_rules_version SET version = version + 1;
    RETURN NULL;
END $$;

CREATE TRIGGER domain_rules_edited AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON domain_rules
    FOR EACH STATEMENT EXECUTE FUNCTION domain_rules_edited();
