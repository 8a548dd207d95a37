//! The failure brake in the loop.

use super::*;
use crate::worker::BrakePolicy;

const FAILURES: usize = 3;

const DELAY: Duration = Duration::from_millis(100);

/// Fails every item until `repaired`, and counts the attempts.
fn failing(repaired: &CancellationToken, attempts: &Arc<AtomicUsize>, error: ProcessError) -> ItemProcessor {
    let (repaired, attempts) = (repaired.clone(), Arc::clone(attempts));
    Arc::new(move |_| {
        attempts.fetch_add(1, Ordering::SeqCst);
        let done = if repaired.is_cancelled() { Ok(ProcessOutcome::Committed) } else { Err(error.clone()) };
        async move { done }.boxed()
    })
}

fn braked() -> WorkerSettings {
    let brake = BrakePolicy { window: 10, failures: FAILURES, trials: 1, first_delay: DELAY, longest_delay: DELAY * 2 };
    let retry = RetryPolicy { delays: vec![Duration::from_millis(1)], ..RetryPolicy::default() };
    WorkerSettings { concurrency: 4, brake, retry, ..settings() }
}

#[tokio::test]
async fn worker_takes_one_item_a_pause_when_all_fail_and_all_items_when_one_succeeds() {
    for error in [
        ProcessError::Permanent { label: "store_statement", detail: "damaged".to_owned() },
        ProcessError::Transient { label: "store_statement", detail: "damaged".to_owned() },
    ] {
        let (repaired, attempts) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let queue = FakeQueue { returning: true, ..FakeQueue::default() };
        for id in 0..40 {
            queue.put(id, QueueName::Enrichment, &item(&id.to_string()), 0);
        }
        let running = RunningWorker::start(queue, braked(), failing(&repaired, &attempts, error));
        sleep(DELAY * 8).await;
        let tried = attempts.load(Ordering::SeqCst);
        // Items that were running at the third failure, and one per pause.
        assert!((FAILURES..=FAILURES + 3 + 7).contains(&tried), "{tried} attempts");
        let settled =
            |wanted: fn(&Settlement) -> bool| running.queue.settled().iter().filter(|(_, how)| wanted(how)).count();
        let ended = settled(|how| matches!(how, Settlement::Dead { .. } | Settlement::Retry { .. }));
        let deferred = settled(|how| matches!(how, Settlement::Defer { .. }));
        // Items that were running at the third failure lose no attempt; each trial does.
        assert!((FAILURES..=FAILURES + 7).contains(&ended), "{ended} items used up an attempt");
        assert!(deferred <= 3, "{deferred} items were deferred");
        assert!(running.queue.pauses.lock().unwrap().starts_with(&[true, false, true]));
        repaired.cancel();
        let rest = || 40 - settled(|how| matches!(how, Settlement::Dead { .. } | Settlement::Retry { .. }));
        for _ in 0..500 {
            if settled(|how| *how == Settlement::Ack) == rest() {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(settled(|how| *how == Settlement::Ack), rest(), "the rest is done");
        assert!(running.stop().await.1.is_ok());
    }
}

#[tokio::test]
async fn worker_tries_another_item_when_the_tried_message_is_malformed() {
    let (repaired, attempts) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let queue = FakeQueue { returning: true, ..FakeQueue::default() };
    let error = ProcessError::Permanent { label: "store_corrupt", detail: "damaged".to_owned() };
    for id in 0..3 {
        queue.put(id, QueueName::Enrichment, &item(&id.to_string()), 0);
    }
    let settings = WorkerSettings { concurrency: 1, ..braked() };
    let running = RunningWorker::start(queue, settings, failing(&repaired, &attempts, error));
    running.settled(FAILURES).await;
    repaired.cancel();
    for id in 3..6 {
        running.queue.put(id, QueueName::Enrichment, b"{not json", 0);
    }
    running.queue.put(6, QueueName::Enrichment, &item("good"), 0);
    let settled = running.settled(7).await;
    assert_eq!(settled.last(), Some(&(6, Settlement::Ack)), "{settled:?}");
}
