//! Open connections: how many each client has, and which one closes for a new one.
//!
//! If no slot is free, the connection that has waited longest for a request or body closes. It belongs to the same
//! client if that client is at its limit, else to the client with most connections.
//!
//! A working connection is never closed for another. If all work, the new one gets a reserved slot for probes.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::http::limit::client;

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) total: usize,
    /// An IPv4 address or an IPv6 /64 network.
    pub(super) per_client: usize,
    /// For probes, in addition to `total`.
    pub(super) reserved: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotKind {
    General,
    /// Probes only.
    Reserved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Waits,
    Receives,
    /// Processes the request, or writes the response.
    Works,
}

#[derive(Debug, Clone)]
pub(super) struct Registry {
    limits: Limits,
    open: Arc<Mutex<OpenConnections>>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next_id: u64,
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    client: IpAddr,
    slot: SlotKind,
    stage: Stage,
    since: Instant,
    close: CancellationToken,
}

impl Registry {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, open: Arc::default() }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection and closes another one if necessary; `None` if all work.
    pub(super) fn admit(&self, peer: IpAddr) -> Option<Registration> {
        let client = client(peer);
        let mut open = self.open();
        let slot = open.slot_for(client, self.limits)?;
        let id = open.next_id;
        open.next_id += 1;
        let close = CancellationToken::new();
        let (stage, since) = (Stage::Waits, Instant::now());
        open.connections.insert(id, Connection { client, slot, stage, since, close: close.clone() });
        drop(open);
        Some(Registration { registry: self.clone(), id, slot, close })
    }

    /// Closes the connection that waits longest; false if all work.
    pub(super) fn close_one(&self) -> bool {
        let mut open = self.open();
        let spare = open.spare(|_| true);
        spare.is_some_and(|id| open.close(id))
    }

    pub(super) fn close_waiting(&self) {
        let mut open = self.open();
        let waiting = open.connections.iter().filter(|(_, one)| one.stage == Stage::Waits).map(|(id, _)| *id);
        for id in waiting.collect::<Vec<_>>() {
            open.close(id);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.open().connections.len()
    }
}

impl OpenConnections {
    /// The slot for a new connection. Closes another one if necessary.
    fn slot_for(&mut self, client: IpAddr, limits: Limits) -> Option<SlotKind> {
        let mut held: HashMap<IpAddr, usize> = HashMap::new();
        for one in self.connections.values().filter(|one| one.slot == SlotKind::General) {
            *held.entry(one.client).or_default() += 1;
        }
        let in_the_way = if held.get(&client).is_some_and(|own| *own >= limits.per_client) {
            self.spare(|one| one.slot == SlotKind::General && one.client == client)
        } else if held.values().sum::<usize>() >= limits.total {
            self.spare_of_the_largest(&held)
        } else {
            return Some(SlotKind::General);
        };
        if let Some(id) = in_the_way {
            self.close(id);
            return Some(SlotKind::General);
        }
        let reserved = self.connections.values().filter(|one| one.slot == SlotKind::Reserved).count();
        if reserved >= limits.reserved {
            let spare = self.spare(|one| one.slot == SlotKind::Reserved)?;
            self.close(spare);
        }
        Some(SlotKind::Reserved)
    }

    /// The matching connection that waits longest.
    fn spare(&self, of: impl Fn(&Connection) -> bool) -> Option<u64> {
        let spare = self.connections.iter().filter(|(_, one)| one.stage != Stage::Works && of(one));
        spare.min_by_key(|(id, one)| (one.since, **id)).map(|(id, _)| *id)
    }

    /// The one that waits longest, of the client with most connections.
    fn spare_of_the_largest(&self, held: &HashMap<IpAddr, usize>) -> Option<u64> {
        let is_spare = |one: &&Connection| one.slot == SlotKind::General && one.stage != Stage::Works;
        let clients = self.connections.values().filter(is_spare).map(|one| one.client);
        let largest = clients.max_by_key(|client| (held.get(client).copied(), *client))?;
        self.spare(|one| one.slot == SlotKind::General && one.client == largest)
    }

    /// Frees the slot at once; the task ends later.
    fn close(&mut self, id: u64) -> bool {
        let closed = self.connections.remove(&id);
        closed.is_some_and(|one| {
            one.close.cancel();
            true
        })
    }
}

/// A registered connection; dropping it frees its slot.
#[derive(Debug)]
pub(super) struct Registration {
    registry: Registry,
    id: u64,
    pub(super) slot: SlotKind,
    /// Cancelled when another connection takes the slot.
    pub(super) close: CancellationToken,
}

impl Registration {
    /// Sets the stage; false if closed for another connection.
    pub(super) fn set(&self, stage: Stage) -> bool {
        let mut open = self.registry.open();
        open.connections.get_mut(&self.id).is_some_and(|one| {
            (one.stage, one.since) = (stage, Instant::now());
            true
        })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.open().connections.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { total: 4, per_client: 2, reserved: 1 };

    fn address(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    fn admitted(registry: &Registry, number: u8) -> Registration {
        let one = registry.admit(address(number)).unwrap();
        assert_eq!(one.slot, SlotKind::General, "of {number}");
        one
    }

    fn working(registry: &Registry, number: u8) -> Registration {
        let one = admitted(registry, number);
        assert!(one.set(Stage::Works));
        one
    }

    #[test]
    fn registry_closes_the_clients_longest_waiting_when_it_is_at_its_limit() {
        let registry = Registry::new(LIMITS);
        let (first, other) = (admitted(&registry, 1), admitted(&registry, 2));
        let second = admitted(&registry, 1);
        assert!(first.set(Stage::Works) && first.set(Stage::Waits));
        let third = admitted(&registry, 1);
        assert!(second.close.is_cancelled(), "the first one has been used since");
        assert!(!second.set(Stage::Works), "a closed connection begins nothing");
        let closed = [&first, &other, &third].map(|one| one.close.is_cancelled());
        assert_eq!((closed, registry.len()), ([false; 3], 3));
    }

    #[test]
    fn registry_closes_a_waiting_connection_of_the_largest_holder_when_it_is_full() {
        let registry = Registry::new(LIMITS);
        let oldest = admitted(&registry, 1);
        let large = [admitted(&registry, 2), admitted(&registry, 2)];
        let busy = working(&registry, 3);
        let new = admitted(&registry, 4);
        assert!(large[0].close.is_cancelled());
        assert_eq!([&oldest, &large[1], &busy, &new].map(|one| one.close.is_cancelled()), [false; 4]);
    }

    #[test]
    fn registry_reserves_places_for_probes_when_every_connection_works() {
        let registry = Registry::new(LIMITS);
        let busy = [1, 1, 2, 2].map(|number| working(&registry, number));
        let probe = registry.admit(address(1)).unwrap();
        assert_eq!(probe.slot, SlotKind::Reserved);
        let next = registry.admit(address(3)).unwrap();
        assert_eq!((next.slot, probe.close.is_cancelled()), (SlotKind::Reserved, true), "a silent one makes room");
        assert!(next.set(Stage::Works));
        assert!(registry.admit(address(3)).is_none(), "the last place answers a probe");
        assert!(busy.iter().all(|one| !one.close.is_cancelled()));
        drop(busy);
        assert_eq!(admitted(&registry, 3).slot, SlotKind::General);
    }

    #[test]
    fn registry_closes_the_connection_that_has_waited_longest_for_a_head_or_a_body() {
        let registry = Registry::new(LIMITS);
        let receiving = admitted(&registry, 1);
        assert!(receiving.set(Stage::Receives));
        let later = admitted(&registry, 1);
        let new = admitted(&registry, 1);
        assert!(receiving.close.is_cancelled() && !later.close.is_cancelled(), "the body has taken longer");
        assert!(later.set(Stage::Works) && new.set(Stage::Receives));
        let newer = admitted(&registry, 1);
        assert!(new.close.is_cancelled() && !later.close.is_cancelled() && !newer.close.is_cancelled());
    }

    #[test]
    fn registry_frees_a_place_when_its_connection_ends() {
        let registry = Registry::new(LIMITS);
        let (one, two) = (working(&registry, 1), admitted(&registry, 1));
        drop(one);
        let three = admitted(&registry, 1);
        assert!(!two.close.is_cancelled() && !three.close.is_cancelled());
        registry.close_waiting();
        assert!(two.close.is_cancelled() && three.close.is_cancelled() && registry.len() == 0);
        assert!(!registry.close_one());
    }
}
