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
    opened(breaker.failed(admission, error, now, noon(), 0.0).as_ref())
}

fn opened(outcome: Option<&CallOutcome>) -> bool {
    matches!(outcome, Some(CallOutcome::Opened { .. }))
}

fn server() -> AskError {
    AskError::Server { status: 503 }
}

#[test]
fn breaker_opens_for_named_wait_when_provider_throttles() {
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
fn breaker_counts_provider_as_alive_when_query_is_refused() {
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
    assert!(
        opened(breaker.failed(probe, &server(), later, noon(), 0.0).as_ref()),
        "a failed probe opens without counting to three"
    );
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
fn a_refused_key_is_tried_once_a_day_and_a_switched_off_api_hourly() {
    let (mut breaker, now) = (breaker(), Instant::now());
    fail(&mut breaker, &AskError::BadKey { detail: "unpaid".into() }, now);
    let refusal = breaker.admit(now + Duration::from_hours(23)).unwrap_err();
    assert_eq!(refusal, Refusal { state: GateState::Disabled, until: now + BAD_KEY_RECHECK });
    assert!(breaker.reason().unwrap().contains("unpaid"));
    assert!(breaker.admit(now + BAD_KEY_RECHECK).is_ok_and(|admission| admission.probe));

    let mut breaker = Breaker::new(COOLDOWN, 3, Duration::from_secs(10));
    fail(&mut breaker, &AskError::Disabled { detail: String::new() }, now);
    assert_eq!(breaker.state(now), (GateState::Disabled, Some(now + DISABLED_RECHECK)));
    assert!(breaker.admit(now + DISABLED_RECHECK).is_ok());
}

#[test]
fn breaker_is_exhausted_until_named_time_or_next_day_when_quota_is_used_up() {
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
    let generation = breaker.generation();
    assert!(opened(breaker.failed(other, &longer, now, noon(), 0.0).as_ref()), "other processes learn of it");
    assert_eq!(breaker.generation(), generation, "it is no second opening");
    assert_eq!(breaker.state(now).1, Some(now + COOLDOWN * 3), "though it makes the wait longer");
    assert_eq!(breaker.failed(other, &AskError::Throttled { retry_after: None }, now, noon(), 0.0), None);
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

#[test]
fn open_wait_is_at_most_a_day_when_the_cooldown_is_long() {
    let day = Duration::from_hours(24);
    let throttled = |retry_after| AskError::Throttled { retry_after };
    for error in [server(), throttled(None), throttled(Some(day * 5))] {
        let (mut breaker, now) = (Breaker::new(day, 1, Duration::from_secs(10)), Instant::now());
        fail(&mut breaker, &error, now);
        let later = now + day;
        assert_eq!(breaker.state(now), (GateState::Open, Some(later)), "{error}");
        fail(&mut breaker, &error, later);
        assert_eq!(breaker.state(later).1, Some(later + day), "no doubling beyond a day: {error}");
    }
}

fn shared(state: GateState, until_in: Duration, trips: u32, version: i64) -> SharedBreaker {
    SharedBreaker { state, until_in, trips, version, reason: Some("shared".into()) }
}

#[test]
fn breaker_takes_over_newer_states_of_other_processes_only() {
    let (mut breaker, now) = (breaker(), Instant::now());
    let early = breaker.admit(now).unwrap();
    let open = shared(GateState::Open, COOLDOWN, 2, 7);
    assert_eq!(breaker.learn(&open, now, false), Some(GateState::Open));
    assert_eq!((breaker.state(now), breaker.reason()), ((GateState::Open, Some(now + COOLDOWN)), Some("shared")));
    assert_eq!(breaker.succeeded(early), None, "a late success closes nothing");
    assert_eq!(breaker.learn(&shared(GateState::Ready, Duration::ZERO, 0, 6), now, false), None);
    assert!(breaker.admit(now).is_err(), "an older state does not count");
    assert_eq!(breaker.learn(&shared(GateState::Ready, Duration::ZERO, 0, 8), now, false), Some(GateState::Ready));
    assert!(breaker.admit(now).is_ok_and(|admission| !admission.probe));
}

#[test]
fn breaker_stays_open_here_when_the_store_does_not_know_it() {
    let (mut breaker, now) = (breaker(), Instant::now());
    fail(&mut breaker, &AskError::Throttled { retry_after: None }, now);
    assert_eq!(breaker.learn(&SharedBreaker::default(), now, false), None);
    assert!(breaker.admit(now).is_err());
    let later = now + COOLDOWN;
    assert_eq!(breaker.learn(&SharedBreaker::default(), later, true), Some(GateState::Ready), "an answer counts");
    assert!(breaker.admit(later).is_ok_and(|admission| !admission.probe));
}

#[test]
fn probe_outcome_is_reported_with_the_trips_and_version_of_the_fleet() {
    let (mut breaker, now) = (breaker(), Instant::now());
    breaker.learn(&shared(GateState::Open, Duration::ZERO, 2, 5), now, true);
    let probe = breaker.admit(now).unwrap();
    assert!(probe.probe && probe.version == 5);
    let outcome = breaker.failed(probe, &server(), now, noon(), 0.0);
    let reason = server().to_string();
    assert_eq!(outcome, Some(CallOutcome::Opened { state: GateState::Open, wait: COOLDOWN * 4, reason }));
    breaker.learn(&shared(GateState::Open, Duration::ZERO, 3, 7), now, true);
    let probe = breaker.admit(now).unwrap();
    assert_eq!(breaker.succeeded(probe), Some(CallOutcome::Closed));
}

fn any_error() -> impl Strategy<Value = AskError> {
    prop_oneof![
        Just(AskError::Timeout),
        Just(AskError::Deadline),
        Just(AskError::Refused { detail: String::new() }),
        Just(AskError::Throttled { retry_after: None }),
        (0_u64..100_000).prop_map(|seconds| AskError::Throttled { retry_after: Some(Duration::from_secs(seconds)) }),
        Just(AskError::QuotaGone { until: None }),
    ]
}

proptest! {
    /// In any order of events at most one probe is in progress, and without a refused key every cool-down ends.
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
            let _outcome =
                if succeeds { breaker.succeeded(admission) } else { breaker.failed(admission, &error, now, noon(), 0.5) };
        }
        prop_assert!(breaker.admit(now + LONGEST_EXHAUSTION).is_ok());
    }
}
