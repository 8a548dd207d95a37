//! Permits to request pages from a host: concurrency, a pause between requests, and the host's cool-down.
//!
//! Each process limits its concurrent requests. Processes with a shared database keep pauses and cool-downs together, so
//! that a host sees the pace of one visitor. Without that database the host is not requested.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until};

use crate::store::{HostVisit, Store};

/// Maximum known hosts; beyond it unused ones are forgotten.
const HOSTS_KEPT: usize = 1024;
/// Maximum cool-down. Afterwards one request may renew it.
const LONGEST_REST: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSlot {
    /// The host is in cool-down for this long.
    Resting(Duration),
    /// None is free in time, or the database is unavailable.
    Busy,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HostRequest<'a> {
    pub(super) host: &'a str,
    /// Time between starts of requests.
    pub(super) pause: Duration,
    /// Latest time of the permit.
    pub(super) end: Instant,
}

#[derive(Debug)]
pub(super) struct Hosts {
    per_host: usize,
    known: Mutex<HashMap<String, Arc<Host>>>,
    /// `None` for a single process.
    fleet: Option<Store>,
}

#[derive(Debug)]
struct Host {
    places: Arc<Semaphore>,
    calendar: Mutex<Calendar>,
}

#[derive(Debug)]
struct Calendar {
    /// Earliest start of the next request.
    next: Instant,
    rests_until: Option<Instant>,
}

/// The right to send one request. A drop frees its place.
#[derive(Debug)]
pub(super) struct Slot {
    name: String,
    host: Arc<Host>,
    _place: Option<OwnedSemaphorePermit>,
    fleet: Option<Store>,
}

impl Hosts {
    pub(super) fn new(per_host: usize) -> Self {
        Self { per_host: per_host.max(1), known: Mutex::default(), fleet: None }
    }

    pub(super) fn share(&mut self, store: Store) {
        self.fleet = Some(store);
    }

    /// Waits for a place and the pause; the caller limits the wait. Fails at once in a cool-down.
    pub(super) async fn slot(&self, wish: HostRequest<'_>) -> Result<Slot, NoSlot> {
        let host = self.host(wish.host);
        host.awake()?;
        // Never closed.
        let place = Arc::clone(&host.places).acquire_owned().await.ok();
        // Earlier requests may have started a cool-down.
        host.awake()?;
        // A host without a pause is on this network and needs no sharing.
        let fleet = self.fleet.clone().filter(|_| !wish.pause.is_zero());
        match &fleet {
            Some(store) => sleep(visit(&host, store, wish).await?).await,
            None => sleep_until(host.reserve(wish.pause)?).await,
        }
        host.awake()?;
        Ok(Slot { name: wish.host.to_owned(), host, _place: place, fleet })
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let now = Instant::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= HOSTS_KEPT && !known.contains_key(name) {
            // Hosts in use have further references.
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

/// Returns the wait until the request.
async fn visit(host: &Host, store: &Store, wish: HostRequest<'_>) -> Result<Duration, NoSlot> {
    let patience = wish.end.saturating_duration_since(Instant::now());
    match store.visit_host(wish.host, wish.pause, patience).await {
        Ok(HostVisit::In(wait)) => Ok(wait),
        Ok(HostVisit::Resting(rest)) => {
            host.rest(rest);
            Err(NoSlot::Resting(rest))
        }
        Ok(HostVisit::Late) => Err(NoSlot::Busy),
        Err(error) => {
            tracing::warn!(host = wish.host, %error, "page not fetched because the shared host limit is unavailable");
            Err(NoSlot::Busy)
        }
    }
}

impl Host {
    fn calendar(&self) -> std::sync::MutexGuard<'_, Calendar> {
        self.calendar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awake(&self) -> Result<(), NoSlot> {
        self.calendar().awake(Instant::now())
    }

    fn rest(&self, wait: Duration) {
        let until = Instant::now() + wait.min(LONGEST_REST);
        let mut calendar = self.calendar();
        calendar.rests_until = calendar.rests_until.max(Some(until));
    }

    fn reserve(&self, pause: Duration) -> Result<Instant, NoSlot> {
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
    fn awake(&self, now: Instant) -> Result<(), NoSlot> {
        match self.rests_until {
            Some(until) if until > now => Err(NoSlot::Resting(until - now)),
            _ => Ok(()),
        }
    }
}

impl Slot {
    /// Starts the host's cool-down. The longer of two counts.
    pub(super) async fn rest(&self, wait: Duration) {
        self.host.rest(wait);
        let Some(store) = &self.fleet else { return };
        if let Err(error) = store.rest_host(&self.name, wait.min(LONGEST_REST)).await {
            tracing::warn!(host = self.name, %error, "sharing a host's cool-down failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(60);

    fn wish(host: &str, pause: Duration) -> HostRequest<'_> {
        HostRequest { host, pause, end: Instant::now() + Duration::from_secs(10) }
    }

    #[tokio::test]
    async fn requests_to_one_host_begin_a_pause_apart_and_to_others_at_once() {
        let hosts = Hosts::new(2);
        let start = Instant::now();
        for number in 0..4 {
            drop(hosts.slot(wish("a.example", PAUSE)).await.unwrap());
            assert!(start.elapsed() >= PAUSE * number, "request {number} came after {:?}", start.elapsed());
        }
        let waited = hosts.host("a.example").calendar().next;
        assert!(waited > Instant::now(), "the next one waits too");
        let host = hosts.host("b.example");
        let begins: Vec<Instant> = (0..3).map(|_| host.reserve(PAUSE).unwrap()).collect();
        assert!(begins[0] <= Instant::now(), "another host has a calendar of its own");
        assert_eq!([begins[1] - begins[0], begins[2] - begins[1]], [PAUSE, PAUSE]);
        sleep(PAUSE * 4).await;
        assert!(host.reserve(PAUSE).unwrap() > begins[2] + PAUSE, "a pause that has passed is not waited for again");
    }

    #[tokio::test]
    async fn a_host_at_rest_is_left_alone_for_the_time_it_named_and_no_longer_than_the_cap() {
        let hosts = Hosts::new(1);
        let slot = hosts.slot(wish("a.example", Duration::ZERO)).await.unwrap();
        let waiting = hosts.slot(wish("a.example", Duration::ZERO));
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        slot.rest(PAUSE * 2).await;
        slot.rest(PAUSE).await;
        drop(slot);
        let Err(NoSlot::Resting(rest)) = waiting.await else { panic!("who waited already is told too") };
        assert!(rest <= PAUSE * 2 && rest > PAUSE / 2, "{rest:?}");
        sleep(PAUSE * 3).await;
        hosts.slot(wish("a.example", Duration::ZERO)).await.unwrap().rest(Duration::from_hours(24)).await;
        let Err(NoSlot::Resting(rest)) = hosts.slot(wish("a.example", Duration::ZERO)).await else {
            panic!("it rests again")
        };
        assert!(rest <= LONGEST_REST, "{rest:?}");
    }

    #[tokio::test]
    async fn hosts_are_forgotten_when_they_matter_no_more() {
        let hosts = Hosts::new(1);
        hosts.slot(wish("resting.example", Duration::ZERO)).await.unwrap().rest(Duration::from_mins(30)).await;
        let held = hosts.slot(wish("held.example", Duration::ZERO)).await.unwrap();
        for number in 0..HOSTS_KEPT * 3 {
            drop(hosts.slot(wish(&format!("{number}.example"), Duration::ZERO)).await.unwrap());
        }
        assert!(hosts.known.lock().unwrap().len() <= HOSTS_KEPT + 2);
        assert!(hosts.slot(wish("resting.example", Duration::ZERO)).await.is_err());
        drop(held);
    }
}
