//! Leased permits, each valid from its time until a grace period later, and the refunds of unused ones.
//!
//! Pure: the current time is a parameter.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::ledger::{Pace, ReturnedPermits};

/// The times around a lease. Its spans count from a moment between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundTrip {
    pub(super) sent: Instant,
    pub(super) received: Instant,
}

#[derive(Debug)]
pub(super) struct Block {
    /// Latest possible time of the next permit.
    next: Instant,
    period: Duration,
    left: u32,
    /// How long after `next` a permit is certainly valid.
    slack: Duration,
    /// End of the UTC day in which the permits are counted; they expire with it.
    day_ends: Instant,
    leased_for: DateTime<Utc>,
    pub(super) probe: bool,
}

impl Block {
    /// Creates a block. `first_in` and `day_ends_in` count from a moment within the round trip. A permit must not be
    /// used too early or too late, so the round trip's duration reduces the grace period.
    pub(super) fn new(trip: RoundTrip, pace: &Pace, slots: u32, first_in: Duration, day_ends_in: Duration) -> Self {
        let took = trip.received.saturating_duration_since(trip.sent);
        Self {
            next: trip.received + first_in,
            period: pace.period(),
            left: slots,
            slack: pace.grace.saturating_sub(took),
            day_ends: trip.sent + day_ends_in,
            leased_for: DateTime::UNIX_EPOCH,
            probe: false,
        }
    }

    pub(super) fn of(mut self, leased_for: DateTime<Utc>, probe: bool) -> Self {
        (self.leased_for, self.probe) = (leased_for, probe);
        self
    }

    pub(super) const fn leased_for(&self) -> DateTime<Utc> {
        self.leased_for
    }

    /// Time of the next permit; `None` if all are used.
    pub(super) fn head(&self) -> Option<Instant> {
        (self.left > 0).then_some(self.next)
    }

    pub(super) fn take(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.next += self.period;
    }

    /// Drops expired permits. Returns their number.
    pub(super) fn drop_passed(&mut self, now: Instant) -> u32 {
        if now >= self.day_ends {
            return self.rest();
        }
        let Some(beyond) = now.checked_duration_since(self.next + self.slack).filter(|beyond| !beyond.is_zero()) else {
            return 0;
        };
        let passed = beyond.as_nanos() / self.period.as_nanos().max(1) + 1;
        let passed = u32::try_from(passed).unwrap_or(u32::MAX).min(self.left);
        self.next += self.period * passed;
        self.left -= passed;
        passed
    }

    pub(super) fn rest(&mut self) -> u32 {
        std::mem::take(&mut self.left)
    }
}

/// Unsent refunds by day of the lease.
#[derive(Debug, Default)]
pub(super) struct PendingRefunds(Vec<Refund>);

#[derive(Debug, Clone, Copy)]
struct Refund {
    leased_for: DateTime<Utc>,
    slots: u32,
    /// Used permits that were certainly not billed.
    unbilled: u32,
    /// Reserved minus actual cost of used permits, US dollars; may be negative.
    change: f64,
}

impl Refund {
    /// Price times count, because a sum would not be exact.
    fn usd(&self, price: f64) -> f64 {
        price * (f64::from(self.slots) + f64::from(self.unbilled)) + self.change
    }
}

impl PendingRefunds {
    pub(super) fn slots(&mut self, leased_for: DateTime<Utc>, slots: u32) {
        if slots > 0 {
            self.of(leased_for).slots += slots;
        }
    }

    pub(super) fn unbilled(&mut self, leased_for: DateTime<Utc>) {
        self.of(leased_for).unbilled += 1;
    }

    pub(super) fn change(&mut self, leased_for: DateTime<Utc>, usd: f64) {
        self.of(leased_for).change += usd;
    }

    fn of(&mut self, leased_for: DateTime<Utc>) -> &mut Refund {
        let day = leased_for.date_naive();
        let known = self.0.iter().position(|debt| debt.leased_for.date_naive() == day);
        let at = known.unwrap_or_else(|| {
            self.0.push(Refund { leased_for, slots: 0, unbilled: 0, change: 0.0 });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Returns the next refund, at `usd` a permit. A call above its reserved cost reduces later refunds; it never
    /// causes a charge.
    pub(super) fn take(&mut self, usd: f64) -> Option<ReturnedPermits> {
        let at = self.0.iter().rposition(|debt| debt.slots > 0 || debt.unbilled > 0 || debt.change > 0.0)?;
        let debt = self.0.swap_remove(at);
        let worth = debt.usd(usd);
        if worth < 0.0 {
            self.0.insert(0, Refund { slots: 0, unbilled: 0, change: worth, ..debt });
        }
        (debt.slots > 0 || worth >= 0.0).then_some(ReturnedPermits {
            leased_for: debt.leased_for,
            slots: debt.slots,
            usd: worth.max(0.0),
        })
    }

    pub(super) fn put_back(&mut self, back: &ReturnedPermits, usd: f64) {
        let debt = self.of(back.leased_for);
        debt.slots += back.slots;
        debt.change += (back.usd - usd * f64::from(back.slots)).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pace(calls: u32) -> Pace {
        Pace::per_minute(calls)
    }

    fn day() -> Duration {
        Duration::from_hours(24)
    }

    #[test]
    fn a_slot_holds_for_its_grace_less_what_the_round_trip_took() {
        let sent = Instant::now();
        let trip = RoundTrip { sent, received: sent + Duration::from_millis(400) };
        let mut block = Block::new(trip, &pace(60), 3, Duration::from_secs(2), day());
        let first = trip.received + Duration::from_secs(2);
        assert_eq!(block.head(), Some(first));
        assert_eq!(block.drop_passed(first + Duration::from_millis(600)), 0);
        assert_eq!(block.drop_passed(first + Duration::from_millis(601)), 1);
        assert_eq!(block.head(), Some(first + pace(60).period()));
        assert_eq!(block.drop_passed(first + Duration::from_mins(1)), 2);
        assert_eq!(block.head(), None);
    }

    #[test]
    fn slots_end_with_the_day_they_are_counted_in() {
        let now = Instant::now();
        let trip = RoundTrip { sent: now, received: now };
        let mut block = Block::new(trip, &pace(600), 20, Duration::ZERO, Duration::from_millis(500));
        assert_eq!(block.drop_passed(now + Duration::from_millis(499)), 0);
        assert_eq!(block.drop_passed(now + Duration::from_millis(500)), 20);
    }

    #[test]
    fn debts_are_kept_by_day_and_priced_exactly() {
        let mut owed = PendingRefunds::default();
        let today = DateTime::UNIX_EPOCH;
        owed.slots(today, 3);
        owed.slots(today, 0);
        owed.unbilled(today);
        owed.slots(today + day(), 1);
        assert_eq!(owed.take(0.5), Some(ReturnedPermits { leased_for: today + day(), slots: 1, usd: 0.5 }));
        let back = owed.take(0.5).unwrap();
        assert_eq!(back, ReturnedPermits { leased_for: today, slots: 3, usd: 2.0 });
        owed.put_back(&back, 0.5);
        assert_eq!(owed.take(0.5), Some(back));
        assert_eq!(owed.take(0.5), None);
    }

    #[test]
    fn change_is_given_back_and_what_cost_more_is_made_up_for() {
        let mut owed = PendingRefunds::default();
        let today = DateTime::UNIX_EPOCH;
        owed.change(today, 0.25);
        owed.change(today, -0.5);
        assert_eq!(owed.take(0.5), None, "nothing is asked for");
        owed.slots(today, 1);
        assert_eq!(owed.take(0.5), Some(ReturnedPermits { leased_for: today, slots: 1, usd: 0.25 }));
        owed.change(today, -0.75);
        owed.slots(today, 1);
        assert_eq!(owed.take(0.5), Some(ReturnedPermits { leased_for: today, slots: 1, usd: 0.0 }));
        assert_eq!(owed.take(0.5), None);
        owed.change(today, 1.0);
        assert_eq!(owed.take(0.5), Some(ReturnedPermits { leased_for: today, slots: 0, usd: 0.75 }));
    }

    /// Permits leased, round trip (ms), and lateness (share) of one process.
    fn step() -> impl Strategy<Value = (usize, u32, u64, f64, u64, u64)> {
        (0_usize..4, 1_u32..6, 0_u64..900, 0.0..1.0_f64, 0_u64..1_000, 0_u64..3_000)
    }

    proptest! {
        /// No interleaving of four processes, however slow or late, exceeds the rate in a sliding minute.
        #[test]
        fn no_interleaving_exceeds_the_rate(rpm in 1_u32..120, steps in prop::collection::vec(step(), 1..120)) {
            let pace = pace(rpm);
            let (start, mut clock, mut next) = (Instant::now(), Instant::now(), Instant::now());
            let mut arrivals = Vec::new();
            for (_process, slots, trip_ms, lateness, way_ms, pause_ms) in steps {
                clock += Duration::from_millis(pause_ms);
                // The ledger's time is anywhere within the round trip.
                let took = Duration::from_millis(trip_ms);
                let trip = RoundTrip { sent: clock - took.mul_f64(lateness), received: clock + took.mul_f64(1.0 - lateness) };
                let first = next.max(clock);
                next = first + pace.period() * slots;
                let mut block = Block::new(trip, &pace, slots, first - clock, day());
                while let Some(at) = block.head() {
                    let used = at + block.slack.mul_f64(lateness);
                    let mut late = Block { ..block };
                    prop_assert_eq!(late.drop_passed(used), 0);
                    arrivals.push(used.max(start) + Duration::from_millis(way_ms));
                    block.take();
                }
            }
            arrivals.sort();
            let calls = usize::try_from(rpm).unwrap();
            for window in arrivals.windows(calls + 1) {
                prop_assert!(window[calls] - window[0] + Duration::from_micros(10) >= pace.window);
            }
        }
    }
}
