//! What the fleet of processes agrees on before a provider is asked: slots, quotas, money, and who is left alone.
//!
//! All spans are counted from the database's clock at the moment it answered: processes need not agree on the time.

mod told;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use sqlx::postgres::PgRow;
use sqlx::{Executor, Postgres, Row as _};

use self::told::Told;
use super::{Store, StoreError};

/// The channel on which processes tell each other that a breaker changed.
pub(super) const CHANNEL: &str = "corroborate_fleet";

/// What a process asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaseTerms {
    /// Whose slots: a provider's name, or `name:part` where it is asked at several places with a rate each.
    pub provider: Arc<str>,
    /// Which key at which address; breakers are kept by it.
    pub identity: String,
    /// Slots wanted, at least 1.
    pub wanted: u32,
    /// From one slot to the next.
    pub period: Duration,
    /// The first slot must not be later than this; else nothing is taken.
    pub patience: Duration,
    /// Nor the last one later than this.
    pub horizon: Duration,
    /// Slots per UTC day and month.
    pub day_limit: Option<u32>,
    pub month_limit: Option<u32>,
    /// US dollars a slot, and what the fleet may spend in a month.
    pub usd: f64,
    pub cap_usd: Option<f64>,
    /// The version of the breaker whose probe this process was given and did not use.
    pub held_probe: Option<i64>,
    /// How long a probe may be out.
    pub probe_time: Duration,
    /// Taken back in the same round trip, before anything is given.
    pub back: Option<Returned>,
}

/// Slots that were leased and not used, or not billed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Returned {
    /// As the lease said: decides which day and month they are taken off.
    pub leased_for: DateTime<Utc>,
    pub slots: u32,
    pub usd: f64,
}

/// What the fleet answers.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaseAnswer {
    pub decision: LeaseDecision,
    /// As it is now, the probe of this lease included.
    pub breaker: SharedBreaker,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LeaseDecision {
    Granted {
        slots: u32,
        /// When the first of them comes; the others follow by the period.
        first_in: Duration,
        /// When the day they are counted in ends, and they with it.
        day_ends_in: Duration,
        leased_for: DateTime<Utc>,
        /// The one call that may find out whether the provider is well again.
        probe: bool,
    },
    /// The next slot comes only then.
    NotBefore(Duration),
    /// The provider is left alone, or its probe is out.
    LeftAlone,
    /// A limit is reached, and for how long.
    Limited(Limit, Duration),
}

/// The operator's own limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Day,
    Month,
    /// The month's spending cap.
    Cap,
}

/// Whether a provider may be asked.
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

/// A breaker as the fleet knows it. Version 0: nobody ever said anything about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedBreaker {
    pub kind: BreakerKind,
    /// Until it may be probed; zero when that is past.
    pub until_in: Duration,
    /// While a probe is out.
    pub probe_in: Option<Duration>,
    /// Why, in words for a person, and the error's label.
    pub reason: Option<String>,
    pub error: Option<String>,
    /// Openings since the last success.
    pub trips: u32,
    pub version: i64,
}

/// A process found that a provider must be left alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    pub kind: BreakerKind,
    pub wait: Duration,
    pub reason: String,
    pub error: &'static str,
    /// The version this process went by: of an older one this is no second opening, it only makes the wait longer.
    pub version: i64,
}

/// Everything a process follows, of all providers at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetSnapshot {
    /// (provider, identity, state).
    pub breakers: Vec<(String, String, SharedBreaker)>,
    /// (provider, slots of the UTC day, slots of the month).
    pub used: Vec<(String, u64, u64)>,
    /// Dollars taken this month.
    pub spent_usd: f64,
    pub day_ends_in: Duration,
    pub month_ends_in: Duration,
}

/// A lease's statement on a connection that is there already: what it waited for must not count as its round trip.
#[derive(Debug)]
pub struct FleetConnection {
    connection: sqlx::pool::PoolConnection<Postgres>,
    /// Whose limits its statements have, and whose other connections are tested where this one was lost.
    store: Store,
}

impl FleetConnection {
    /// Leases a block of slots, or says why not.
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
    /// A connection for [`FleetConnection::lease`].
    pub async fn fleet_connection(&self) -> Result<FleetConnection, StoreError> {
        Ok(FleetConnection { connection: self.pool.acquire().await?, store: self.clone() })
    }

    /// Takes back what was leased and not used.
    pub async fn give_back(&self, provider: &str, back: &Returned) -> Result<(), StoreError> {
        sqlx::query("SELECT give_back_turns($1, $2, $3, $4::float8::numeric)")
            .bind(provider)
            .bind(back.leased_for)
            .bind(i64::from(back.slots))
            .bind(back.usd)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Writes down that a provider is left alone, and tells the others. Gives what holds now: a wait that somebody else
    /// began in the meantime is never made shorter, and is no second opening.
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

    /// Writes down that the probe of that version succeeded. A breaker that changed since stays as it is; what holds now
    /// is given.
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

    /// Lets every process ask that provider again, at all of its places, whatever it was left alone for and with whatever
    /// key. Gives how many
    /// breakers that closed.
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

    /// One look at everything the fleet shares.
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
        let told: Told = serde_json::from_str(&text)
            .map_err(|error| StoreError::Corrupt { detail: format!("the fleet's state: {error}") })?;
        self.server_clock.learn(told.moment);
        Ok(told.into())
    }

    /// Woken when a breaker changed, by this process or, where it listens, by another.
    pub fn fleet_changed(&self) -> Arc<tokio::sync::Notify> {
        Arc::clone(&self.wake_fleet)
    }

    /// One round trip that writes: is the database there, and does it take what is written? One that became a standby, or
    /// whose disk is full, still answers questions.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO store_settings (key, value, updated_at) VALUES ('last_probe', 'true', now())
             ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at",
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// True where no process of the fleet had this turn in `every`: then it is the caller's. By the database's clock, with a tenth
    /// to spare for those who come a little early.
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

    /// What the turn was taken for was not done: it is anybody's again.
    pub async fn give_turn_back(&self, what: &str, every: Duration) -> Result<(), StoreError> {
        sqlx::query("UPDATE store_settings SET updated_at = updated_at - make_interval(secs => $2) WHERE key = $1")
            .bind(what)
            .bind(every.as_secs_f64())
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// True for the first process of the fleet that says so on that day: something is to be told once a day. A day that has not
    /// come yet by the clock of the database counts as tomorrow.
    pub async fn first_to_tell(&self, what: &str, day: chrono::NaiveDate) -> Result<bool, StoreError> {
        let told = sqlx::query(
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
        Ok(told.rows_affected() == 1)
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

/// What is past is zero.
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
