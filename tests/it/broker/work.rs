//! The worker at a real queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use corroborate::broker::{AmqpQueue, EXCERPT_BYTES, NoObserver, Queue, Settlement};
use corroborate::domain::SystemClock;
use corroborate::worker::{
    self, IntakeStatus, ItemProcessor, OwnAllowance, Probe, ProcessError, ProcessOutcome, RetryPolicy, WorkerError,
    WorkerParts, WorkerSettings, announce_over,
};
use futures::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::bed::Bed;

pub(super) struct Worker {
    pub(super) queue: Arc<AmqpQueue>,
    /// The ids of the items that were worked on, in order, doubles and all.
    pub(super) seen: Arc<Mutex<Vec<String>>>,
    /// Whether the store is away.
    away: Arc<AtomicBool>,
    shutdown: CancellationToken,
    result: JoinHandle<Result<(), WorkerError>>,
}

impl Worker {
    /// Items whose text starts with "wait" take a minute, those with "fail" fail for now, all others are done at once.
    pub(super) async fn start(bed: &Bed, grace: Duration) -> Self {
        let queue = Arc::new(bed.connect().await);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let seeing = Arc::clone(&seen);
        let away = Arc::new(AtomicBool::new(false));
        let store = Arc::clone(&away);
        let probe: Probe = Arc::new(move || {
            let away = store.load(Ordering::SeqCst);
            async move { if away { Err("no route".to_owned()) } else { Ok(()) } }.boxed()
        });
        let store = Arc::clone(&away);
        let process: ItemProcessor = Arc::new(move |work| {
            seeing.lock().unwrap().push(work.item.item_id.clone());
            let away = store.load(Ordering::SeqCst);
            async move {
                if away {
                    return Err(ProcessError::Away { label: "store_unreachable", detail: "no route".to_owned() });
                }
                match work.item.text.as_deref().unwrap_or_default().split(' ').next() {
                    Some("wait") => tokio::time::sleep(Duration::from_mins(1)).await,
                    Some("fail") => {
                        return Err(ProcessError::Transient { label: "store_away", detail: "no route".to_owned() });
                    }
                    _ => {}
                }
                Ok(ProcessOutcome::Committed)
            }
            .boxed()
        });
        let shared = Arc::clone(&queue) as Arc<dyn Queue>;
        let parts = WorkerParts {
            queue: Arc::clone(&shared),
            process,
            announce: announce_over(shared, bed.names.results_exchange.clone(), Arc::new(SystemClock)),
            probe,
            allowance: Arc::new(OwnAllowance::default()),
            clock: Arc::new(SystemClock),
            observer: Arc::new(NoObserver),
            status: IntakeStatus::default(),
        };
        let delays = vec![Duration::from_millis(200)];
        let retry = RetryPolicy { max_attempts: 3, delays, ..RetryPolicy::default() };
        let settings = WorkerSettings { concurrency: 4, grace, retry, ..WorkerSettings::default() };
        let shutdown = CancellationToken::new();
        let result = bed.tracker.spawn(worker::run(settings, parts, shutdown.clone(), bed.tracker.clone()));
        Self { queue, seen, away, shutdown, result }
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) async fn stop(self) -> Result<(), WorkerError> {
        self.shutdown.cancel();
        self.result.await.unwrap()
    }
}

pub(super) fn item(id: &str, text: &str) -> Vec<u8> {
    format!(r#"{{"schema":1,"item_id":"{id}","text":"{text}"}}"#).into_bytes()
}

async fn queue_letter(worker: &Worker, id: &str) -> Vec<u8> {
    worker.queue.dead_get(id).await.unwrap().unwrap().body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_message_dies_at_once_with_its_reason_and_blocks_nobody() {
    let Some(bed) = Bed::new("bad").await else { return };
    let worker = Worker::start(&bed, Duration::from_secs(5)).await;
    let notices = bed.listen("item.failed").await;
    let asker = bed.temporary_queue().await;
    let huge = vec![b'{'; 1024 * 1024 + 1];
    let bad: [(&[u8], &str); 5] = [
        (b"{not json", "not_json"),
        (b"\xff\xfe", "not_utf8"),
        (b"", "empty"),
        (&huge, "too_large"),
        (br#"{"schema":1,"item_id":"x7","text":" "}"#, "no_text"),
    ];
    for (body, _) in bad {
        bed.publish_as("item.a", body, |properties| {
            properties.with_reply_to(asker.as_str().into()).with_correlation_id("c1".into())
        })
        .await;
    }
    bed.publish("item.a", &item("good", "fine")).await;
    bed.until("the good one is done", async || worker.seen() == ["good"]).await;
    bed.until("the bad ones are dead", async || worker.queue.depth().await.unwrap().dead == 5).await;

    let mut letters = worker.queue.dead_list(10).await.unwrap();
    for (body, label) in bad {
        let place = letters.iter().position(|letter| letter.label.as_deref() == Some(label)).unwrap();
        let letter = letters.swap_remove(place);
        let is_cut = label == "too_large";
        assert_eq!((letter.bytes, letter.is_cut), (body.len(), is_cut), "{label}");
        let kept = queue_letter(&worker, &letter.id).await;
        assert_eq!(kept, if is_cut { &body[..EXCERPT_BYTES] } else { body }, "{label}");
        assert_eq!(letter.attempts, Some(1));
    }
    // The headers of the contract, as another program sees them.
    let raw = bed.get(&bed.names.dead_queue).await;
    let headers = raw.properties.headers().clone().unwrap();
    for name in ["x-error-label", "x-error", "x-attempts", "x-origin-queue", "x-failed-at"] {
        assert!(headers.contains_key(name), "{name}");
    }

    let mut told = Vec::new();
    for _ in bad {
        let notice = bed.get(&notices).await;
        let result: serde_json::Value = serde_json::from_slice(&notice.data).unwrap();
        assert_eq!(result["status"], "failed");
        told.push(result["item_id"].as_str().unwrap().to_owned());
    }
    told.sort();
    assert_eq!(told, ["", "", "", "", "x7"]);
    assert_eq!(bed.get(&asker).await.properties.correlation_id().as_ref().unwrap().as_str(), "c1");
    worker.stop().await.unwrap();
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_failing_is_given_up_after_its_attempts() {
    let Some(bed) = Bed::new("attempts").await else { return };
    let worker = Worker::start(&bed, Duration::from_secs(5)).await;
    bed.publish("factcheck.a", &item("a", "fail always")).await;
    bed.until("it is given up", async || worker.queue.depth().await.unwrap().dead == 1).await;
    assert_eq!(worker.seen(), ["a", "a", "a"]);
    let letter = &worker.queue.dead_list(1).await.unwrap()[0];
    assert_eq!((letter.label.as_deref(), letter.attempts), (Some("store_away"), Some(3)));
    assert_eq!(letter.error.as_deref(), Some("tried 3 times, the last time: no route"));
    worker.stop().await.unwrap();
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_hands_everything_back_at_once() {
    let Some(bed) = Bed::new("stop").await else { return };
    let worker = Worker::start(&bed, Duration::from_millis(300)).await;
    // Four are worked on, four more are fetched ahead, two wait at the broker.
    for n in 0..10 {
        bed.publish("item.a", &item(&n.to_string(), "wait a minute")).await;
    }
    bed.until("all hands are full", async || worker.seen().len() == 4).await;
    let queue = Arc::clone(&worker.queue);
    worker.stop().await.unwrap();
    // The connection is still open: what went back was handed back, not lost with it.
    bed.until("all ten wait again", async || queue.depth().await.unwrap().enrichment == 10).await;

    drop(queue);
    let heir = bed.connect().await;
    let mut bodies = Vec::new();
    for _ in 0..4 {
        bodies.push(bed.receive(&heir).await.body);
    }
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 4);
    bed.tracker.close();
    drop(heir);
    // Everything that was started ends.
    tokio::time::timeout(super::PATIENCE, bed.tracker.wait()).await.unwrap();
    assert_eq!((bed.supervisor.drain(super::PATIENCE).await, bed.supervisor.failure()), (0, None));
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_away_nothing_is_consumed_and_no_attempt_or_delivery_counts() {
    let Some(bed) = Bed::new("away").await else { return };
    let worker = Worker::start(&bed, Duration::from_secs(5)).await;
    bed.publish("item.a", &item("first", "fine")).await;
    bed.until("it works", async || worker.seen() == ["first"]).await;
    worker.away.store(true, Ordering::SeqCst);
    // Four are taken, four more are fetched ahead.
    for n in 0..12 {
        bed.publish("item.a", &item(&n.to_string(), "fine")).await;
    }
    bed.until("all wait again", async || worker.queue.depth().await.unwrap().enrichment == 12).await;
    let tried = worker.seen().len();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(worker.seen().len(), tried, "nothing is consumed");
    // Another process, whose store is there, gets them, and no attempt was counted.
    let other = bed.connect().await;
    for _ in 0..4 {
        let delivery = bed.receive(&other).await;
        // What had been fetched ahead bears the broker's mark of a second delivery, which counts for nothing.
        assert_eq!(delivery.attempts, 0);
        other.settle(&delivery, Settlement::Ack).await.unwrap();
    }
    drop(other);
    worker.away.store(false, Ordering::SeqCst);
    let seen = worker.seen().len();
    bed.until("the others are done", async || worker.seen().len() >= seen + 8).await;
    bed.until("none is left", async || worker.queue.depth().await.unwrap().enrichment == 0).await;
    assert_eq!(worker.queue.depth().await.unwrap().dead, 0);
    worker.stop().await.unwrap();
    bed.clear().await;
}
