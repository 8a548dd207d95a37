//! One item at a time under one id: two versions of a text, or two copies of a message, take turns within this process.
//! The later one is then judged last, and a copy finds its work done instead of paying for it twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// Ids kept before those nobody holds are forgotten.
const FORGET_BEYOND: usize = 1_024;

type Turn = tokio::sync::Mutex<()>;

/// Who is at work on which id.
#[derive(Debug, Default)]
pub struct Turns {
    ids: Mutex<HashMap<String, Weak<Turn>>>,
}

impl Turns {
    /// Waits until nobody else in this process works on that id; first come, first served.
    pub(crate) async fn take(&self, id: &str) -> OwnedMutexGuard<()> {
        let turn = {
            // Held for a look-up, never across an await.
            let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
            if ids.len() > FORGET_BEYOND {
                ids.retain(|_, turn| turn.strong_count() > 0);
            }
            if let Some(turn) = ids.get(id).and_then(Weak::upgrade) {
                turn
            } else {
                let turn = Arc::new(Turn::new(()));
                ids.insert(id.to_owned(), Arc::downgrade(&turn));
                turn
            }
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_same_id_waits_and_another_does_not() {
        let turns = Turns::default();
        let first = turns.take("a").await;
        let waited = tokio::time::timeout(std::time::Duration::from_millis(20), turns.take("a")).await;
        assert!(waited.is_err(), "the same id is taken");
        drop(turns.take("b").await);
        drop(first);
        drop(turns.take("a").await);
    }

    #[tokio::test]
    async fn ids_nobody_holds_are_forgotten() {
        let turns = Turns::default();
        for number in 0..(FORGET_BEYOND * 2) {
            drop(turns.take(&number.to_string()).await);
        }
        assert!(turns.ids.lock().unwrap().len() <= FORGET_BEYOND + 1);
    }
}
