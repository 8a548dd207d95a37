//! Re-embeds what another embedder embedded: vectors of two models cannot be compared, so without this a change of
//! the model would leave everything stored unfindable until it is read again.
//!
//! Items' own vectors are left alone: they are compared for two days (`enrichment.similar_window`) and age out by
//! themselves. The facts that come with the program are re-embedded where they are installed.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::inference::Embedder;
use crate::store::{Store, StoreError};

/// Sentences embedded at once, and the rest between two batches: a quarter of a second of one core each way, so that the
/// items that come in meanwhile have the other half of it and all other cores.
const BATCH: i64 = 32;
const REST: Duration = Duration::from_millis(250);

/// How long to wait for a store or a model that is away.
const PAUSE: Duration = Duration::from_secs(30);

/// Rounds at most, and the pauses between them: together close to an hour, longer than any transaction lasts and than the
/// processes of a fleet take to be replaced one after the other.
const ROUNDS: u32 = 12;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// Batches between two lines in the log.
const LINE_EVERY: usize = 100;

/// Rounds over what is stored, until none of it is another embedder's. Ends when the token is cancelled; a batch that was not
/// written is done at the next start.
pub(super) async fn reembed(store: Store, embedder: Arc<dyn Embedder>, stop: CancellationToken) {
    // Safe to be dropped anywhere: a batch is written or it is not.
    tokio::select! {
        () = stop.cancelled() => return,
        () = pass(&store, &embedder) => {}
    }
    stop.cancelled().await;
}

/// Goes round until none is left. The first round begins anywhere, so that the processes of a fleet that start together do not
/// embed the same sentences: what one has done the others pass over. Later ones look for the few that are left, as a round passes
/// over what another transaction holds, and a process that is being replaced goes on storing sentences of its own embedder.
async fn pass(store: &Store, embedder: &Arc<dyn Embedder>) {
    let mut begin = beginning(store).await;
    let (mut done, mut behind) = (0, 0);
    loop {
        done += round(store, embedder, std::mem::take(&mut begin)).await;
        behind += 1;
        // Who cannot ask does not know that none is left.
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
        tracing::info!(model.embedder = embedder.name(), done, "every stored sentence is found by this embedder now");
    }
}

/// The pause behind that many rounds, from the first; `None` where it was the last one.
fn pause_behind(rounds: u32) -> Option<Duration> {
    let doubled = rounds.saturating_sub(1).min(16);
    (rounds < ROUNDS).then(|| (FIRST_PAUSE * 2_u32.pow(doubled)).min(LONGEST_PAUSE))
}

/// One round over all that is stored, from a sentence on to the last and then from the first; how many were written.
async fn round(store: &Store, embedder: &Arc<dyn Embedder>, begin: i64) -> u64 {
    let (mut after, mut done, mut batches, mut is_second) = (begin, 0u64, 0usize, false);
    loop {
        let rest = match batch(store, embedder.as_ref(), after).await {
            Ok(Some((last, count))) => {
                (after, done, batches) = (last, done + count, batches + 1);
                if batches.is_multiple_of(LINE_EVERY) || batches == 1 {
                    tracing::info!(model.embedder = embedder.name(), done, "stored sentences are re-embedded");
                }
                REST
            }
            Ok(None) if is_second || begin == 0 => return done,
            Ok(None) => {
                (after, is_second) = (0, true);
                Duration::ZERO
            }
            Err(detail) => {
                tracing::warn!(detail, done, "stored sentences cannot be re-embedded now; it is tried again");
                PAUSE
            }
        };
        tokio::time::sleep(rest).await;
    }
}

/// A sentence of those stored, any of them alike; the first where the store does not answer.
async fn beginning(store: &Store) -> i64 {
    let last = store.last_sentence().await.unwrap_or_default();
    if last > 0 { rand::random_range(0..last) } else { 0 }
}

/// The next few behind `after`: the last one's id and how many were written. `None` when none is left.
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
