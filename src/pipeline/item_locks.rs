//! One lock per item id within this process, so that the latest text is judged last and a copy is not paid for twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// Number of ids from which unused locks are removed.
const FORGET_BEYOND: usize = 1_024;

type Lock = tokio::sync::Mutex<()>;

#[derive(Debug, Default)]
pub struct ItemLocks {
    ids: Mutex<HashMap<String, Weak<Lock>>>,
}

impl ItemLocks {
    /// Waits for the lock of this id; first come, first served.
    pub(crate) async fn lock(&self, id: &str) -> OwnedMutexGuard<()> {
        let lock = {
            // Never held across an await.
            let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
            if ids.len() > FORGET_BEYOND {
                ids.retain(|_, lock| lock.strong_count() > 0);
            }
            if let Some(lock) = ids.get(id).and_then(Weak::upgrade) {
                lock
            } else {
                let lock = Arc::new(Lock::new(()));
                ids.insert(id.to_owned(), Arc::downgrade(&lock));
                lock
            }
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_same_id_waits_and_another_does_not() {
        let locks = ItemLocks::default();
        let first = locks.lock("a").await;
        let waited = tokio::time::timeout(std::time::Duration::from_millis(20), locks.lock("a")).await;
        assert!(waited.is_err(), "the same id is taken");
        drop(locks.lock("b").await);
        drop(first);
        drop(locks.lock("a").await);
    }

    #[tokio::test]
    async fn lock_is_forgotten_when_no_task_holds_it() {
        let locks = ItemLocks::default();
        for number in 0..(FORGET_BEYOND * 2) {
            drop(locks.lock(&number.to_string()).await);
        }
        assert!(locks.ids.lock().unwrap().len() <= FORGET_BEYOND + 1);
    }
}
