//! Permits to request pages from a host: concurrency, a pause between requests, and the host's cool-down.
//!
//! A single process keeps them in memory. Processes with a shared database lease permits there, so that a host sees one
//! visitor. Without the database the host is not requested.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::Rng as _;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::task::TaskTracker;

use crate::store::{HostLease, HostPlace, HostTerms, Store};

/// Maximum known hosts; beyond it unused ones are forgotten.
const HOSTS_KEPT: usize = 1024;
/// Maximum cool-down. Afterwards one request may renew it.
const LONGEST_REST: Duration = Duration::from_hours(1);

/// Interval between checks for a free place, plus up to half by chance, so that processes do not check together.
const LOOK_AGAIN: Duration = Duration::from_millis(150);
/// Maximum time to return a place. It also expires by itself.
const GIVING_BACK: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSlot {
    /// The host is in cool-down for this long.
    Resting(Duration),
    /// None is free in time, or the database is unavailable.
    Busy,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HostLeaseRequest<'a> {
    pub(super) host: &'a str,
    /// Time between starts of requests.
    pub(super) pause: Duration,
    /// Latest time of the permit.
    pub(super) end: Instant,
    /// Maximum duration of the request.
    pub(super) hold: Duration,
}

#[derive(Debug)]
pub(super) struct Hosts {
    per_host: usize,
    known: Mutex<HashMap<String, Arc<Host>>>,
    /// `None` for a single process.
    fleet: Option<Store>,
    tasks: TaskTracker,
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

/// The right to send one request. After a drop its place is free here at once, in the fleet a moment later.
#[derive(Debug)]
pub(super) struct Slot {
    host: Arc<Host>,
    _place: Option<OwnedSemaphorePermit>,
    leased: Option<FleetPlace>,
}

/// A place in the fleet. A drop, also during a request, returns it in the background.
#[derive(Debug)]
struct FleetPlace {
    store: Store,
    host: String,
    place: HostPlace,
    tasks: TaskTracker,
}

impl Hosts {
    pub(super) fn new(per_host: usize) -> Self {
        Self { per_host: per_host.max(1), known: Mutex::default(), fleet: None, tasks: TaskTracker::new() }
    }

    pub(super) fn share(&mut self, store: Store) {
        self.fleet = Some(store);
    }

    pub(super) fn fleet(&self) -> Option<&Store> {
        self.fleet.as_ref()
    }

    /// Waits for a place and the pause; the caller limits the wait. Fails at once in a cool-down.
    pub(super) async fn slot(&self, wish: HostLeaseRequest<'_>) -> Result<Slot, NoSlot> {
        let host = self.host(wish.host);
        host.awake()?;
        // Never closed.
        let place = Arc::clone(&host.places).acquire_owned().await.ok();
        let mut slot = Slot { host, _place: place, leased: None };
        match &self.fleet {
            // A host without a pause is on this network and needs no sharing.
            Some(store) if !wish.pause.is_zero() => slot.leased = Some(self.lease(&slot.host, store, wish).await?),
            _ => {
                // Earlier requests may have started a cool-down.
                let begin = slot.host.reserve(wish.pause)?;
                sleep_until(begin).await;
            }
        }
        slot.host.awake()?;
        Ok(slot)
    }

    async fn lease(&self, host: &Host, store: &Store, wish: HostLeaseRequest<'_>) -> Result<FleetPlace, NoSlot> {
        let HostLeaseRequest { host: name, pause, end, hold } = wish;
        loop {
            host.awake()?;
            let patience = end.saturating_duration_since(Instant::now());
            let terms = HostTerms { host: name, places: self.per_host, pause, patience, hold };
            match store.lease_host(&terms).await {
                Ok(HostLease::Granted { first_in, place }) => {
                    let (store, tasks) = (store.clone(), self.tasks.clone());
                    let leased = FleetPlace { store, host: name.to_owned(), place, tasks };
                    // A caller that leaves drops it.
                    sleep(first_in).await;
                    return Ok(leased);
                }
                Ok(HostLease::Resting(rest)) => {
                    host.rest(rest);
                    return Err(NoSlot::Resting(rest));
                }
                Ok(HostLease::NotBefore(_)) => return Err(NoSlot::Busy),
                Ok(HostLease::Full(lapses_in)) => {
                    let look_again = LOOK_AGAIN.mul_f64(rand::rng().random_range(1.0..1.5));
                    sleep(look_again.min(lapses_in)).await;
                }
                Err(error) => {
                    tracing::warn!(host = name, %error, "page not fetched because the shared host limit is unavailable");
                    return Err(NoSlot::Busy);
                }
            }
        }
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
        let Some(FleetPlace { store, host, .. }) = &self.leased else { return };
        if let Err(error) = store.rest_host(host, wait.min(LONGEST_REST)).await {
            tracing::warn!(host, %error, "sharing a host's cool-down failed");
        }
    }
}

impl Drop for FleetPlace {
    fn drop(&mut self) {
        // Without a runtime the place expires.
        let Ok(runtime) = Handle::try_current() else { return };
        let (store, host, place) = (self.store.clone(), std::mem::take(&mut self.host), self.place);
        let giving_back = async move {
            match timeout(GIVING_BACK, store.give_host_back(&host, place)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(host, %error, "host permit could not be returned; it expires"),
                Err(_elapsed) => tracing::debug!(host, "host permit could not be returned in time; it expires"),
            }
        };
        self.tasks.spawn_on(giving_back, &runtime);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(60);

    fn wish(host: &str, pause: Duration) -> HostLeaseRequest<'_> {
        let hold = Duration::from_secs(10);
        HostLeaseRequest { host, pause, end: Instant::now() + hold, hold }
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
