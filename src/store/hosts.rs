//! The pauses between requests to a host and its rest periods, which all processes keep together.
//!
//! Times are durations from the database's clock, because process clocks may differ.

use std::time::Duration;

use super::{Store, StoreError};

/// Longest rest period and a margin. An end further ahead was written before the database's clock was set back.
const MAX_AHEAD: &str = "61 minutes";

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostVisit {
    /// The request may start after this wait.
    In(Duration),
    /// Time that the host must still rest.
    Resting(Duration),
    /// The next free start is beyond the patience.
    Late,
}

impl Store {
    /// Reserves the start of one request to a host, `pause` after the last one and within `patience`. `host` is in lower
    /// case, without a trailing dot.
    pub async fn visit_host(&self, host: &str, pause: Duration, patience: Duration) -> Result<HostVisit, StoreError> {
        let host = super::storable(host);
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let reserve = format!(
            "INSERT INTO page_hosts AS h (host, next_at) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
             ON CONFLICT (host) DO UPDATE SET next_at =
                 greatest(bounded_until(h.next_at, '{MAX_AHEAD}'), clock_timestamp()) + make_interval(secs => $2)
             WHERE coalesce(bounded_until(h.rests_until, '{MAX_AHEAD}') <= clock_timestamp(), true)
                 AND bounded_until(h.next_at, '{MAX_AHEAD}') <= clock_timestamp() + make_interval(secs => $3)
             RETURNING extract(epoch FROM next_at - clock_timestamp())::float8 - $2"
        );
        // Safe to repeat: a lost start is a longer pause.
        let reserved = self.again(|| async {
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(reserve.clone())).bind(&*host).bind(pause.as_secs_f64());
            Ok(query.bind(patience.as_secs_f64()).fetch_optional(&self.pool).await?)
        });
        if let Some(wait) = reserved.await? {
            return Ok(HostVisit::In(seconds(wait)));
        }
        let rest: Option<f64> = sqlx::query_scalar(
            "SELECT extract(epoch FROM rests_until - clock_timestamp())::float8 FROM page_hosts
             WHERE host = $1 AND rests_until > clock_timestamp()",
        )
        .bind(&*host)
        .fetch_optional(&self.pool)
        .await?;
        Ok(rest.map_or(HostVisit::Late, |rest| HostVisit::Resting(seconds(rest))))
    }

    /// Records that a host needs rest; the longer of two periods applies.
    pub async fn rest_host(&self, host: &str, wait: Duration) -> Result<(), StoreError> {
        let rest = format!(
            "INSERT INTO page_hosts AS h (host, next_at, rests_until)
             VALUES ($1, clock_timestamp(), clock_timestamp() + make_interval(secs => $2))
             ON CONFLICT (host) DO UPDATE SET
                 rests_until = greatest(bounded_until(h.rests_until, '{MAX_AHEAD}'), excluded.rests_until)"
        );
        sqlx::query(sqlx::AssertSqlSafe(rest))
            .bind(super::storable(host))
            .bind(wait.as_secs_f64())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
