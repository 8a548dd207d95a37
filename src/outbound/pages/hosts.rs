//! Turns at hosts: so many requests at once, a pause between two of them, and rest for those who ask for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

/// Hosts that are known before those that matter no more are let go.
const HOSTS_KEPT: usize = 1024;
/// The longest rest that is granted, whatever a host asks for: afterwards it is asked once, and may say so again.
const LONGEST_REST: Duration = Duration::from_hours(1);

/// The host is left alone for this long yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resting(pub(super) Duration);

/// All hosts this process fetches from.
#[derive(Debug)]
pub(super) struct Hosts {
    per_host: usize,
    known: Mutex<HashMap<String, Arc<Host>>>,
}

#[derive(Debug)]
struct Host {
    places: Arc<Semaphore>,
    calendar: Mutex<Calendar>,
}

#[derive(Debug)]
struct Calendar {
    /// When the next request may begin.
    next: Instant,
    rests_until: Option<Instant>,
}

/// The right to send one request. The place is free again when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    host: Arc<Host>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Hosts {
    pub(super) fn new(per_host: usize) -> Self {
        Self { per_host: per_host.max(1), known: Mutex::default() }
    }

    /// Waits for a place at the host and for the pause since the request before; the caller bounds the wait. A host at
    /// rest is not waited for.
    pub(super) async fn turn(&self, name: &str, pause: Duration) -> Result<Turn, Resting> {
        let host = self.host(name);
        host.awake()?;
        // It is never closed.
        let place = Arc::clone(&host.places).acquire_owned().await.ok();
        // Those before may have been told to wait.
        let begin = host.reserve(pause)?;
        sleep_until(begin).await;
        host.awake()?;
        Ok(Turn { host, _place: place })
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let now = Instant::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= HOSTS_KEPT && !known.contains_key(name) {
            // Those in use are held by someone else too.
            known.retain(|_name, host| Arc::strong_count(host) > 1 || host.matters(now));
        }
        let host = known.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(Host {
                places: Arc::new(Semaphore::new(self.per_host)),
                calendar: Mutex::new(Calendar { next: now, rests_until: None }),
            })
        });
        Arc::clone(host)
    }
}

impl Host {
    fn calendar(&self) -> std::sync::MutexGuard<'_, Calendar> {
        self.calendar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awake(&self) -> Result<(), Resting> {
        self.calendar().awake(Instant::now())
    }

    fn reserve(&self, pause: Duration) -> Result<Instant, Resting> {
        let now = Instant::now();
        let mut calendar = self.calendar();
        calendar.awake(now)?;
        let begin = calendar.next.max(now);
        calendar.next = begin + pause;
        Ok(begin)
    }

    fn matters(&self, now: Instant) -> bool {
        let calendar = self.calendar();
        calendar.next > now || calendar.awake(now).is_err()
    }
}

impl Calendar {
    fn awake(&self, now: Instant) -> Result<(), Resting> {
        match self.rests_until {
            Some(until) if until > now => Err(Resting(until - now)),
            _ => Ok(()),
        }
    }
}

impl Turn {
    /// The host wants to be left alone from now on. Of two such wishes the longer one counts.
    pub(super) fn rest(&self, wait: Duration) {
        let until = Instant::now() + wait.min(LONGEST_REST);
        let mut calendar = self.host.calendar();
        calendar.rests_until = calendar.rests_until.max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn requests_to_one_host_begin_a_pause_apart_and_to_others_at_once() {
        let hosts = Hosts::new(2);
        let start = Instant::now();
        for number in 0..4 {
            drop(hosts.turn("a.example", PAUSE).await.unwrap());
            assert!(start.elapsed() >= PAUSE * number, "request {number} came after {:?}", start.elapsed());
        }
        let waited = hosts.host("a.example").calendar().next;
        assert!(waited > Instant::now(), "the next one waits too");
        // Three pauses are reserved at one, whose times are known without waiting for them.
        let host = hosts.host("b.example");
        let begins: Vec<Instant> = (0..3).map(|_| host.reserve(PAUSE).unwrap()).collect();
        assert!(begins[0] <= Instant::now(), "another host has a calendar of its own");
        assert_eq!([begins[1] - begins[0], begins[2] - begins[1]], [PAUSE, PAUSE]);
        tokio::time::sleep(PAUSE * 4).await;
        assert!(host.reserve(PAUSE).unwrap() > begins[2] + PAUSE, "a pause that has passed is not waited for again");
    }

    #[tokio::test]
    async fn a_host_at_rest_is_left_alone_for_the_time_it_named_and_no_longer_than_the_cap() {
        let hosts = Hosts::new(1);
        let turn = hosts.turn("a.example", Duration::ZERO).await.unwrap();
        let waiting = hosts.turn("a.example", Duration::ZERO);
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        turn.rest(PAUSE * 2);
        turn.rest(PAUSE);
        drop(turn);
        let Err(Resting(rest)) = waiting.await else { panic!("who waited already is told too") };
        assert!(rest <= PAUSE * 2 && rest > PAUSE / 2, "{rest:?}");
        tokio::time::sleep(PAUSE * 3).await;
        hosts.turn("a.example", Duration::ZERO).await.unwrap().rest(Duration::from_hours(24));
        let Err(Resting(rest)) = hosts.turn("a.example", Duration::ZERO).await else { panic!("it rests again") };
        assert!(rest <= LONGEST_REST, "{rest:?}");
    }

    #[tokio::test]
    async fn hosts_are_forgotten_when_they_matter_no_more() {
        let hosts = Hosts::new(1);
        hosts.turn("resting.example", Duration::ZERO).await.unwrap().rest(Duration::from_mins(30));
        let held = hosts.turn("held.example", Duration::ZERO).await.unwrap();
        for number in 0..HOSTS_KEPT * 3 {
            drop(hosts.turn(&format!("{number}.example"), Duration::ZERO).await.unwrap());
        }
        assert!(hosts.known.lock().unwrap().len() <= HOSTS_KEPT + 2);
        assert!(hosts.turn("resting.example", Duration::ZERO).await.is_err());
        drop(held);
    }
}
