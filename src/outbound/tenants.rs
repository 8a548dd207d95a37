//! Tenants of one fleet: channels with a common prefix may spend their share of the monthly cap.
//!
//! Steps: [`Tenants::tenant_budget`] gives an item its budget, calls spend from it, and a job sends the sums to the store and
//! reads the totals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::store::Batch;

#[derive(Debug, Clone, PartialEq)]
pub struct Tenant {
    pub name: String,
    /// Prefix of its channels, without case and a leading `@`.
    pub channels: String,
    /// Monthly share, US dollars.
    pub usd: f64,
}

fn plain(channel: &str) -> String {
    channel.trim().trim_start_matches('@').to_lowercase()
}

/// The tenants and their spending. Each process adds its items' spending to the store and reads the total there.
#[derive(Debug, Default)]
pub struct Tenants {
    /// Longest prefix first, so that the most exact one decides.
    all: Vec<Tenant>,
    books: Mutex<Books>,
}

/// This month's US dollars by tenant.
#[derive(Debug, Default)]
struct Books {
    /// Of all processes, as last read.
    stored: BTreeMap<String, f64>,
    /// Of this process, not sent yet.
    owed: BTreeMap<String, f64>,
    /// Sent, not confirmed. The store may have it, so the same batch is sent again.
    handed: Option<Batch<BTreeMap<String, f64>>>,
}

impl Books {
    fn spent(&self, name: &str) -> f64 {
        let handed = self.handed.as_ref().map(|batch| &batch.figures);
        [Some(&self.stored), Some(&self.owed), handed].into_iter().flatten().filter_map(|part| part.get(name)).sum()
    }
}

impl Tenants {
    pub fn new(mut all: Vec<Tenant>) -> Self {
        for tenant in &mut all {
            tenant.channels = plain(&tenant.channels);
        }
        all.sort_by_key(|tenant| std::cmp::Reverse(tenant.channels.len()));
        Self { all, books: Mutex::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the budget of a channel's items; `None` if only the common cap limits them.
    pub(crate) fn tenant_budget(self: &Arc<Self>, channel: Option<&str>) -> Option<TenantBudget> {
        let channel = plain(channel?);
        let tenant = self.all.iter().find(|tenant| channel.starts_with(&tenant.channels))?;
        Some(TenantBudget { tenant: tenant.clone(), tenants: Arc::clone(self) })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Books) -> T) -> T {
        change(&mut self.books.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the unconfirmed batch, else the spending since. It counts as spent until [`Tenants::learn`].
    pub fn hand_over(&self) -> Batch<BTreeMap<String, f64>> {
        self.with(|books| {
            let owed = &mut books.owed;
            books.handed.get_or_insert_with(|| Batch::new(std::mem::take(owed))).clone()
        })
    }

    /// Records that the store confirmed the batch. `stored` is the month's spending of all processes.
    pub fn learn(&self, stored: BTreeMap<String, f64>) {
        self.with(|books| {
            books.stored = stored;
            books.handed = None;
        });
    }

    /// Name, spending and monthly share of each tenant, US dollars.
    pub fn figures(&self) -> Vec<(String, f64, f64)> {
        self.with(|books| {
            self.all.iter().map(|tenant| (tenant.name.clone(), books.spent(&tenant.name), tenant.usd)).collect()
        })
    }

    /// Returns the largest used part of a share: 0 without tenants, 1 if one is used up.
    pub fn most_used(&self) -> f64 {
        let used = |(_, spent, may): (String, f64, f64)| if may > 0.0 { spent / may } else { 1.0 };
        self.figures().into_iter().map(used).fold(0.0, f64::max)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct TenantBudget {
    tenant: Tenant,
    tenants: Arc<Tenants>,
}

impl TenantBudget {
    /// Whether the share is used up. Paid providers are then not called this month.
    pub(crate) fn is_empty(&self) -> bool {
        self.tenants.with(|books| books.spent(&self.tenant.name)) >= self.tenant.usd
    }

    /// Adds a cost. A negative `usd` returns an amount that was not billed.
    pub(crate) fn spend(&self, usd: f64) {
        if usd != 0.0 {
            self.tenants.with(|books| *books.owed.entry(self.tenant.name.clone()).or_default() += usd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenants() -> Arc<Tenants> {
        let tenant = |name: &str, channels: &str, usd| Tenant { name: name.into(), channels: channels.into(), usd };
        Arc::new(Tenants::new(vec![tenant("north", "north/", 2.0), tenant("harbour", "@North/Harbour", 1.0)]))
    }

    #[test]
    fn the_most_exact_beginning_decides_and_other_channels_are_nobodys() {
        let tenants = tenants();
        let name = |channel| tenants.tenant_budget(channel).map(|tenant_budget| tenant_budget.tenant.name);
        assert_eq!(name(Some("@north/news")).as_deref(), Some("north"));
        assert_eq!(name(Some("NORTH/harbour-live")).as_deref(), Some("harbour"));
        assert_eq!((name(Some("south/news")), name(None)), (None, None));
    }

    #[test]
    fn what_is_spent_counts_at_once_and_is_handed_over_once() {
        let tenants = tenants();
        let tenant_budget = tenants.tenant_budget(Some("north/news")).unwrap();
        tenant_budget.spend(1.5);
        assert!(!tenant_budget.is_empty());
        let first = tenants.hand_over();
        assert_eq!(first.figures, BTreeMap::from([("north".to_owned(), 1.5)]));
        tenant_budget.spend(0.5);
        assert!(tenant_budget.is_empty(), "what is on its way counts");
        assert_eq!(tenants.hand_over(), first, "without an answer the same batch is sent again");
        tenants.learn(BTreeMap::from([("north".to_owned(), 1.5)]));
        let second = tenants.hand_over();
        assert_eq!(second.figures, BTreeMap::from([("north".to_owned(), 0.5)]), "nothing is lost on the way");
        assert_ne!(second.id, first.id);
        tenants.learn(BTreeMap::from([("north".to_owned(), 2.25)]));
        assert_eq!(tenants.figures()[1], ("north".to_owned(), 2.25, 2.0));
        assert!((tenants.most_used() - 1.125).abs() < 1e-9, "of the two the one that has used more");
        assert!(tenants.hand_over().figures.is_empty());
        tenants.learn(BTreeMap::new());
        assert!(!tenant_budget.is_empty(), "a new month");
    }

    #[test]
    fn a_share_of_nothing_is_used_up() {
        let of = |usd| Tenants::new(vec![Tenant { name: "north".into(), channels: "north/".into(), usd }]).most_used();
        assert!((of(0.0) - 1.0).abs() < 1e-9, "{}", of(0.0));
        assert!(of(2.0).abs() < 1e-9 && Tenants::default().most_used().abs() < 1e-9);
    }
}
