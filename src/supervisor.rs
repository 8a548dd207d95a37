//! Supervision of background tasks: a task that ends unasked, fails or panics ends the process with its name.
//!
//! [`Supervisor::spawn`] runs a task that must live until its stop token is cancelled. The first task that ends earlier is
//! kept as the [`Failure`]. `app::lifecycle` waits for it, drains the worker and returns it as the process's error, and
//! `/readyz` shows it meanwhile. A command goes on, because its callers get errors, and ends with the
//! failure when it closes the application.
//!
//! Two kinds of work do not belong here. Bounded work (a lease, one batch) runs on a task tracker, and its caller learns
//! of a panic from the dropped channel. The worker watches its own tasks.
//!
//! To add a background task, spawn it here under a name that an operator understands, with the token that stops it.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A supervised task that ended without being stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{task} ended unexpectedly: {detail}")]
pub struct Failure {
    pub task: &'static str,
    pub detail: String,
}

/// The result of a supervised task: nothing, or an error that says why it cannot go on.
pub trait TaskResult: Send {
    fn error(self) -> Option<String>;
}

impl TaskResult for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl TaskResult for Result<(), String> {
    fn error(self) -> Option<String> {
        self.err()
    }
}

#[derive(Debug)]
struct Shared {
    /// Names of running tasks, with how many run of each.
    running: Mutex<BTreeMap<&'static str, usize>>,
    failure: watch::Sender<Option<Failure>>,
    closing: CancellationToken,
}

/// Runs and watches the background tasks of one application. Clones share the tasks.
#[derive(Debug, Clone)]
pub struct Supervisor {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    /// Ends tasks that did not stop in time.
    abort: CancellationToken,
}

impl Default for Supervisor {
    fn default() -> Self {
        let shared =
            Shared { running: Mutex::default(), failure: watch::Sender::new(None), closing: CancellationToken::new() };
        Self { shared: Arc::new(shared), tasks: TaskTracker::new(), abort: CancellationToken::new() }
    }
}

/// An entry in the list of running tasks, removed when the task ends.
struct Registration {
    shared: Arc<Shared>,
    task: &'static str,
}

impl Registration {
    fn new(shared: &Arc<Shared>, task: &'static str) -> Self {
        *shared.running.lock().unwrap_or_else(PoisonError::into_inner).entry(task).or_default() += 1;
        Self { shared: Arc::clone(shared), task }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut running = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(self.task) {
            *count = count.saturating_sub(1);
        }
        running.retain(|_, count| *count > 0);
    }
}

impl Shared {
    fn report(&self, task: &'static str, detail: String) {
        tracing::error!(task, detail, "background task ended unexpectedly");
        self.failure.send_if_modified(|failure| {
            let is_first = failure.is_none();
            if is_first {
                *failure = Some(Failure { task, detail });
            }
            is_first
        });
    }
}

impl Supervisor {
    /// Runs a task that must not end before `stop` is cancelled. An error or a panic is a failure at any time.
    pub fn spawn<T: TaskResult>(
        &self,
        task: &'static str,
        stop: &CancellationToken,
        work: impl Future<Output = T> + Send + 'static,
    ) {
        let (stop, abort) = (stop.clone(), self.abort.clone());
        let registration = Registration::new(&self.shared, task);
        self.tasks.spawn(async move {
            let work = AssertUnwindSafe(work).catch_unwind();
            let Some(ended) = abort.run_until_cancelled(work).await else { return };
            let detail = match ended.map(TaskResult::error) {
                Ok(Some(error)) => error,
                Ok(None) if stop.is_cancelled() => return,
                Ok(None) => "it returned although nothing stopped it".to_owned(),
                Err(panic) => format!("it panicked: {}", panic_message(panic.as_ref())),
            };
            registration.shared.report(registration.task, detail);
        });
    }

    /// A supervisor for tasks that are stopped and waited for by themselves. Failures go to the same place.
    #[must_use]
    pub fn group(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), tasks: TaskTracker::new(), abort: CancellationToken::new() }
    }

    /// The first failure, if there was one.
    pub fn failure(&self) -> Option<Failure> {
        self.shared.failure.borrow().clone()
    }

    /// Waits for the first failure.
    pub async fn failed(&self) -> Failure {
        let mut failures = self.shared.failure.subscribe();
        let failure = failures.wait_for(Option::is_some).await.ok().and_then(|failure| failure.clone());
        match failure {
            Some(failure) => failure,
            // The sender is in `self.shared`, so that the channel does not close.
            None => std::future::pending().await,
        }
    }

    /// The stop token of tasks that live as long as the application's parts.
    pub fn closing(&self) -> &CancellationToken {
        &self.shared.closing
    }

    /// The names of the running tasks, each once.
    pub fn running(&self) -> Vec<&'static str> {
        self.shared.running.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    /// Waits for the tasks of this group after their stop tokens were cancelled. Aborts those that still run after `limit` and returns
    /// their number.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.tasks.close();
        if timeout(limit, self.tasks.wait()).await.is_ok() {
            return 0;
        }
        let left = self.tasks.len();
        self.abort.cancel();
        left
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    async fn failure_of(supervisor: &Supervisor) -> Failure {
        timeout(PATIENCE, supervisor.failed()).await.expect("the failure is reported")
    }

    #[tokio::test]
    async fn supervisor_reports_the_task_by_name_when_it_panics() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        let disk: Option<String> = std::iter::empty().next();
        supervisor.spawn("clean-up", &stop, async { drop(disk.expect("no disk")) });
        let failure = failure_of(&supervisor).await;
        assert_eq!(failure, Failure { task: "clean-up", detail: "it panicked: no disk".to_owned() });
        assert_eq!(supervisor.failure(), Some(failure), "it is kept for the readiness");
    }

    #[tokio::test]
    async fn supervisor_reports_a_task_when_it_returns_unasked() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        supervisor.spawn("accounting", &stop, async {});
        let failure = failure_of(&supervisor).await;
        assert_eq!(failure.to_string(), "accounting ended unexpectedly: it returned although nothing stopped it");
    }

    #[tokio::test]
    async fn supervisor_reports_an_error_when_the_task_was_stopped_too() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        stop.cancel();
        supervisor.spawn("the HTTP server", &stop, async { Err("the socket is gone".to_owned()) });
        assert_eq!(failure_of(&supervisor).await.detail, "the socket is gone");
    }

    #[tokio::test]
    async fn supervisor_keeps_silent_when_tasks_end_because_they_were_stopped() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        let jobs = supervisor.group();
        for task in ["one", "two"] {
            jobs.spawn(task, &stop, stop.clone().cancelled_owned());
        }
        assert_eq!(supervisor.running(), ["one", "two"]);
        stop.cancel();
        assert_eq!(jobs.drain(PATIENCE).await, 0);
        assert_eq!((supervisor.failure(), supervisor.running().len()), (None, 0));
    }

    #[tokio::test]
    async fn supervisor_aborts_tasks_when_they_do_not_stop_in_time() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        let jobs = supervisor.group();
        jobs.spawn("endless", &stop, std::future::pending::<()>());
        stop.cancel();
        assert_eq!(jobs.drain(Duration::from_millis(20)).await, 1);
        timeout(PATIENCE, jobs.tasks.wait()).await.expect("the task is aborted");
        assert_eq!(supervisor.failure(), None, "an aborted task is no failure");
    }

    #[tokio::test]
    async fn supervisor_keeps_the_first_failure_when_several_tasks_fail() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        let jobs = supervisor.group();
        jobs.spawn("first", &stop, async {});
        assert_eq!(failure_of(&supervisor).await.task, "first");
        supervisor.spawn("second", &stop, async {});
        assert_eq!(supervisor.drain(PATIENCE).await, 0);
        assert_eq!(failure_of(&supervisor).await.task, "first");
    }
}
