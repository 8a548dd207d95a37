//! What processes share before they call a provider: rate, quotas, spending and circuit breakers.
//!
//! - [`Store::take_call`] takes the right to make one call, or returns why not. It is one statement a call.
//! - [`Store::end_call`] records what the call changed: a refund, or the breaker.
//! - [`Store::calls`] reads the state of all providers, for display and to refuse calls without a statement.
//! - [`Store::take_turn`] and [`Store::claim_daily_notice`] let one process do a periodic task.
//!
//! The database functions `take_call` and `end_call` have the rules. Times are durations from the database's clock,
//! because process clocks may differ.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use tokio::time::Instant;

use super::{Store, StoreError};

#[derive(Debug, Clone, PartialEq)]
pub struct CallTerms {
    /// Name, or `name:part` if the provider has several endpoints with separate rates.
    pub provider: Arc<str>,
    /// Key and address that the circuit breaker belongs to. One with another key is forgotten.
    pub identity: Arc<str>,
    /// Time between calls.
    pub period: Duration,
    /// How late a call may be without a delay of the next one.
    pub tolerance: Duration,
    /// Maximum duration of a probe.
    pub probe_time: Duration,
    /// Calls per UTC day and month.
    pub day_limit: Option<u32>,
    pub month_limit: Option<u32>,
    /// US dollars a call, and the monthly cap of all providers.
    pub usd: f64,
    pub cap_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallAnswer {
    pub decision: CallDecision,
    /// When the statement was sent, after the wait for a connection. The call was taken later.
    pub asked: Instant,
    pub breaker: SharedBreaker,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CallDecision {
    Taken {
        /// Selects the day and month that a refund is credited to.
        at: DateTime<Utc>,
        /// The one call that tests whether the provider has recovered.
        probe: bool,
    },
    /// The rate has a call after this wait.
    Later(Duration),
    /// The circuit breaker is open, or its probe is in progress.
    Refused,
    /// Until the end of the limit's window.
    Limited(Limit, Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Day,
    Month,
    /// The monthly spending cap.
    Cap,
}

/// The end of a call that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEnd {
    pub taken_at: DateTime<Utc>,
    /// Version of the breaker when the call was taken.
    pub version: i64,
    /// The call was not made, so it counts in no quota.
    pub unused: bool,
    /// Reserved minus billed cost, US dollars. Negative if the call cost more.
    pub refund_usd: f64,
    /// `None`: nothing that concerns the breaker.
    pub outcome: Option<CallOutcome>,
}

/// What a call means for the circuit breaker.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// Opens the breaker, or extends its cool-down.
    Opened { state: GateState, wait: Duration, reason: String },
    /// The probe succeeded.
    Closed,
    /// The probe ended without information about the provider; another one may follow.
    Unknown,
}

/// The state of a provider's circuit breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    #[default]
    Ready,
    Open,
    Exhausted,
    Disabled,
}

impl GateState {
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
            .find(|state| state.as_str() == word)
            .ok_or_else(|| StoreError::Corrupt { detail: format!("breaker state {word}") })
    }
}

/// Shared state of a circuit breaker. Version 0: never written for this key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedBreaker {
    pub state: GateState,
    /// Time until it may be probed, also because a probe is in progress; or zero.
    pub until_in: Duration,
    pub reason: Option<String>,
    /// Openings since the last success.
    pub trips: u32,
    pub version: i64,
}

/// The calls of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderCalls {
    pub provider: String,
    pub identity: String,
    pub day: u64,
    pub month: u64,
    pub breaker: SharedBreaker,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallSnapshot {
    pub providers: Vec<ProviderCalls>,
    /// In this month, for all providers.
    pub spent_usd: f64,
    pub day_ends_in: Duration,
    pub month_ends_in: Duration,
}

impl Store {
    /// Takes the right to make one call now, or returns why not. A lost connection is replaced: a call that was taken
    /// twice counts twice, so that no limit is exceeded.
    pub async fn take_call(&self, terms: &CallTerms) -> Result<CallAnswer, StoreError> {
        let taken = || async {
            let statement = sqlx::query(
                "SELECT decision, wait, taken_at, is_probe, state, until_in, reason, trips, version
                 FROM take_call($1, $2, $3, $4, $5, $6, $7, $8::float8::numeric, $9::float8::numeric)",
            )
            .bind(&*terms.provider)
            .bind(&*terms.identity)
            .bind(terms.period.as_secs_f64())
            .bind(terms.tolerance.as_secs_f64())
            .bind(terms.probe_time.as_secs_f64())
            .bind(terms.day_limit.map(i64::from))
            .bind(terms.month_limit.map(i64::from))
            .bind(terms.usd)
            .bind(terms.cap_usd);
            let sent = async {
                let mut connection = self.pool.acquire().await?;
                let asked = Instant::now();
                Ok((statement.fetch_one(&mut *connection).await?, asked))
            };
            self.pool.within(sent).await.map_err(StoreError::from)
        };
        let (row, asked) = self.again(taken).await?;
        answer(&row, asked)
    }

    /// Records the end of a call. Returns the breaker afterwards. Never repeated: a refund must not be paid twice, and a
    /// lost one exceeds no limit. (A call that cost more than its price may exceed the cap by the difference.)
    pub async fn end_call(&self, provider: &str, identity: &str, end: &CallEnd) -> Result<SharedBreaker, StoreError> {
        let (outcome, wait, reason) = match &end.outcome {
            Some(CallOutcome::Opened { state, wait, reason }) => (Some(state.as_str()), Some(*wait), Some(reason)),
            Some(CallOutcome::Closed) => (Some("ready"), None, None),
            Some(CallOutcome::Unknown) => (Some("unknown"), None, None),
            None => (None, None, None),
        };
        let row = sqlx::query(
            "SELECT state, until_in, reason, trips, version
             FROM end_call($1, $2, $3, $4, $5, $6::float8::numeric, $7, $8, $9)",
        )
        .bind(provider)
        .bind(identity)
        .bind(end.taken_at)
        .bind(end.version)
        .bind(end.unused)
        .bind(end.refund_usd)
        .bind(outcome)
        .bind(wait.map(|wait| wait.as_secs_f64()))
        .bind(reason.map(|reason| super::storable(reason)))
        .fetch_one(&self.pool)
        .await?;
        breaker(&row)
    }

    /// Closes a provider's circuit breakers, for all endpoints. Returns their number.
    pub async fn reset_breakers(&self, provider: &str) -> Result<u64, StoreError> {
        let closed: i64 = sqlx::query_scalar(
            // The version also grows for a closed breaker: a process may hold an open one that it could not report.
            "WITH found AS (SELECT provider, state FROM provider_quota WHERE split_part(provider, ':', 1) = $1 FOR UPDATE),
             closed AS (
                 UPDATE provider_quota AS q SET state = 'ready', until = NULL, reason = NULL, trips = 0, probe_until = NULL,
                     version = version + 1, updated_at = clock_timestamp()
                 FROM found WHERE q.provider = found.provider)
             SELECT count(*) FROM found WHERE state <> 'ready'",
        )
        .bind(provider)
        .fetch_one(&self.pool)
        .await?;
        self.wake_fleet.notify_waiters();
        Ok(u64::try_from(closed).unwrap_or(0))
    }

    pub async fn calls(&self) -> Result<CallSnapshot, StoreError> {
        let rows = sqlx::query(
            "WITH clock AS (SELECT moment, date_trunc('day', moment, 'UTC') AS day, date_trunc('month', moment, 'UTC') AS month
                 FROM clock_timestamp() AS moment)
             SELECT clock.moment, provider, identity, state, reason, trips, version,
                 CASE WHEN q.day BETWEEN today AND today + 1 THEN day_calls ELSE 0 END AS day_calls,
                 CASE WHEN q.month BETWEEN this_month AND this_month + 31 THEN month_calls ELSE 0 END AS month_calls,
                 CASE WHEN q.month BETWEEN this_month AND this_month + 31 THEN usd ELSE 0 END::float8 AS usd,
                 extract(epoch FROM greatest(bounded_until(until,
                     CASE state WHEN 'exhausted' THEN interval '36 days' ELSE interval '2 days' END, moment),
                     bounded_until(probe_until, interval '1 hour', moment)) - moment)::float8 AS until_in,
                 extract(epoch FROM clock.day + interval '1 day' - moment)::float8 AS day_ends_in,
                 extract(epoch FROM ((clock.month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC' - moment)::float8
                     AS month_ends_in
             -- The windows that `provider_row` accepts.
             FROM clock, LATERAL (SELECT (clock.day AT TIME ZONE 'UTC')::date AS today,
                     (clock.month AT TIME ZONE 'UTC')::date AS this_month) AS windows
                 LEFT JOIN provider_quota AS q ON true",
        )
        .fetch_all(&self.pool)
        .await?;
        let mut snapshot = CallSnapshot::default();
        for row in &rows {
            self.server_clock.learn(row.try_get("moment")?);
            snapshot.day_ends_in = span(row.try_get("day_ends_in")?);
            snapshot.month_ends_in = span(row.try_get("month_ends_in")?);
            // Without providers there is one row of the clock only.
            let Some(provider) = row.try_get::<Option<String>, _>("provider")? else { continue };
            if provider == ALL_PROVIDERS {
                snapshot.spent_usd = row.try_get("usd")?;
                continue;
            }
            let count = |name| Ok::<_, StoreError>(u64::try_from(row.try_get::<i64, _>(name)?).unwrap_or(0));
            let (day, month) = (count("day_calls")?, count("month_calls")?);
            let identity = row.try_get("identity")?;
            snapshot.providers.push(ProviderCalls { provider, identity, day, month, breaker: breaker(row)? });
        }
        Ok(snapshot)
    }

    /// Notified when this process reset a breaker.
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

/// The row of the table with the money of all providers.
const ALL_PROVIDERS: &str = "*";

fn span(seconds: Option<f64>) -> Duration {
    Duration::try_from_secs_f64(seconds.unwrap_or_default()).unwrap_or_default()
}

fn answer(row: &PgRow, asked: Instant) -> Result<CallAnswer, StoreError> {
    let decision: String = row.try_get("decision")?;
    let wait = span(row.try_get("wait")?);
    let decision = match decision.as_str() {
        "taken" => CallDecision::Taken { at: row.try_get("taken_at")?, probe: row.try_get("is_probe")? },
        "rate" => CallDecision::Later(wait),
        "breaker" => CallDecision::Refused,
        "day" => CallDecision::Limited(Limit::Day, wait),
        "month" => CallDecision::Limited(Limit::Month, wait),
        "cap" => CallDecision::Limited(Limit::Cap, wait),
        other => return Err(StoreError::Corrupt { detail: format!("the answer to a call: {other}") }),
    };
    Ok(CallAnswer { decision, asked, breaker: breaker(row)? })
}

fn breaker(row: &PgRow) -> Result<SharedBreaker, StoreError> {
    let (state, trips): (String, i32) = (row.try_get("state")?, row.try_get("trips")?);
    Ok(SharedBreaker {
        state: GateState::parse(&state)?,
        until_in: span(row.try_get("until_in")?),
        reason: row.try_get("reason")?,
        trips: u32::try_from(trips).unwrap_or(0),
        version: row.try_get("version")?,
    })
}
