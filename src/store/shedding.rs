//! The number of items that processes together may shed from an overloaded queue.
//!
//! An allowance expires after a minute.

use std::time::Duration;

use super::{Store, StoreError};
use crate::broker::QueueName;

impl Store {
    pub async fn shed_so_far(&self, queue: QueueName) -> Result<u64, StoreError> {
        let shed: Option<i64> = sqlx::query_scalar("SELECT shed FROM load_shedding WHERE queue = $1")
            .bind(queue.as_str())
            .fetch_optional(&self.pool)
            .await?;
        Ok(shed.and_then(|shed| u64::try_from(shed).ok()).unwrap_or(0))
    }

    /// Allows shedding `excess` items, minus those shed after the count `shed_before`. Keeps an allowance younger than
    /// `every`.
    pub async fn allow_shedding(
        &self,
        queue: QueueName,
        excess: u64,
        shed_before: u64,
        every: Duration,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO load_shedding AS s (queue, allowed, shed, set_at) VALUES ($1, $2, 0, clock_timestamp())
             ON CONFLICT (queue) DO UPDATE SET allowed = greatest($2 - (s.shed - $3), 0), set_at = clock_timestamp()
             WHERE s.set_at <= clock_timestamp() - make_interval(secs => $4)",
        )
        .bind(queue.as_str())
        .bind(i64::try_from(excess).unwrap_or(i64::MAX))
        .bind(i64::try_from(shed_before).unwrap_or(i64::MAX))
        .bind(every.as_secs_f64())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Takes one item of the allowance; false if none is left or it is older than a minute.
    pub async fn take_shedding(&self, queue: QueueName) -> Result<bool, StoreError> {
        let taken = sqlx::query(
            "UPDATE load_shedding SET allowed = allowed - 1, shed = shed + 1
             WHERE queue = $1 AND allowed > 0 AND set_at > clock_timestamp() - interval '1 minute'",
        )
        .bind(queue.as_str())
        .execute(&self.pool)
        .await?;
        Ok(taken.rows_affected() == 1)
    }
}
