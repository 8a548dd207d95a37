//! The loop with a queue in memory. `tests/it/broker.rs` tests a real broker.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use tokio::sync::Notify;

use super::*;
use crate::broker::{
    DeadLetter, DeadSelection, NoObserver, OpenDeadLetter, OutboxMessage, PublishReport, QueueDepth, Receipt,
    Settlement,
};
use crate::domain::SystemClock;

mod brake;

/// Delivers prepared messages and records how each was settled.
#[derive(Debug, Default)]
struct FakeQueue {
    waiting: Mutex<VecDeque<Delivery>>,
    added: Notify,
    settled: Mutex<Vec<(i64, Settlement)>>,
    stopped: CancellationToken,
    pauses: Mutex<Vec<bool>>,
    /// A pause of the queue never completes.
    pausing_hangs: bool,
    /// Deferred deliveries return at once.
    returning: bool,
    depth: Mutex<QueueDepth>,
    /// How often settling with anything except `Requeue` fails.
    failures: Mutex<u32>,
    /// How often any settling fails.
    outage: Mutex<u32>,
    received: AtomicUsize,
}

impl FakeQueue {
    fn put(&self, id: i64, queue: QueueName, body: &[u8], attempts: u32) {
        self.waiting.lock().unwrap().push_back(Delivery {
            queue,
            body: body.to_vec(),
            attempts,
            redelivered: false,
            message_id: None,
            reply_to: None,
            reply_refused: false,
            correlation_id: None,
            traceparent: None,
            enqueued_at: None,
            sent_at: None,
            receipt: Receipt::Table(id),
        });
        self.added.notify_one();
    }

    fn settled(&self) -> Vec<(i64, Settlement)> {
        self.settled.lock().unwrap().clone()
    }
}

impl Queue for FakeQueue {
    fn receive(&self) -> BoxFuture<'_, Result<Delivery, QueueError>> {
        async {
            loop {
                if self.stopped.is_cancelled() {
                    return Err(QueueError::Closed);
                }
                if let Some(delivery) = self.waiting.lock().unwrap().pop_front() {
                    self.received.fetch_add(1, Ordering::SeqCst);
                    return Ok(delivery);
                }
                tokio::select! {
                    () = self.added.notified() => {}
                    () = self.stopped.cancelled() => {}
                }
            }
        }
        .boxed()
    }

    fn settle<'a>(&'a self, delivery: &'a Delivery, how: Settlement) -> BoxFuture<'a, Result<(), QueueError>> {
        let Receipt::Table(id) = delivery.receipt else { panic!("a foreign delivery") };
        let mut outage = self.outage.lock().unwrap();
        if *outage > 0 {
            *outage -= 1;
            return async { Err(QueueError::Away { detail: "test".to_owned() }) }.boxed();
        }
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 && how != Settlement::Requeue {
            *failures -= 1;
            return async { Err(QueueError::Away { detail: "test".to_owned() }) }.boxed();
        }
        if self.returning && matches!(how, Settlement::Defer { .. } | Settlement::Requeue) {
            self.put(id, delivery.queue, &delivery.body, delivery.attempts);
        }
        self.settled.lock().unwrap().push((id, how));
        async { Ok(()) }.boxed()
    }

    fn pause_receiving(&self, paused: bool) -> BoxFuture<'_, ()> {
        self.pauses.lock().unwrap().push(paused);
        if self.pausing_hangs { std::future::pending::<()>().boxed() } else { async {}.boxed() }
    }

    fn publish_items<'a>(&'a self, _: QueueName, _: &'a [Vec<u8>]) -> BoxFuture<'a, Result<(), QueueError>> {
        async { Ok(()) }.boxed()
    }

    fn publish_results<'a>(&'a self, _: &'a [OutboxMessage]) -> BoxFuture<'a, Result<PublishReport, QueueError>> {
        async { Ok(PublishReport::default()) }.boxed()
    }

    fn depth(&self) -> BoxFuture<'_, Result<QueueDepth, QueueError>> {
        async { Ok(*self.depth.lock().unwrap()) }.boxed()
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    fn dead_list(&self, _: usize) -> BoxFuture<'_, Result<Vec<DeadLetter>, QueueError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn dead_get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<OpenDeadLetter>, QueueError>> {
        async { Ok(None) }.boxed()
    }

    fn dead_requeue<'a>(&'a self, _: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        async { Ok(0) }.boxed()
    }

    fn dead_drop<'a>(&'a self, _: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        async { Ok(0) }.boxed()
    }

    fn stop_receiving(&self) {
        self.stopped.cancel();
    }
}

/// A running worker, its queue, and the notices to upstream.
struct RunningWorker {
    queue: Arc<FakeQueue>,
    notices: Arc<Mutex<Vec<Notice>>>,
    shutdown: CancellationToken,
    result: tokio::task::JoinHandle<Result<(), WorkerError>>,
}

impl RunningWorker {
    fn start(queue: FakeQueue, settings: WorkerSettings, process: ItemProcessor) -> Self {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&notices);
        let announce: Announcer = Arc::new(move |notice| {
            recorded.lock().unwrap().push(notice);
            async { Ok(()) }.boxed()
        });
        Self::start_announcing(queue, settings, process, announce, notices)
    }

    fn start_announcing(
        queue: FakeQueue,
        settings: WorkerSettings,
        process: ItemProcessor,
        announce: Announcer,
        notices: Arc<Mutex<Vec<Notice>>>,
    ) -> Self {
        let probe: Probe = Arc::new(|| async { Ok(()) }.boxed());
        Self::start_probing(queue, settings, process, probe, announce, notices)
    }

    fn start_probing(
        queue: FakeQueue,
        settings: WorkerSettings,
        process: ItemProcessor,
        probe: Probe,
        announce: Announcer,
        notices: Arc<Mutex<Vec<Notice>>>,
    ) -> Self {
        let queue = Arc::new(queue);
        let parts = WorkerParts {
            queue: Arc::clone(&queue) as Arc<dyn Queue>,
            process,
            announce,
            probe,
            allowance: Arc::new(OwnAllowance::default()),
            clock: Arc::new(SystemClock),
            observer: Arc::new(NoObserver),
            status: IntakeStatus::default(),
        };
        let shutdown = CancellationToken::new();
        let tracker = TaskTracker::new();
        let result = tracker.spawn(run(settings, parts, shutdown.clone(), tracker.clone()));
        Self { queue, notices, shutdown, result }
    }

    async fn settled(&self, count: usize) -> Vec<(i64, Settlement)> {
        for _ in 0..500 {
            let settled = self.queue.settled();
            if settled.len() >= count {
                return settled;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("only {:?} of {count} were settled", self.queue.settled());
    }

    async fn stop(self) -> (Vec<(i64, Settlement)>, Result<(), WorkerError>) {
        self.shutdown.cancel();
        let result = self.result.await.unwrap();
        (self.queue.settled(), result)
    }
}

fn item(id: &str) -> Vec<u8> {
    format!(r#"{{"schema":1,"item_id":"{id}","text":"Water boils at 100 degrees."}}"#).into_bytes()
}

fn processing(answer: fn(Work) -> Result<ProcessOutcome, ProcessError>) -> ItemProcessor {
    Arc::new(move |work| async move { answer(work) }.boxed())
}

fn settings() -> WorkerSettings {
    WorkerSettings { grace: Duration::from_secs(5), poll_every: Duration::from_millis(20), ..WorkerSettings::default() }
}

fn label(settle: &Settlement) -> String {
    match settle {
        Settlement::Dead { label, .. } => format!("dead {label}"),
        Settlement::Retry { error_label, .. } => format!("retry {error_label}"),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn each_item_is_settled_by_what_came_of_it() {
    let process = processing(|work| match work.item.item_id.as_str() {
        "fine" => Ok(ProcessOutcome::Committed),
        "again" => Err(ProcessError::Transient { label: "store_away", detail: "gone".to_owned() }),
        "never" => Err(ProcessError::Permanent { label: "refused", detail: "no".to_owned() }),
        other => panic!("cannot bear {other}"),
    });
    let queue = FakeQueue::default();
    for (id, name) in (0..).zip(["fine", "again", "never", "boom"]) {
        queue.put(id, QueueName::Enrichment, &item(name), 0);
    }
    queue.put(4, QueueName::Factcheck, b"{not json", 0);
    queue.put(5, QueueName::Factcheck, &item("again"), 4);
    let running = RunningWorker::start(queue, settings(), process);
    let mut settled = running.settled(6).await;
    settled.sort_by_key(|(id, _)| *id);
    let ends: Vec<String> = settled.iter().map(|(_, how)| label(how)).collect();
    assert_eq!(ends, ["Ack", "retry store_away", "dead refused", "dead panic", "dead not_json", "dead store_away"]);
    let Settlement::Dead { error, .. } = &settled[3].1 else { panic!() };
    assert!(error.ends_with("cannot bear boom"), "{error}");

    let mut reported: Vec<(String, String)> =
        running.notices.lock().unwrap().iter().map(|notice| (notice.item_id.clone(), notice.label.clone())).collect();
    reported.sort();
    let expected = [("", "not_json"), ("again", "store_away"), ("boom", "panic"), ("never", "refused")];
    assert_eq!(reported, expected.map(|(item, label)| (item.to_owned(), label.to_owned())));
    assert!(running.stop().await.1.is_ok());
}

#[tokio::test]
async fn the_queue_decides_the_phase() {
    let process = processing(|work| {
        let expected = if work.item.item_id == "enrich" { Phase::Two } else { Phase::One };
        assert_eq!(work.phase, expected);
        Ok(ProcessOutcome::Committed)
    });
    let queue = FakeQueue::default();
    queue.put(1, QueueName::Enrichment, &item("enrich"), 0);
    queue.put(2, QueueName::Factcheck, &item("look up"), 0);
    let running = RunningWorker::start(queue, settings(), process);
    assert!(running.settled(2).await.iter().all(|(_, how)| *how == Settlement::Ack));
}

#[tokio::test]
async fn no_more_is_fetched_than_there_are_hands() {
    let gate = CancellationToken::new();
    let opened = gate.clone();
    let process: ItemProcessor = Arc::new(move |_| {
        let opened = opened.clone();
        async move {
            opened.cancelled().await;
            Ok(ProcessOutcome::Committed)
        }
        .boxed()
    });
    let queue = FakeQueue::default();
    for id in 0..10 {
        queue.put(id, QueueName::Enrichment, &item("a"), 0);
    }
    let running = RunningWorker::start(queue, WorkerSettings { concurrency: 3, ..settings() }, process);
    sleep(Duration::from_millis(100)).await;
    assert_eq!(running.queue.received.load(Ordering::SeqCst), 3);
    gate.cancel();
    assert_eq!(running.settled(10).await.len(), 10);
}

/// Takes the milliseconds that the item's text gives.
fn slow() -> ItemProcessor {
    Arc::new(|work| {
        async move {
            let millis = work.item.item_id.parse().unwrap();
            sleep(Duration::from_millis(millis)).await;
            Ok(ProcessOutcome::Committed)
        }
        .boxed()
    })
}

#[tokio::test]
async fn a_stop_lets_finish_what_can_and_hands_back_the_rest() {
    let queue = FakeQueue::default();
    queue.put(1, QueueName::Enrichment, &item("100"), 0);
    queue.put(2, QueueName::Enrichment, &item("60000"), 0);
    let settings = WorkerSettings { grace: Duration::from_millis(400), ..settings() };
    let running = RunningWorker::start(queue, settings, slow());
    while running.queue.received.load(Ordering::SeqCst) < 2 {
        sleep(Duration::from_millis(5)).await;
    }
    running.shutdown.cancel();
    running.queue.put(3, QueueName::Enrichment, &item("0"), 0);
    let (settled, result) = running.stop().await;
    assert!(result.is_ok());
    assert_eq!(settled, [(1, Settlement::Ack), (2, Settlement::Requeue)], "and nothing more was taken");
}

#[tokio::test]
async fn an_item_that_hangs_frees_its_hand() {
    let queue = FakeQueue::default();
    queue.put(1, QueueName::Enrichment, &item("60000"), 0);
    let settings = WorkerSettings { item_limit: Duration::from_millis(50), ..settings() };
    let running = RunningWorker::start(queue, settings, slow());
    assert_eq!(label(&running.settled(1).await[0].1), "retry stuck");
}

#[tokio::test]
async fn what_cannot_be_settled_is_handed_back() {
    let queue = FakeQueue { failures: Mutex::new(1), ..FakeQueue::default() };
    queue.put(1, QueueName::Enrichment, b"nonsense", 0);
    let running = RunningWorker::start(queue, settings(), processing(|_| Ok(ProcessOutcome::Committed)));
    assert_eq!(running.settled(1).await, [(1, Settlement::Requeue)]);
}

#[tokio::test]
async fn delivery_is_returned_when_upstream_cannot_be_notified() {
    let queue = FakeQueue::default();
    queue.put(1, QueueName::Enrichment, b"nonsense", 0);
    let announce: Announcer = Arc::new(|_| async { Err("the store is away".to_owned()) }.boxed());
    let process = processing(|_| Ok(ProcessOutcome::Committed));
    let running = RunningWorker::start_announcing(queue, settings(), process, announce, Arc::default());
    assert_eq!(running.settled(1).await, [(1, Settlement::Requeue)]);
}

#[tokio::test]
async fn a_crash_of_the_workers_own_code_ends_it_with_an_error() {
    let queue = FakeQueue::default();
    queue.put(1, QueueName::Enrichment, b"nonsense", 0);
    let announce: Announcer = Arc::new(|_| panic!("a defect outside of any item"));
    let process = processing(|_| Ok(ProcessOutcome::Committed));
    let running = RunningWorker::start_announcing(queue, settings(), process, announce, Arc::default());
    let ended = timeout(Duration::from_secs(5), running.result).await.unwrap().unwrap();
    assert!(matches!(ended, Err(WorkerError::Crashed { .. })), "{ended:?}");
}

#[tokio::test]
async fn worker_ends_with_an_error_when_another_part_closes_its_queue() {
    let running = RunningWorker::start(FakeQueue::default(), settings(), slow());
    running.queue.stop_receiving();
    let ended = timeout(Duration::from_secs(5), running.result).await.unwrap().unwrap();
    assert!(matches!(ended, Err(WorkerError::Queue(QueueError::Closed))), "{ended:?}");
}

/// Starts a worker at a queue of 12 with a limit of 10, and lets it take four items after a count.
async fn overloaded(policy: OverloadPolicy) -> (Vec<String>, Vec<NoticeKind>) {
    let process = processing(|work| match work.load {
        Load::Normal => Ok(ProcessOutcome::Committed),
        // Marks degraded items in the settlement.
        Load::Degrade => Err(ProcessError::Permanent { label: "degraded", detail: String::new() }),
    });
    let queue = FakeQueue::default();
    *queue.depth.lock().unwrap() = QueueDepth { enrichment: 12, ..QueueDepth::default() };
    let limits = OverloadLimits { policy, max_queue_length: 10, ..OverloadLimits::default() };
    let settings =
        WorkerSettings { overload: limits, poll_every: Duration::from_mins(1), concurrency: 1, ..settings() };
    let running = RunningWorker::start(queue, settings, process);
    sleep(Duration::from_millis(100)).await;
    for id in 0..4 {
        running.queue.put(id, QueueName::Enrichment, &item("a"), 0);
    }
    let ends = running.settled(4).await.iter().map(|(_, how)| label(how)).collect();
    let reported = running.notices.lock().unwrap().iter().map(|notice| notice.kind).collect();
    (ends, reported)
}

#[tokio::test]
async fn overload_degrades_defers_or_drops() {
    let (ends, _) = overloaded(OverloadPolicy::Degrade).await;
    assert_eq!(ends, ["dead degraded"; 4]);
    let (ends, reported) = overloaded(OverloadPolicy::Defer).await;
    assert_eq!(ends, ["Defer { delay: 120s }", "Defer { delay: 120s }", "Ack", "Ack"]);
    assert_eq!(reported, [NoticeKind::Deferred; 2]);
    let (ends, reported) = overloaded(OverloadPolicy::Drop).await;
    assert_eq!(ends, ["Ack"; 4]);
    assert_eq!(reported, [NoticeKind::Dropped; 2]);
}

#[tokio::test]
async fn an_outage_longer_than_all_retries_costs_no_attempt_and_ends_by_itself() {
    const OUTAGE: Duration = Duration::from_secs(2);
    let began = tokio::time::Instant::now();
    let away = move || began.elapsed() < OUTAGE;
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let process: ItemProcessor = Arc::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            if away() {
                return Err(ProcessError::Away { label: "store_unreachable", detail: "no route".to_owned() });
            }
            Ok(ProcessOutcome::Committed)
        }
        .boxed()
    });
    let probe: Probe =
        Arc::new(move || async move { if away() { Err("no route".to_owned()) } else { Ok(()) } }.boxed());
    let queue = FakeQueue { returning: true, ..FakeQueue::default() };
    for id in 0..50 {
        queue.put(id, QueueName::Enrichment, &item("a"), 0);
    }
    let retry = RetryPolicy { max_attempts: 3, delays: vec![Duration::from_millis(1)], ..RetryPolicy::default() };
    let settings = WorkerSettings { concurrency: 4, retry, ..settings() };
    let announce: Announcer = Arc::new(|notice| panic!("upstream need not know: {notice:?}"));
    let running = RunningWorker::start_probing(queue, settings, process, probe, announce, Arc::default());
    sleep(OUTAGE / 2).await;
    assert!(tries.load(Ordering::SeqCst) <= 8, "{tries:?} items were taken while the store was away");
    assert_eq!(*running.queue.pauses.lock().unwrap(), [true]);
    running.settled(50 + 1).await;
    sleep(OUTAGE).await;
    assert_eq!(*running.queue.pauses.lock().unwrap(), [true, false]);
    let (settled, result) = running.stop().await;
    assert!(result.is_ok());
    assert_eq!(settled.iter().filter(|(_, how)| *how == Settlement::Ack).count(), 50);
    let others: Vec<_> = settled.iter().filter(|(_, how)| *how != Settlement::Ack).collect();
    // Deliveries taken while the pause began are requeued.
    assert!(others.iter().all(|(_, how)| matches!(how, Settlement::Defer { .. } | Settlement::Requeue)), "{others:?}");
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_pause_that_hangs() {
    let queue = FakeQueue { pausing_hangs: true, ..FakeQueue::default() };
    queue.put(1, QueueName::Enrichment, &item("a"), 0);
    let process = processing(|_| Err(ProcessError::Away { label: "store_unreachable", detail: "no route".to_owned() }));
    let running = RunningWorker::start(queue, settings(), process);
    for _ in 0..500 {
        if !running.queue.pauses.lock().unwrap().is_empty() {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(*running.queue.pauses.lock().unwrap(), [true]);
    let stopped = timeout(Duration::from_secs(3), running.stop()).await;
    assert!(stopped.unwrap().1.is_ok());
}

#[tokio::test]
async fn a_delivery_that_cannot_be_settled_for_a_while_is_not_forgotten() {
    let queue = FakeQueue { outage: Mutex::new(3), ..FakeQueue::default() };
    queue.put(1, QueueName::Enrichment, &item("a"), 0);
    let running = RunningWorker::start(queue, settings(), processing(|_| Ok(ProcessOutcome::Committed)));
    assert_eq!(running.settled(1).await, [(1, Settlement::Requeue)]);
}
