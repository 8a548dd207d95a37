//! A thread that owns a loaded model and runs queued entries in batches.
//!
//! A caller waits while the queue is full. A panic costs only its row; [`Engine::crashed`] reports the end of the
//! thread.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, Output};
use super::tokens::Tokens;
use crate::inference::InferenceError;
use crate::inference::folder::Task;
use crate::telemetry::metrics;

/// Tokens per batch and core. A small encoder needs about 50 ms for them, which bounds a new entry's wait.
const TOKENS_PER_CORE: usize = 512;

/// Entries in the queue, and in the thread's batch window. Longer calls wait for space, so that they do not block
/// others.
const QUEUE: usize = 128;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum OutputError {
    #[error("it gives {found} where its model.toml promises {expected}: {fix}")]
    Shape { expected: String, found: String, fix: String },
    #[error("the output is not a number")]
    NotANumber,
}

/// Converts a row's output to a vector or probabilities.
pub(super) type OutputReader = Box<dyn Fn(&Tokens, &Output) -> Result<Vec<f32>, OutputError> + Send>;

pub(super) struct Runner {
    pub(super) backend: Box<dyn Backend>,
    pub(super) read: OutputReader,
}

#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum RowError {
    #[error("{0}")]
    Run(String),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Runner {
    /// Returns one answer per row, in order. After a panic, each row runs alone, so that only the bad one fails.
    pub(super) fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Vec<f32>, RowError>> {
        // Runs do not change the model, and the runtime's buffers are created again after a panic.
        let outputs = catch_unwind(AssertUnwindSafe(|| self.backend.run(rows)));
        match outputs {
            Ok(outputs) if outputs.len() == rows.len() => {
                let read = |(row, output): (&&Tokens, Result<Output, String>)| {
                    Ok((self.read)(row, &output.map_err(RowError::Run)?)?)
                };
                rows.iter().zip(outputs).map(read).collect()
            }
            Ok(outputs) => {
                let error = RowError::Run(format!("{} answers to {} texts", outputs.len(), rows.len()));
                vec![Err(error); rows.len()]
            }
            Err(_panic) if rows.len() > 1 => rows.iter().flat_map(|row| self.run(&[*row])).collect(),
            Err(panic) => {
                let message = panic.downcast_ref::<String>().map(String::as_str);
                let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
                vec![Err(RowError::Run(format!("the runtime gave up: {message}")))]
            }
        }
    }
}

#[derive(Debug)]
struct Entry {
    tokens: Tokens,
    arrived: Instant,
    answer: oneshot::Sender<Result<Vec<f32>, RowError>>,
}

/// A handle of a model's thread, which ends with the last handle.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    model: Arc<str>,
    queue: mpsc::Sender<Entry>,
    crashed: CancellationToken,
}

impl Engine {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system has no thread.
    pub(super) fn start(model: Arc<str>, task: Task, cores: usize, mut runner: Runner) -> std::io::Result<Self> {
        let (queue, entries) = mpsc::channel(QUEUE);
        let budget = TOKENS_PER_CORE * cores.max(1);
        let crashed = CancellationToken::new();
        let crash = crashed.clone().drop_guard();
        std::thread::Builder::new().name(format!("model-{}", task.as_str())).spawn(move || {
            work(entries, counted_as(task), budget, &mut runner);
            // Not reached after a panic of `work`: the guard then cancels the token.
            crash.disarm();
        })?;
        Ok(Self { model, queue, crashed })
    }

    /// Returns one answer per row, in order. Waits while the queue is full. Rows of a dropped future are skipped.
    ///
    /// # Errors
    /// The first failed row, or the end of the thread.
    pub(super) async fn run(&self, rows: Vec<Tokens>) -> Result<Vec<Vec<f32>>, InferenceError> {
        let stopped = || InferenceError::Stopped { model: self.model.to_string() };
        let mut waiting = Vec::with_capacity(rows.len());
        for tokens in rows {
            let (answer, promise) = oneshot::channel();
            let entry = Entry { tokens, arrived: Instant::now(), answer };
            self.queue.send(entry).await.map_err(|_closed| stopped())?;
            waiting.push(promise);
        }
        let mut answers = Vec::with_capacity(waiting.len());
        for promise in waiting {
            let answer = promise.await.map_err(|_gone| stopped())?;
            answers.push(answer.map_err(|error| self.failed(&error))?);
        }
        Ok(answers)
    }

    /// Returns a token that a panic outside of rows cancels. No row gets an answer after it.
    pub(super) fn crashed(&self) -> &CancellationToken {
        &self.crashed
    }

    pub(super) fn failed(&self, error: &dyn std::fmt::Display) -> InferenceError {
        InferenceError::Failed { model: self.model.to_string(), detail: error.to_string() }
    }
}

/// Returns the metric label.
fn counted_as(task: Task) -> &'static str {
    match task {
        Task::Embedding => "embedder",
        Task::Stance => "stance",
        Task::Relevance => "reranker",
    }
}

fn work(mut queue: mpsc::Receiver<Entry>, model: &'static str, budget: usize, runner: &mut Runner) {
    let mut waiting = VecDeque::with_capacity(QUEUE);
    while gather(&mut queue, &mut waiting) {
        let before = waiting.len();
        waiting.retain(|entry| !entry.answer.is_closed());
        metrics::model_entries_dropped(model, before - waiting.len());
        let batch = take(&mut waiting, budget);
        if batch.is_empty() {
            continue;
        }
        let started = Instant::now();
        for entry in &batch {
            metrics::model_waited(model, started.duration_since(entry.arrived));
        }
        let rows: Vec<&Tokens> = batch.iter().map(|entry| &entry.tokens).collect();
        let answers = runner.run(&rows);
        metrics::model_batch(model, batch.len(), started.elapsed());
        for (entry, answer) in batch.into_iter().zip(answers) {
            // The caller may be gone.
            drop(entry.answer.send(answer));
        }
    }
}

/// Waits for an entry and takes others from the queue; false when all handles are gone.
fn gather(queue: &mut mpsc::Receiver<Entry>, waiting: &mut VecDeque<Entry>) -> bool {
    if waiting.is_empty() {
        match queue.blocking_recv() {
            Some(entry) => waiting.push_back(entry),
            None => return false,
        }
    }
    while waiting.len() < QUEUE {
        match queue.try_recv() {
            Ok(entry) => waiting.push_back(entry),
            Err(_) => break,
        }
    }
    true
}

/// Takes the entries that waited longest, within `budget` (tokens) or one, and sorts them: the longest begins first, so
/// that the cores end together.
fn take(waiting: &mut VecDeque<Entry>, budget: usize) -> Vec<Entry> {
    let mut batch: Vec<Entry> = Vec::new();
    let mut left = budget;
    while let Some(entry) = waiting.pop_front_if(|entry| batch.is_empty() || entry.tokens.ids.len() <= left) {
        left = left.saturating_sub(entry.tokens.ids.len());
        batch.push(entry);
    }
    batch.sort_by_key(|entry| Reverse(entry.tokens.ids.len()));
    batch
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as blocking;
    use std::time::Duration;

    use futures::future::join_all;
    use proptest::prelude::*;

    use super::*;

    /// Returns each row's first id, records batches, and waits for a permit per answer.
    #[derive(Debug)]
    struct ScriptedBackend {
        permits: blocking::Receiver<()>,
        seen: blocking::Sender<Vec<u32>>,
    }

    /// The script panics at this.
    const PANIC: u32 = 13;
    const NAN: u32 = 14;

    impl Backend for ScriptedBackend {
        fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Output, String>> {
            let ids: Vec<u32> = rows.iter().map(|row| row.ids[0]).collect();
            self.seen.send(ids.clone()).unwrap();
            self.permits.recv().unwrap();
            assert!(!ids.contains(&PANIC), "an unlucky number");
            let value = |id: u32| if id == NAN { f32::NAN } else { id as f32 };
            ids.into_iter().map(|id| Ok(Output { shape: vec![1], values: vec![value(id)] })).collect()
        }
    }

    struct Setup {
        engine: Engine,
        permits: blocking::Sender<()>,
        seen: blocking::Receiver<Vec<u32>>,
    }

    fn setup(cores: usize) -> Setup {
        let (permits, granted) = blocking::channel();
        let (sender, seen) = blocking::channel();
        let read: OutputReader = Box::new(|_, output| match output.values.as_slice() {
            [value] if value.is_finite() => Ok(vec![*value]),
            _ => Err(OutputError::NotANumber),
        });
        let runner = Runner { backend: Box::new(ScriptedBackend { permits: granted, seen: sender }), read };
        let engine = Engine::start(Arc::from("scripted"), Task::Stance, cores, runner).unwrap();
        Setup { engine, permits, seen }
    }

    fn row(id: u32, length: usize) -> Tokens {
        Tokens { ids: vec![id; length], types: vec![0; length] }
    }

    #[tokio::test]
    async fn callers_share_batches_and_get_their_own_answers() {
        let setup = setup(1);
        let first = setup.engine.run(vec![row(1, 4)]);
        let others = join_all([setup.engine.run(vec![row(2, 4), row(3, 4)]), setup.engine.run(vec![row(4, 4)])]);
        for _ in 0..9 {
            setup.permits.send(()).unwrap();
        }
        let (first, others) = tokio::join!(first, others);
        assert_eq!(first.unwrap(), [[1.0]]);
        let others: Vec<Vec<Vec<f32>>> = others.into_iter().map(Result::unwrap).collect();
        assert_eq!(others, [vec![vec![2.0], vec![3.0]], vec![vec![4.0]]]);
    }

    #[tokio::test]
    async fn a_row_whose_caller_left_is_not_worked_on() {
        let setup = setup(1);
        let busy = setup.engine.run(vec![row(1, 4)]);
        tokio::pin!(busy);
        let begun = loop {
            tokio::time::timeout(Duration::from_millis(5), &mut busy).await.unwrap_err();
            if let Ok(ids) = setup.seen.try_recv() {
                break ids;
            }
        };
        assert_eq!(begun, [1]);
        let left = tokio::time::timeout(Duration::from_millis(5), setup.engine.run(vec![row(2, 4), row(3, 4)]));
        left.await.unwrap_err();
        setup.permits.send(()).unwrap();
        setup.permits.send(()).unwrap();
        assert_eq!(busy.await.unwrap(), [[1.0]]);
        assert_eq!(setup.engine.run(vec![row(4, 4)]).await.unwrap(), [[4.0]]);
        assert_eq!(setup.seen.try_iter().collect::<Vec<_>>(), [[4]]);
    }

    #[tokio::test]
    async fn a_full_queue_waits_and_loses_nothing() {
        let setup = setup(1);
        let rows: Vec<Tokens> = (100..100 + 4 * QUEUE as u32).map(|id| row(id, 8)).collect();
        let asked = setup.engine.run(rows.clone());
        tokio::pin!(asked);
        // Nothing runs yet: the caller can fill only the queue and the thread's window.
        tokio::time::timeout(Duration::from_millis(100), &mut asked).await.unwrap_err();
        assert_eq!(setup.engine.queue.capacity(), 0);
        for _ in 0..rows.len() {
            setup.permits.send(()).unwrap();
        }
        let answers = asked.await.unwrap();
        assert_eq!(answers.len(), rows.len());
        assert!(answers.iter().zip(&rows).all(|(answer, row)| answer == &[row.ids[0] as f32]));
        assert!(setup.seen.try_iter().all(|batch| batch.len() * 8 <= TOKENS_PER_CORE));
    }

    #[tokio::test]
    async fn a_row_that_breaks_the_runtime_fails_alone() {
        let setup = setup(1);
        for _ in 0..9 {
            setup.permits.send(()).unwrap();
        }
        let asked = [1, PANIC, NAN, 2].map(|id| setup.engine.run(vec![row(id, 4)]));
        let answers = join_all(asked).await;
        assert_eq!(answers[0].as_ref().unwrap(), &[[1.0]]);
        let message = answers[1].as_ref().unwrap_err().to_string();
        assert!(message.contains("scripted") && message.contains("an unlucky number"), "{message}");
        assert!(answers[2].as_ref().unwrap_err().to_string().contains("not a number"));
        assert_eq!(answers[3].as_ref().unwrap(), &[[2.0]]);
    }

    #[tokio::test]
    async fn engine_reports_no_crash_when_a_row_fails_or_its_last_caller_leaves() {
        let setup = setup(1);
        // Without permits the backend panics, which costs only the row.
        drop(setup.permits);
        let error = setup.engine.run(vec![row(1, 4)]).await.unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
        let crashed = setup.engine.crashed().clone();
        drop(setup.engine);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!crashed.is_cancelled(), "the thread ended because its engine was dropped");
    }

    #[tokio::test]
    async fn engine_reports_a_crash_when_reading_an_output_panics() {
        let read: OutputReader = Box::new(|_, _| panic!("outside of the runtime"));
        let (permits, granted) = blocking::channel();
        let (sender, _seen) = blocking::channel();
        permits.send(()).unwrap();
        let runner = Runner { backend: Box::new(ScriptedBackend { permits: granted, seen: sender }), read };
        let engine = Engine::start(Arc::from("scripted"), Task::Stance, 1, runner).unwrap();
        let error = engine.run(vec![row(1, 4)]).await.unwrap_err();
        assert!(error.to_string().contains("restart the daemon"), "the caller is not left waiting: {error}");
        tokio::time::timeout(Duration::from_secs(5), engine.crashed().cancelled()).await.expect("the crash is seen");
    }

    #[tokio::test]
    async fn engine_returns_error_when_its_thread_has_ended() {
        let (queue, entries) = mpsc::channel(1);
        let engine = Engine { model: Arc::from("gone"), queue, crashed: CancellationToken::new() };
        drop(entries);
        let error = engine.run(vec![row(1, 1)]).await.unwrap_err();
        assert!(error.to_string().contains("restart the daemon"), "{error}");
    }

    fn entry(length: usize) -> Entry {
        Entry { tokens: row(1, length), arrived: Instant::now(), answer: oneshot::channel().0 }
    }

    proptest! {
        #[test]
        fn batch_keeps_its_budget_and_takes_the_longest_wait_first(
            lengths in prop::collection::vec(1usize..600, 1..80), budget in 0usize..2_000
        ) {
            let mut waiting: VecDeque<Entry> = lengths.iter().map(|length| entry(*length)).collect();
            let batch: Vec<usize> = take(&mut waiting, budget).iter().map(|entry| entry.tokens.ids.len()).collect();
            prop_assert!(batch.iter().sum::<usize>() <= budget || batch.len() == 1);
            prop_assert!(batch.is_sorted_by(|one, other| one >= other));
            let mut first = lengths[..batch.len()].to_vec();
            first.sort_unstable_by(|one, other| other.cmp(one));
            prop_assert_eq!(batch, first);
        }
    }
}
