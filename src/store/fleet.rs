//! State that processes share before they call a provider: rate-limit permits, quotas, spending and circuit breakers.
//!
//! - [`FleetConnection::lease`] takes permits in one database function, which also checks limits and breakers.
//! - [`Store::open_breaker`] and [`Store::close_breaker`] notify other processes.
//! - [`Store::take_turn`] and [`Store::claim_daily_notice`] let one process do a periodic task.
//!
//! Times are durations from the database's clock, because process clocks may differ.

mod snapshot;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use sqlx::postgres::PgRow;
use sqlx::{Executor, Postgres, Row as _};

use self::snapshot::FleetSnapshotRow;
use super::{Store, StoreError};

/// The `NOTIFY` channel for circuit breaker changes.
pub(super) const CHANNEL: &str = "corroborate_fleet";

#[derive(Debug, Clone, PartialEq)]
pub struct LeaseTerms {
    /// Name, or `name:part` if the provider has several endpoints with separate rates.
    pub provider: Arc<str>,
    /// Key and address; each has its own circuit breaker.
    pub identity: String,
    /// At least 1.
    pub wanted: u32,
    /// Time between permits.
    pub period: Duration,
    /// Latest time for the first permit; otherwise none is leased.
    pub patience: Duration,
    /// Latest time for the last permit.
    pub horizon: Duration,
    /// Permits per UTC day and month.
    pub day_limit: Option<u32>,
    pub month_limit: Option<u32>,
    /// USD per permit, and the monthly cap of all processes.
    pub usd: f64,
    pub cap_usd: Option<f64>,
    /// Version of the breaker whose probe this process holds unused.
    pub held_probe: Option<i64>,
    pub probe_time: Duration,
    /// Returned in the same round trip, before new permits are leased.
    pub back: Option<ReturnedPermits>,
}

/// Permits that were not used or not billed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReturnedPermits {
    /// As in the lease: selects the day and month that are credited.
    pub leased_for: DateTime<Utc>,
    pub slots: u32,
    pub usd: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LeaseAnswer {
    pub decision: LeaseDecision,
    /// Includes the probe of this lease.
    pub breaker: SharedBreaker,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LeaseDecision {
    Granted {
        slots: u32,
        /// Time until the first permit; the others follow at the period.
        first_in: Duration,
        /// When their UTC day ends; permits expire then.
        day_ends_in: Duration,
        leased_for: DateTime<Utc>,
        /// The one call that tests whether the provider has recovered.
        probe: bool,
    },
    NotBefore(Duration),
    /// The circuit breaker is open, or its probe is in progress.
    LeftAlone,
    Limited(Limit, Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Day,
    Month,
    /// The monthly spending cap.
    Cap,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerKind {
    #[default]
    Ready,
    Open,
    Exhausted,
    Disabled,
}

impl BreakerKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Open => "open",
            Self::Exhausted => "exhausted",
            Self::Disabled => "disabled",
        }
    }

    fn parse(word: &str) -> Result<Self, StoreError> {
        [Self::Ready, Self::Open, Self::Exhausted, Self::Disabled]
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| StoreError::Corrupt { detail: format!("breaker state {word}") })
    }
}

/// Shared state of a circuit breaker. Version 0: never written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedBreaker {
    pub kind: BreakerKind,
    /// Time until it may be probed, or zero.
    pub until_in: Duration,
    /// Remaining time of a probe in progress.
    pub probe_in: Option<Duration>,
    /// Readable cause, and the error's label.
    pub reason: Option<String>,
    pub error: Option<String>,
    /// Openings since the last success.
    pub trips: u32,
    pub version: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    pub kind: BreakerKind,
    pub wait: Duration,
    pub reason: String,
    pub error: &'static str,
    /// Version that the report is based on. An outdated report extends the wait but is no second opening.
    pub version: i64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetSnapshot {
    /// (provider, identity, state).
    pub breakers: Vec<(String, String, SharedBreaker)>,
    /// (provider, permits this UTC day, permits this month).
    pub used: Vec<(String, u64, u64)>,
    pub spent_usd: f64,
    pub day_ends_in: Duration,
    pub month_ends_in: Duration,
}

/// A connection acquired before a lease, so that waiting for it is not counted as round-trip time.
#[derive(Debug)]
pub struct FleetConnection {
    connection: sqlx::pool::PoolConnection<Postgres>,
    store: Store,
}

impl FleetConnection {
    /// Leases a block of permits, or returns why not.
    pub async fn lease(&mut self, terms: &LeaseTerms) -> Result<LeaseAnswer, StoreError> {
        let back = terms.back;
        let asked = sqlx::query(
            "SELECT decision, turns, first_in, leased_for, day_ends_in, month_ends_in, is_probe, kind, until_in, probe_in,
                 reason, error, trips, version
             FROM lease_turns($1, $2, $3, $4, $5, $6, $7, $8, $9::float8::numeric, $10::float8::numeric,
                 $11, $12, $13, $14, $15::float8::numeric)",
        )
        .bind(&*terms.provider)
        .bind(&terms.identity)
        .bind(i32::try_from(terms.wanted).unwrap_or(i32::MAX))
        .bind(terms.period.as_secs_f64())
        .bind(terms.patience.as_secs_f64())
        .bind(terms.horizon.as_secs_f64())
        .bind(terms.day_limit.map(i64::from))
        .bind(terms.month_limit.map(i64::from))
        .bind(terms.usd)
        .bind(terms.cap_usd)
        .bind(terms.held_probe)
        .bind(terms.probe_time.as_secs_f64())
        .bind(back.map(|back| back.leased_for))
        .bind(back.map_or(0, |back| i64::from(back.slots)))
        .bind(back.map_or(0.0, |back| back.usd))
        .fetch_one(&mut *self.connection);
        match self.store.pool.within(asked).await.map_err(StoreError::from) {
            Ok(row) => answer(&row),
            Err(error) => {
                self.store.note_loss(&error);
                Err(error)
            }
        }
    }
}

impl Store {
    pub async fn fleet_connection(&self) -> Result<FleetConnection, StoreError> {
        Ok(FleetConnection { connection: self.pool.acquire().await?, store: self.clone() })
    }

    pub async fn give_back(&self, provider: &str, back: &ReturnedPermits) -> Result<(), StoreError> {
        sqlx::query("SELECT give_back_turns($1, $2, $3, $4::float8::numeric)")
            .bind(provider)
            .bind(back.leased_for)
            .bind(i64::from(back.slots))
            .bind(back.usd)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Opens a circuit breaker and returns its new state. A wait that another process began is never shortened, and
    /// does not count as a second opening.
    pub async fn open_breaker(
        &self,
        provider: &str,
        identity: &str,
        opening: &Opening,
    ) -> Result<SharedBreaker, StoreError> {
        let row = sqlx::query(
            "WITH changed AS (
                 INSERT INTO provider_breakers AS b (provider, identity, kind, until, reason, error, trips, updated_at)
                 VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4), $5, $6, 1, clock_timestamp())
                 ON CONFLICT (provider, identity) DO UPDATE SET
                     kind = CASE WHEN b.kind = 'ready' OR b.version = $7 OR excluded.until > breaker_until(b.kind, b.until)
                         THEN excluded.kind ELSE b.kind END,
                     reason = CASE WHEN b.kind = 'ready' OR b.version = $7 OR excluded.until > breaker_until(b.kind, b.until)
                         THEN excluded.reason ELSE b.reason END,
                     error = CASE WHEN b.kind = 'ready' OR b.version = $7 OR excluded.until > breaker_until(b.kind, b.until)
                         THEN excluded.error ELSE b.error END,
                     until = CASE WHEN b.kind = 'ready' OR b.version = $7 THEN excluded.until
                         ELSE greatest(breaker_until(b.kind, b.until), excluded.until) END,
                     trips = b.trips + CASE WHEN b.kind = 'ready' OR b.version = $7 THEN 1 ELSE 0 END,
                     probe_until = CASE WHEN b.kind = 'ready' OR b.version = $7 THEN NULL ELSE b.probe_until END,
                     version = b.version + CASE WHEN b.kind = 'ready' OR b.version = $7 OR excluded.until > breaker_until(b.kind, b.until)
                         THEN 1 ELSE 0 END,
                     updated_at = excluded.updated_at
                 RETURNING kind, until, probe_until, reason, error, trips, version)
             SELECT kind, extract(epoch FROM breaker_until(kind, until) - clock_timestamp())::float8 AS until_in,
                 extract(epoch FROM bounded_until(probe_until, interval '20 minutes') - clock_timestamp())::float8 AS probe_in,
                 reason, error, trips, version,
                 CASE WHEN $8 THEN pg_notify($9, '')::text END AS told
             FROM changed",
        )
        .bind(provider)
        .bind(identity)
        .bind(opening.kind.as_str())
        .bind(opening.wait.as_secs_f64())
        .bind(super::storable(&opening.reason))
        .bind(opening.error)
        .bind(opening.version)
        .bind(!self.embedded)
        .bind(CHANNEL)
        .fetch_one(&self.pool)
        .await?;
        self.wake_fleet.notify_waiters();
        breaker(&row)
    }

    /// Closes a circuit breaker after its probe succeeded. Only returns its state if it changed since that version.
    pub async fn close_breaker(
        &self,
        provider: &str,
        identity: &str,
        version: i64,
    ) -> Result<SharedBreaker, StoreError> {
        let closed = sqlx::query(
            "WITH changed AS (
                 UPDATE provider_breakers SET kind = 'ready', until = NULL, reason = NULL, error = NULL, trips = 0,
                     probe_until = NULL, version = version + 1, updated_at = clock_timestamp()
                 WHERE provider = $1 AND identity = $2 AND version = $3
                 RETURNING kind, until, probe_until, reason, error, trips, version)
             SELECT kind, NULL::float8 AS until_in, NULL::float8 AS probe_in, reason, error, trips, version,
                 CASE WHEN $4 THEN pg_notify($5, '')::text END AS told
             FROM changed",
        )
        .bind(provider)
        .bind(identity)
        .bind(version)
        .bind(!self.embedded)
        .bind(CHANNEL)
        .fetch_optional(&self.pool)
        .await?;
        if let Some(row) = &closed {
            self.wake_fleet.notify_waiters();
            return breaker(row);
        }
        let present = read_breaker(&self.pool, provider, identity).await?;
        Ok(present.unwrap_or_default())
    }

    /// Closes a provider's circuit breakers, for all endpoints and keys. Returns their number.
    pub async fn reset_breakers(&self, provider: &str) -> Result<u64, StoreError> {
        let row = sqlx::query(
            "WITH changed AS (
                 UPDATE provider_breakers SET kind = 'ready', until = NULL, reason = NULL, error = NULL, trips = 0,
                     probe_until = NULL, version = version + 1, updated_at = clock_timestamp()
                 WHERE split_part(provider, ':', 1) = $1 AND kind <> 'ready'
                 RETURNING 1)
             SELECT count(*) AS closed, CASE WHEN $2 THEN pg_notify($3, '')::text END AS told FROM changed",
        )
        .bind(provider)
        .bind(!self.embedded)
        .bind(CHANNEL)
        .fetch_one(&self.pool)
        .await?;
        self.wake_fleet.notify_waiters();
        let closed: i64 = row.try_get("closed")?;
        Ok(u64::try_from(closed).unwrap_or(0))
    }

    pub async fn fleet(&self) -> Result<FleetSnapshot, StoreError> {
        let text: String = sqlx::query_scalar(
            "WITH clock AS (SELECT clock_timestamp() AS moment),
             starts AS (SELECT moment, date_trunc('day', moment, 'UTC') AS day, date_trunc('month', moment, 'UTC') AS month
                 FROM clock)
             SELECT jsonb_build_object('moment', moment,
                 'breakers', (SELECT coalesce(jsonb_agg(jsonb_build_object('provider', provider, 'identity', identity,
                         'kind', kind, 'until_in', extract(epoch FROM breaker_until(kind, until, moment) - moment),
                         'probe_in', extract(epoch FROM bounded_until(probe_until, interval '20 minutes', moment) - moment), 'reason', reason, 'error', error,
                         'trips', trips, 'version', version)), '[]') FROM provider_breakers),
                 'used', (SELECT coalesce(jsonb_agg(jsonb_build_object('provider', provider, 'window', time_window,
                         'used', used)), '[]') FROM provider_quota
                     WHERE (time_window = 'day' AND starts_at = day) OR (time_window = 'month' AND starts_at = month)),
                 'spent_usd', (SELECT coalesce(sum(usd), 0) FROM fleet_spending
                     WHERE fleet_spending.month = (starts.month AT TIME ZONE 'UTC')::date),
                 'day_ends_in', extract(epoch FROM day + interval '1 day' - moment),
                 'month_ends_in', extract(epoch FROM
                     ((month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC' - moment))::text
             FROM starts",
        )
        .fetch_one(&self.pool)
        .await?;
        let snapshot: FleetSnapshotRow = serde_json::from_str(&text)
            .map_err(|error| StoreError::Corrupt { detail: format!("the fleet's state: {error}") })?;
        self.server_clock.learn(snapshot.moment);
        Ok(snapshot.into())
    }

    /// Notified when this process, or another one while listening, changed a breaker.
    pub fn fleet_changed(&self) -> Arc<tokio::sync::Notify> {
        Arc::clone(&self.wake_fleet)
    }

    /// Checks that the database accepts writes: a standby or a full disk still allows reads.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO store_settings (key, value, updated_at) VALUES ('last_probe', 'true', now())
             ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at",
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Returns true if no process took this turn within `every`, by the database's clock. Callers may be a tenth early.
    pub async fn take_turn(&self, what: &str, every: Duration) -> Result<bool, StoreError> {
        let taken = sqlx::query(
            "INSERT INTO store_settings AS s (key, value, updated_at) VALUES ($1, 'true', now())
             ON CONFLICT (key) DO UPDATE SET updated_at = now()
                 WHERE s.updated_at < now() - make_interval(secs => $2)
                     -- Taken before the clock of the database was set back.
                     OR s.updated_at > now() + interval '1 minute'",
        )
        .bind(what)
        .bind(every.as_secs_f64() * 0.9)
        .execute(&self.pool)
        .await?;
        Ok(taken.rows_affected() == 1)
    }

    pub async fn give_turn_back(&self, what: &str, every: Duration) -> Result<(), StoreError> {
        sqlx::query("UPDATE store_settings SET updated_at = updated_at - make_interval(secs => $2) WHERE key = $1")
            .bind(what)
            .bind(every.as_secs_f64())
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Returns true for the first process on that day. A day later than tomorrow, by the database's clock, counts as
    /// tomorrow.
    pub async fn claim_daily_notice(&self, what: &str, day: chrono::NaiveDate) -> Result<bool, StoreError> {
        let written = sqlx::query(
            "INSERT INTO store_settings AS s (key, value, updated_at)
             VALUES ($1, to_jsonb(least($2::date, current_date + 1)::text), now())
             ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now() WHERE s.value < excluded.value
                 -- Written by an earlier program whose clock was ahead.
                 OR s.value > to_jsonb((current_date + 1)::text)",
        )
        .bind(what)
        .bind(day)
        .execute(&self.pool)
        .await?;
        Ok(written.rows_affected() == 1)
    }
}

async fn read_breaker<'c>(
    executor: impl Executor<'c, Database = Postgres>,
    provider: &str,
    identity: &str,
) -> Result<Option<SharedBreaker>, StoreError> {
    sqlx::query(
        "SELECT kind, extract(epoch FROM breaker_until(kind, until) - clock_timestamp())::float8 AS until_in,
             extract(epoch FROM bounded_until(probe_until, interval '20 minutes') - clock_timestamp())::float8 AS probe_in,
                 reason, error, trips, version
         FROM provider_breakers WHERE provider = $1 AND identity = $2",
    )
    .bind(provider)
    .bind(identity)
    .fetch_optional(executor)
    .await?
    .as_ref()
    .map(breaker)
    .transpose()
}

fn span(seconds: Option<f64>) -> Duration {
    Duration::try_from_secs_f64(seconds.unwrap_or_default()).unwrap_or_default()
}

fn probe_span(seconds: Option<f64>) -> Option<Duration> {
    seconds.filter(|seconds| *seconds > 0.0).map(|seconds| span(Some(seconds)))
}

fn answer(row: &PgRow) -> Result<LeaseAnswer, StoreError> {
    let seconds = |name: &str| Ok::<_, StoreError>(span(row.try_get(name)?));
    let decision: String = row.try_get("decision")?;
    let slots: i32 = row.try_get("turns")?;
    let decision = match decision.as_str() {
        "granted" => LeaseDecision::Granted {
            slots: u32::try_from(slots).unwrap_or(0),
            first_in: seconds("first_in")?,
            day_ends_in: seconds("day_ends_in")?,
            leased_for: row.try_get("leased_for")?,
            probe: row.try_get("is_probe")?,
        },
        "rate" => LeaseDecision::NotBefore(seconds("first_in")?),
        "breaker" => LeaseDecision::LeftAlone,
        "day" => LeaseDecision::Limited(Limit::Day, seconds("day_ends_in")?),
        "month" => LeaseDecision::Limited(Limit::Month, seconds("month_ends_in")?),
        "cap" => LeaseDecision::Limited(Limit::Cap, seconds("month_ends_in")?),
        other => return Err(StoreError::Corrupt { detail: format!("the answer to a lease: {other}") }),
    };
    Ok(LeaseAnswer { decision, breaker: breaker(row)? })
}

fn breaker(row: &PgRow) -> Result<SharedBreaker, StoreError> {
    let kind: String = row.try_get("kind")?;
    let trips: i32 = row.try_get("trips")?;
    Ok(SharedBreaker {
        kind: BreakerKind::parse(&kind)?,
        until_in: span(row.try_get("until_in")?),
        probe_in: probe_span(row.try_get("probe_in")?),
        reason: row.try_get("reason")?,
        error: row.try_get("error")?,
        trips: u32::try_from(trips).unwrap_or(0),
        version: row.try_get("version")?,
    })
}
