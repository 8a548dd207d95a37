//! When a provider is left alone. A pure state machine: the present moment and the jitter are parameters.
//!
//! The error's class decides. A throttle opens at once and respects the provider's own wait; a used-up quota is
//! "exhausted until", not an outage; a refused key stops the provider for good; failures count. After the wait one
//! probe is let through, and only its outcome closes the breaker.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::error::AskError;
use super::gate::GateState;

/// Repeated openings without a success in between double the wait, up to this factor: GDELT's penalty, for one, grows
/// with every call made while it lasts.
const LONGEST_FACTOR: u32 = 8;
/// The shortest wait after a throttle: "Retry-After: 0" must not become a tight loop.
const SHORTEST_THROTTLE: Duration = Duration::from_secs(1);
/// Up to this share is added to every wait, so that many processes do not come back in the same second.
const JITTER: f64 = 0.1;
/// How long a quota is believed to be gone when the provider does not say until when: till the next UTC midnight,
/// though not shorter than this.
const SHORTEST_EXHAUSTION: Duration = Duration::from_hours(1);
/// No quota window is longer than a month.
const LONGEST_EXHAUSTION: Duration = Duration::from_hours(32 * 24);
/// A provider whose API was switched off for us is asked again this often: it may be mended at its side, without a
/// restart of ours. (A refused key needs a new configuration, hence a restart.)
const DISABLED_RECHECK: Duration = Duration::from_hours(1);

/// What a call that is let through must hand back with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    /// Which closed (or half-open) period let it through; outcomes of an earlier one no longer count.
    generation: u64,
    pub(super) probe: bool,
}

/// Why a call is not let through. `until` is `None` for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: GateState,
    pub(super) until: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { kind: GateState, until: Option<Instant> },
    HalfOpen { since: Instant },
}

/// One provider's breaker.
#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    generation: u64,
    /// Openings since the last success.
    trips: u32,
    cooldown: Duration,
    failures_to_open: u32,
    /// How long a probe may be out: what callers in the meantime are told.
    probe_time: Duration,
}

impl Breaker {
    pub(super) fn new(cooldown: Duration, failures_to_open: u32, probe_time: Duration) -> Self {
        Self {
            state: State::Closed { failures: 0 },
            generation: 0,
            trips: 0,
            cooldown,
            failures_to_open: failures_to_open.max(1),
            probe_time,
        }
    }

    /// Whether a call would be let through now, without letting it.
    pub(super) fn refusal(&self, now: Instant) -> Option<Refusal> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { until: Some(until), .. } if until <= now => None,
            State::Open { kind, until } => Some(Refusal { kind, until }),
            State::HalfOpen { since } => {
                Some(Refusal { kind: GateState::Open, until: Some((since + self.probe_time).max(now)) })
            }
        }
    }

    /// Lets a call through, or says why not. After the wait of an open breaker exactly one call passes, as the probe.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Admission, Refusal> {
        if let Some(refusal) = self.refusal(now) {
            return Err(refusal);
        }
        let probe = matches!(self.state, State::Open { .. });
        if probe {
            self.state = State::HalfOpen { since: now };
            self.generation += 1;
        }
        Ok(Admission { generation: self.generation, probe })
    }

    /// The provider answered, be it "nothing found" or "not this query".
    pub(super) fn succeeded(&mut self, admission: Admission) {
        if admission.generation != self.generation || matches!(self.state, State::Open { .. }) {
            return;
        }
        self.state = State::Closed { failures: 0 };
        self.trips = 0;
    }

    /// The call ended without telling anything of the provider: the caller's time was up, or it went away. A probe's
    /// place is free again.
    pub(super) fn abandoned(&mut self, admission: Admission, now: Instant) {
        if admission.probe && admission.generation == self.generation && matches!(self.state, State::HalfOpen { .. }) {
            self.state = State::Open { kind: GateState::Open, until: Some(now) };
        }
    }

    /// The call failed. Returns whether the breaker opened because of it. `jitter` is drawn from [0, 1).
    pub(super) fn failed(
        &mut self,
        admission: Admission,
        error: &AskError,
        now: Instant,
        utc: DateTime<Utc>,
        jitter: f64,
    ) -> bool {
        match error {
            AskError::Throttled { retry_after } => {
                let wait = match retry_after {
                    Some(wait) => (*wait).max(SHORTEST_THROTTLE * self.factor()),
                    None => self.cooldown * self.factor(),
                };
                self.open(admission, GateState::Open, Some(now + jittered(wait, jitter)))
            }
            AskError::QuotaGone { until } => {
                let until = until.unwrap_or_else(|| next_midnight(utc));
                let wait = (until - utc).to_std().unwrap_or_default().clamp(SHORTEST_EXHAUSTION, LONGEST_EXHAUSTION);
                self.open(admission, GateState::Exhausted, Some(now + wait))
            }
            AskError::BadKey { .. } => self.open(admission, GateState::Disabled, None),
            AskError::Disabled { .. } => self.open(admission, GateState::Disabled, Some(now + DISABLED_RECHECK)),
            error if error.counts_for_breaker() => self.count(admission, now, jitter),
            AskError::Refused { .. } => {
                self.succeeded(admission);
                false
            }
            _ => {
                self.abandoned(admission, now);
                false
            }
        }
    }

    fn count(&mut self, admission: Admission, now: Instant, jitter: f64) -> bool {
        if admission.generation != self.generation {
            return false;
        }
        match &mut self.state {
            State::Closed { failures } => {
                *failures += 1;
                if *failures < self.failures_to_open {
                    return false;
                }
            }
            State::HalfOpen { .. } => {}
            // Calls that were under way when it opened: it is open already.
            State::Open { .. } => return false,
        }
        let wait = jittered(self.cooldown * self.factor(), jitter);
        self.open(admission, GateState::Open, Some(now + wait))
    }

    fn open(&mut self, admission: Admission, kind: GateState, until: Option<Instant>) -> bool {
        if let State::Open { kind: present_kind, until: present } = &mut self.state {
            // A call that was under way when it opened: it may make the wait longer, not shorter, and is no new opening.
            // "For good" is longer than any moment.
            if present.is_some_and(|present| until.is_none_or(|until| until > present)) {
                *present = until;
                *present_kind = kind;
            }
            return false;
        }
        let stale = admission.generation != self.generation;
        if !stale {
            self.trips = self.trips.saturating_add(1);
        }
        self.state = State::Open { kind, until };
        self.generation += 1;
        true
    }

    fn factor(&self) -> u32 {
        2_u32.saturating_pow(self.trips).min(LONGEST_FACTOR)
    }

    /// The state to show, and until when.
    pub(super) fn state(&self, now: Instant) -> (GateState, Option<Instant>) {
        match self.state {
            State::Closed { .. } => (GateState::Ready, None),
            State::Open { kind, until } => (kind, until.map(|until| until.max(now))),
            State::HalfOpen { since } => (GateState::Open, Some(since + self.probe_time)),
        }
    }
}

fn jittered(wait: Duration, jitter: f64) -> Duration {
    wait.mul_f64(1.0 + JITTER * jitter.clamp(0.0, 1.0))
}

fn next_midnight(utc: DateTime<Utc>) -> DateTime<Utc> {
    utc.date_naive().succ_opt().and_then(|day| day.and_hms_opt(0, 0, 0)).map_or(utc, |midnight| midnight.and_utc())
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;
    use proptest::prelude::*;

    use super::*;

    const COOLDOWN: Duration = Duration::from_mins(10);

    fn noon() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 18, 12, 0, 0).unwrap()
    }

    fn breaker() -> Breaker {
        Breaker::new(COOLDOWN, 3, Duration::from_secs(10))
    }

    fn fail(breaker: &mut Breaker, error: &AskError, now: Instant) -> bool {
        let admission = breaker.admit(now).unwrap();
        breaker.failed(admission, error, now, noon(), 0.0)
    }

    fn server() -> AskError {
        AskError::Server { status: 503 }
    }

    #[test]
    fn a_throttle_opens_at_once_for_as_long_as_the_provider_says() {
        let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        let cases = [(seconds(120.0), 120.0), (seconds(0.0), 1.0), (seconds(0.5), 1.0), (None, 600.0)];
        for (retry_after, wait) in cases {
            let (mut breaker, now) = (breaker(), Instant::now());
            assert!(fail(&mut breaker, &AskError::Throttled { retry_after }, now));
            let until = now + Duration::from_secs_f64(wait);
            assert_eq!(breaker.state(now), (GateState::Open, Some(until)), "{retry_after:?}");
            assert!(breaker.admit(until.checked_sub(Duration::from_millis(1)).unwrap()).is_err());
            assert!(breaker.admit(until).is_ok_and(|admission| admission.probe));
        }
    }

    #[test]
    fn failures_count_to_the_limit_and_a_success_clears_them() {
        let (mut breaker, now) = (breaker(), Instant::now());
        for error in [server(), AskError::Timeout] {
            assert!(!fail(&mut breaker, &error, now));
        }
        let admission = breaker.admit(now).unwrap();
        breaker.succeeded(admission);
        for error in [AskError::Connect { detail: String::new() }, AskError::Timeout] {
            assert!(!fail(&mut breaker, &error, now));
        }
        assert!(fail(&mut breaker, &server(), now));
        assert_eq!(breaker.state(now), (GateState::Open, Some(now + COOLDOWN)));
    }

    #[test]
    fn a_refused_query_says_the_provider_is_alive() {
        let (mut breaker, now) = (breaker(), Instant::now());
        fail(&mut breaker, &server(), now);
        fail(&mut breaker, &server(), now);
        assert!(!fail(&mut breaker, &AskError::Refused { detail: String::new() }, now));
        assert!(!fail(&mut breaker, &server(), now));
        assert_eq!(breaker.state(now).0, GateState::Ready);
    }

    #[test]
    fn one_probe_passes_and_its_outcome_decides() {
        let (mut breaker, now) = (breaker(), Instant::now());
        fail(&mut breaker, &AskError::Throttled { retry_after: None }, now);
        let later = now + COOLDOWN;
        let probe = breaker.admit(later).unwrap();
        assert!(probe.probe);
        assert!(breaker.admit(later).is_err(), "only one probe at a time");
        assert!(breaker.failed(probe, &server(), later, noon(), 0.0), "a failed probe opens without counting to three");
        assert_eq!(breaker.state(later).1, Some(later + COOLDOWN * 2), "the second wait is doubled");

        let much_later = later + COOLDOWN * 2;
        let probe = breaker.admit(much_later).unwrap();
        breaker.succeeded(probe);
        assert!(breaker.admit(much_later).is_ok_and(|admission| !admission.probe));
        fail(&mut breaker, &AskError::Throttled { retry_after: None }, much_later);
        assert_eq!(breaker.state(much_later).1, Some(much_later + COOLDOWN), "a success forgets the doubling");
    }

    #[test]
    fn an_abandoned_probe_frees_its_place() {
        let (mut breaker, now) = (breaker(), Instant::now());
        fail(&mut breaker, &AskError::Throttled { retry_after: None }, now);
        let later = now + COOLDOWN;
        let probe = breaker.admit(later).unwrap();
        breaker.failed(probe, &AskError::Deadline, later, noon(), 0.0);
        assert!(breaker.admit(later).is_ok_and(|admission| admission.probe));
    }

    #[test]
    fn a_refused_key_stops_for_good_and_a_switched_off_api_is_asked_again_hourly() {
        let (mut breaker, now) = (breaker(), Instant::now());
        fail(&mut breaker, &AskError::BadKey { detail: String::new() }, now);
        let refusal = breaker.admit(now + Duration::from_secs(10_000_000)).unwrap_err();
        assert_eq!(refusal, Refusal { kind: GateState::Disabled, until: None });

        let mut breaker = Breaker::new(COOLDOWN, 3, Duration::from_secs(10));
        fail(&mut breaker, &AskError::Disabled { detail: String::new() }, now);
        assert_eq!(breaker.state(now), (GateState::Disabled, Some(now + DISABLED_RECHECK)));
        assert!(breaker.admit(now + DISABLED_RECHECK).is_ok());
    }

    #[test]
    fn a_used_up_quota_is_exhausted_until_the_provider_says_or_the_next_day() {
        let hours = |hours: i64| noon() + chrono::Duration::hours(hours);
        let cases = [(Some(hours(5)), 5), (None, 12), (Some(hours(-3)), 1), (Some(hours(90 * 24)), 32 * 24)];
        for (until, wait) in cases {
            let (mut breaker, now) = (breaker(), Instant::now());
            fail(&mut breaker, &AskError::QuotaGone { until }, now);
            let expected = now + Duration::from_secs(wait * 3600);
            assert_eq!(breaker.state(now), (GateState::Exhausted, Some(expected)), "{until:?}");
        }
    }

    #[test]
    fn outcomes_of_calls_made_before_it_opened_neither_close_nor_count() {
        let (mut breaker, now) = (breaker(), Instant::now());
        let early = breaker.admit(now).unwrap();
        let other = breaker.admit(now).unwrap();
        fail(&mut breaker, &AskError::Throttled { retry_after: None }, now);
        breaker.succeeded(early);
        assert!(breaker.admit(now).is_err(), "a late success does not close it");
        let longer = AskError::Throttled { retry_after: Some(COOLDOWN * 3) };
        assert!(!breaker.failed(other, &longer, now, noon(), 0.0), "it is no second opening");
        assert_eq!(breaker.state(now).1, Some(now + COOLDOWN * 3), "though it makes the wait longer");
        assert!(!breaker.failed(other, &AskError::Throttled { retry_after: None }, now, noon(), 0.0));
        assert_eq!(breaker.state(now).1, Some(now + COOLDOWN * 3), "and never shorter");
    }

    #[test]
    fn the_wait_is_jittered_upwards_only() {
        let now = Instant::now();
        let mut breaker = breaker();
        let admission = breaker.admit(now).unwrap();
        breaker.failed(admission, &AskError::Throttled { retry_after: None }, now, noon(), 0.999);
        let until = breaker.state(now).1.unwrap();
        assert!(until > now + COOLDOWN && until <= now + COOLDOWN.mul_f64(1.1));
    }

    fn any_error() -> impl Strategy<Value = AskError> {
        prop_oneof![
            Just(AskError::Timeout),
            Just(AskError::Deadline),
            Just(AskError::Refused { detail: String::new() }),
            Just(AskError::Throttled { retry_after: None }),
            (0_u64..100_000)
                .prop_map(|seconds| AskError::Throttled { retry_after: Some(Duration::from_secs(seconds)) }),
            Just(AskError::QuotaGone { until: None }),
        ]
    }

    proptest! {
        /// Whatever happens in whatever order: at most one probe is out, and without a refused key every wait ends.
        #[test]
        fn at_most_one_probe_and_every_wait_ends(steps in prop::collection::vec((any_error(), any::<bool>(), 0_u64..5000), 1..60)) {
            let mut breaker = breaker();
            let mut now = Instant::now();
            for (error, succeeds, pause) in steps {
                now += Duration::from_secs(pause);
                let Ok(admission) = breaker.admit(now) else { continue };
                if admission.probe {
                    prop_assert!(breaker.admit(now).is_err());
                }
                if succeeds { breaker.succeeded(admission) } else { breaker.failed(admission, &error, now, noon(), 0.5); }
            }
            prop_assert!(breaker.admit(now + LONGEST_EXHAUSTION).is_ok());
        }
    }
}
