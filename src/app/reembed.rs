//! Embeds stored sentences again after a change of the embedder, because vectors of two models cannot be compared.
//!
//! Vectors of items are not changed: they are compared for two days and expire. Built-in
//! facts are embedded again where they are installed.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::inference::Embedder;
use crate::store::{Store, StoreError};

/// A batch and the rest after it take about 0.25 s of one core each, which leaves time for new items.
const BATCH: i64 = 32;
const REST: Duration = Duration::from_millis(250);

const PAUSE: Duration = Duration::from_secs(30);

/// Maximum number of rounds. Their pauses add up to almost an hour, which is longer than a transaction or a rolling
/// restart.
const ROUNDS: u32 = 12;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

const LINE_EVERY: usize = 100;

/// Embeds until no sentence of another embedder is left. The next start continues a cancelled run.
pub(super) async fn reembed(store: Store, embedder: Arc<dyn Embedder>, stop: CancellationToken) {
    // Cancel-safe: a batch is one statement.
    tokio::select! {
        () = stop.cancelled() => return,
        () = pass(&store, &embedder) => {}
    }
    stop.cancelled().await;
}

/// Runs rounds until no sentence is left. The first begins at a random sentence, so that processes which start together
/// embed different ones. Later rounds find sentences that were locked or that an old process stored.
async fn pass(store: &Store, embedder: &Arc<dyn Embedder>) {
    let mut begin = beginning(store).await;
    let (mut done, mut behind) = (0, 0);
    loop {
        done += round(store, embedder, std::mem::take(&mut begin)).await;
        behind += 1;
        // After a failed query some may be left.
        let left = store.embedded_otherwise(embedder.name(), 0, 1).await;
        if left.is_ok_and(|left| left.is_empty()) {
            break;
        }
        let Some(pause) = pause_behind(behind) else {
            tracing::warn!(
                model.embedder = embedder.name(),
                done,
                "sentences of another embedder are left: they were in use all the time, or a process with another embedder \
                 stores more of them; they are re-embedded at the next start"
            );
            return;
        };
        tokio::time::sleep(pause).await;
    }
    if done > 0 {
        tracing::info!(model.embedder = embedder.name(), done, "re-embedding finished");
    }
}

/// Returns `None` after the last round.
fn pause_behind(rounds: u32) -> Option<Duration> {
    let doubled = rounds.saturating_sub(1).min(16);
    (rounds < ROUNDS).then(|| (FIRST_PAUSE * 2_u32.pow(doubled)).min(LONGEST_PAUSE))
}

/// Embeds from `begin` to the last sentence, then from the first. Returns the number written.
async fn round(store: &Store, embedder: &Arc<dyn Embedder>, begin: i64) -> u64 {
    let (mut after, mut done, mut batches, mut is_second) = (begin, 0u64, 0usize, false);
    loop {
        let rest = match batch(store, embedder.as_ref(), after).await {
            Ok(Some((last, count))) => {
                (after, done, batches) = (last, done + count, batches + 1);
                if batches.is_multiple_of(LINE_EVERY) || batches == 1 {
                    tracing::info!(model.embedder = embedder.name(), done, "re-embedding started");
                }
                REST
            }
            Ok(None) if is_second || begin == 0 => return done,
            Ok(None) => {
                (after, is_second) = (0, true);
                Duration::ZERO
            }
            Err(detail) => {
                tracing::warn!(detail, done, "re-embedding failed; retrying");
                PAUSE
            }
        };
        tokio::time::sleep(rest).await;
    }
}

/// Returns a random sentence id, or 0 if the store does not answer.
async fn beginning(store: &Store) -> i64 {
    let last = store.last_sentence().await.unwrap_or_default();
    if last > 0 { rand::random_range(0..last) } else { 0 }
}

/// Embeds the sentences after `after`. Returns the last id and the number written, or `None` at the end.
async fn batch(store: &Store, embedder: &dyn Embedder, after: i64) -> Result<Option<(i64, u64)>, String> {
    let failed = |error: StoreError| error.to_string();
    let foreign = store.embedded_otherwise(embedder.name(), after, BATCH).await.map_err(failed)?;
    let Some((last, _)) = foreign.last() else { return Ok(None) };
    let texts: Vec<&str> = foreign.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = embedder.embed(&texts).await.map_err(|error| error.to_string())?;
    let rows: Vec<(i64, Vec<f32>)> = foreign.iter().map(|(id, _)| *id).zip(vectors).collect();
    let written = store.embed_again(&rows, embedder.name()).await.map_err(failed)?;
    Ok(Some((*last, written)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_come_back_soon_at_first_and_not_for_ever() {
        let pauses: Vec<Duration> = (1..).map_while(pause_behind).collect();
        assert_eq!(pauses.iter().take(3).map(Duration::as_secs).collect::<Vec<_>>(), [5, 10, 20]);
        assert!(pauses.is_sorted() && pauses.len() == 11, "{pauses:?}");
        let all: Duration = pauses.iter().sum();
        assert!((40 * 60..60 * 60).contains(&all.as_secs()), "{all:?}");
    }
}
