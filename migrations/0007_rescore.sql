-- What a verdict depends on besides its evidence, so that it can be judged again from here alone. Null in rows that were
-- written before this, or by a process that still runs the version before: there the notes tell whether sources were
-- searched, and corrections are wanted.
ALTER TABLE claims ADD COLUMN IF NOT EXISTS searched boolean;
ALTER TABLE claims ADD COLUMN IF NOT EXISTS auto_correct boolean;
