-- Batches of usage figures that were added. A process whose connection broke before the answer sends the same batch again, and
-- it is added once. Clean-up removes the numbers after two days.
CREATE TABLE IF NOT EXISTS counted_batches (
    batch      text PRIMARY KEY,
    counted_at timestamptz NOT NULL DEFAULT now()
);
