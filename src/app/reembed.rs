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

/// Batches between two lines in the log.
const LINE_EVERY: usize = 100;

/// One pass over what is stored. What is stored meanwhile is of this embedder already. Ends when the token is cancelled; a
/// batch that was not written is done at the next start.
pub(super) async fn reembed(store: Store, embedder: Arc<dyn Embedder>, stop: CancellationToken) {
    // Safe to be dropped anywhere: a batch is written or it is not.
    tokio::select! {
        () = stop.cancelled() => return,
        () = pass(&store, &embedder) => {}
    }
    stop.cancelled().await;
}

/// Begins anywhere and goes round, so that the processes of a fleet that start together do not embed the same sentences:
/// what one has done the others pass over.
async fn pass(store: &Store, embedder: &Arc<dyn Embedder>) {
    let begin = beginning(store).await;
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
            Ok(None) if is_second || begin == 0 => break,
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
    if done > 0 {
        tracing::info!(model.embedder = embedder.name(), done, "every stored sentence is found by this embedder now");
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
