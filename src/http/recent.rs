//! A cached lookup that runs once at a time.
//!
//! Many clients of public routes cannot take the connections that workers need.

use std::future::Future;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// The latest result of a lookup, kept for a fixed time.
#[derive(Debug)]
pub(crate) struct CachedLookup<T> {
    keep: Duration,
    /// Locked during a lookup, so that others wait for its result.
    found: Mutex<Option<(Instant, T)>>,
}

impl<T: Clone> CachedLookup<T> {
    pub(crate) fn new(keep: Duration) -> Self {
        Self { keep, found: Mutex::default() }
    }

    /// Returns the cached result, or runs `look`. If the caller is dropped, the next one runs it.
    pub(crate) async fn get(&self, look: impl Future<Output = T>) -> T {
        let mut found = self.found.lock().await;
        if let Some((at, known)) = found.as_ref()
            && at.elapsed() < self.keep
        {
            return known.clone();
        }
        let fresh = look.await;
        *found = Some((Instant::now(), fresh.clone()));
        fresh
    }

    /// Like [`Self::get`], but errors are not cached.
    pub(crate) async fn try_get<E>(&self, look: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let mut found = self.found.lock().await;
        if let Some((at, known)) = found.as_ref()
            && at.elapsed() < self.keep
        {
            return Ok(known.clone());
        }
        let fresh = look.await?;
        *found = Some((Instant::now(), fresh.clone()));
        Ok(fresh)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_burst_is_one_look_and_an_old_outcome_is_looked_for_again() {
        let (recent, looks) = (CachedLookup::new(Duration::from_millis(500)), AtomicU32::new(0));
        let ask = || {
            recent.get(async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                looks.fetch_add(1, Ordering::Relaxed) + 1
            })
        };
        assert_eq!(join_all((0..500).map(|_| ask())).await, [1; 500]);
        assert_eq!(ask().await, 1);
        tokio::time::sleep(Duration::from_millis(520)).await;
        assert_eq!(ask().await, 2);
        assert_eq!(looks.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let recent = CachedLookup::new(Duration::from_secs(30));
        assert_eq!(recent.try_get(async { Err::<u32, _>("away") }).await, Err("away"));
        assert_eq!(recent.try_get(async { Ok::<_, &str>(7) }).await, Ok(7));
        assert_eq!(recent.try_get(async { Err("away again") }).await, Ok(7));
    }

    #[tokio::test]
    async fn a_look_that_was_given_up_is_taken_up_by_the_next() {
        let recent = CachedLookup::new(Duration::from_secs(30));
        let hung = tokio::time::timeout(Duration::from_millis(20), recent.get(std::future::pending::<u32>())).await;
        assert!(hung.is_err());
        assert_eq!(recent.get(async { 7 }).await, 7);
    }
}
