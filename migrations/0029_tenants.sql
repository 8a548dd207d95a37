-- What the items of each tenant spent in a month. It stands beside what each provider was paid, where no channel is known.
CREATE TABLE IF NOT EXISTS tenant_spending (
    -- The first day of the month, UTC.
    month  date NOT NULL,
    tenant text NOT NULL,
    usd    double precision NOT NULL,
    PRIMARY KEY (month, tenant)
);
