//! How long messages wait. Pure; read on a timer, so that the lag grows while nothing moves.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::broker::{QueueDepth, QueueName};

#[derive(Debug, Default, Clone, Copy)]
struct WaitingMessages {
    any: bool,
    /// No waiting message is older than this. The queue is first in, first out, so they came after the last taken
    /// message and after the queue was last empty.
    since: Option<DateTime<Utc>>,
}

impl WaitingMessages {
    fn none_before(&mut self, moment: DateTime<Utc>) {
        self.since = self.since.max(Some(moment));
    }
}

#[derive(Debug, Default)]
struct LagState {
    queues: [WaitingMessages; QueueName::ALL.len()],
    /// The time of the oldest message as the queue reports it.
    oldest: Option<DateTime<Utc>>,
    /// Unsettled deliveries: the time since each could be delivered, and a unique number.
    unsettled: BTreeSet<(DateTime<Utc>, u64)>,
    taken: u64,
    /// The longest wait of deliveries taken since the last `look`.
    longest: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Lag(Mutex<LagState>);

#[derive(Debug, Clone, Copy)]
pub(super) struct DeliveryKey(DateTime<Utc>, u64);

impl Lag {
    fn state(&self) -> MutexGuard<'_, LagState> {
        // Poisoning is harmless, because the data is consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a taken delivery. Without a time it counts from now.
    pub(super) fn taken(&self, queue: QueueName, enqueued: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DeliveryKey {
        let mut state = self.state();
        let enqueued = enqueued.unwrap_or(now).min(now);
        state.taken += 1;
        let number = state.taken;
        state.unsettled.insert((enqueued, number));
        state.longest = state.longest.max(age(enqueued, now));
        of(&mut state, queue).none_before(enqueued);
        DeliveryKey(enqueued, number)
    }

    pub(super) fn settled(&self, delivery: DeliveryKey) {
        self.state().unsettled.remove(&(delivery.0, delivery.1));
    }

    pub(super) fn counted(&self, depth: &QueueDepth, now: DateTime<Utc>) {
        let mut state = self.state();
        state.oldest = depth.oldest;
        for queue in QueueName::ALL {
            let waiting = of(&mut state, queue);
            waiting.any = depth.of(queue) > 0;
            if !waiting.any || waiting.since.is_none() {
                waiting.none_before(now);
            }
        }
    }

    /// Returns the maximum age of messages that wait or run, or the longest wait of deliveries taken since the last
    /// call. After a failed count the previous count remains valid.
    pub(super) fn look(&self, now: DateTime<Utc>) -> Duration {
        let mut state = self.state();
        let waiting: Vec<DateTime<Utc>> = match state.oldest {
            Some(oldest) => vec![oldest],
            None => state.queues.iter().filter(|queue| queue.any).filter_map(|queue| queue.since).collect(),
        };
        let unsettled = state.unsettled.first().map(|(enqueued, _)| *enqueued);
        let oldest = waiting.into_iter().chain(unsettled).min();
        std::mem::take(&mut state.longest).max(oldest.map(|oldest| age(oldest, now)).unwrap_or_default())
    }
}

fn of(state: &mut LagState, queue: QueueName) -> &mut WaitingMessages {
    let [important, enrichment, factcheck] = &mut state.queues;
    match queue {
        QueueName::Important => important,
        QueueName::Enrichment => enrichment,
        QueueName::Factcheck => factcheck,
    }
}

fn age(since: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (now - since).to_std().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    const QUEUE: QueueName = QueueName::Enrichment;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn waiting(enrichment: u64) -> QueueDepth {
        QueueDepth { enrichment, ..QueueDepth::default() }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_standstill_shows_a_lag_that_grows() {
        let lag = Lag::default();
        let delivery = lag.taken(QUEUE, Some(at(0)), at(3));
        lag.settled(delivery);
        lag.counted(&waiting(9), at(4));
        assert_eq!(lag.look(at(4)), seconds(4), "what waits came after the one that was taken last");
        for now in [60, 600, 6_000] {
            lag.counted(&waiting(9), at(now));
            assert_eq!(lag.look(at(now)), seconds(now.unsigned_abs()), "nothing is taken any more");
        }
        assert_eq!(lag.look(at(6_100)), seconds(6_100), "nor can the queue be counted");
    }

    #[test]
    fn a_message_that_comes_to_an_idle_queue_is_no_old_one() {
        let lag = Lag::default();
        lag.settled(lag.taken(QUEUE, Some(at(0)), at(0)));
        lag.counted(&waiting(0), at(9_000));
        assert_eq!(lag.look(at(9_000)), Duration::ZERO);
        lag.counted(&waiting(1), at(9_002));
        assert_eq!(lag.look(at(9_002)), seconds(2), "it came after the queue was last seen empty");
    }

    #[test]
    fn what_hangs_in_work_grows_old_too() {
        let lag = Lag::default();
        let hanging = lag.taken(QUEUE, Some(at(10)), at(12));
        lag.settled(lag.taken(QUEUE, Some(at(11)), at(12)));
        lag.counted(&waiting(0), at(300));
        assert_eq!(lag.look(at(300)), seconds(290));
        lag.settled(hanging);
        assert_eq!(lag.look(at(301)), Duration::ZERO);
    }

    #[test]
    fn the_longest_wait_since_the_last_look_is_not_lost() {
        let lag = Lag::default();
        for enqueued in [5, 90] {
            lag.settled(lag.taken(QUEUE, Some(at(enqueued)), at(100)));
        }
        lag.counted(&waiting(0), at(101));
        assert_eq!(lag.look(at(101)), seconds(95));
        assert_eq!(lag.look(at(103)), Duration::ZERO);
    }

    #[test]
    fn a_queue_that_knows_its_oldest_message_is_believed_and_times_may_be_missing() {
        let lag = Lag::default();
        lag.counted(&QueueDepth { oldest: Some(at(40)), ..waiting(2) }, at(100));
        assert_eq!(lag.look(at(100)), seconds(60));
        let lag = Lag::default();
        lag.settled(lag.taken(QueueName::Factcheck, None, at(100)));
        lag.counted(&QueueDepth { factcheck: 1, ..QueueDepth::default() }, at(100));
        assert_eq!(lag.look(at(130)), seconds(30));
        lag.settled(lag.taken(QUEUE, Some(at(9_000)), at(131)));
        assert_eq!(lag.look(at(131)), seconds(31), "a clock that is ahead makes no lag");
    }
}
