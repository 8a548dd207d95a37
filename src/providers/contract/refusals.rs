//! Throttles, quotas, keys and failures: the error class decides the reaction.

use std::time::Duration;

use super::{TestedProvider, now, query};
use crate::outbound::test_server::{Reply, answer};
use crate::outbound::{AskError, GateState};

const HTML: (&str, &str) = ("content-type", "text/html");

pub(super) async fn a_throttle_without_a_wait_is_left_alone(tested: &TestedProvider) {
    let (trial, outcome) = tested.one(tested.subject.throttle.clone()).await;
    assert_eq!(outcome.unwrap_err().label(), "throttled");
    assert_eq!(trial.setup.ask(&query()).await.unwrap_err().label(), "open");
    assert_eq!(trial.asked(), 1, "a throttled provider is left alone");
}

/// Returns the wait read from such a response, and the seconds without requests.
async fn throttled_by(tested: &TestedProvider, status: u16, headers: &[(&str, &str)]) -> (Option<Duration>, i64) {
    let (trial, outcome) = tested.one(answer(status, headers, "slow down")).await;
    let AskError::Throttled { retry_after } = outcome.unwrap_err() else { panic!("it is a throttle: {headers:?}") };
    let status = trial.setup.provider.status();
    assert_eq!(status.state, GateState::Open, "{status:?}");
    (retry_after, (status.until.unwrap() - now()).num_seconds())
}

async fn waits(tested: &TestedProvider, value: &str, seconds: f64) -> i64 {
    let (wait, left_alone) = throttled_by(tested, 429, &[("retry-after", value)]).await;
    assert_eq!(wait, Some(Duration::from_secs_f64(seconds)), "{value}");
    left_alone
}

pub(super) async fn a_wait_in_seconds_is_respected(tested: &TestedProvider) {
    assert!((110..=133).contains(&waits(tested, "120", 120.0).await));
}

pub(super) async fn a_wait_until_a_date_is_measured_by_the_servers_clock(tested: &TestedProvider) {
    let headers = [("date", "Mon, 18 Nov 2019 12:00:00 GMT"), ("retry-after", "Mon, 18 Nov 2019 12:01:30 GMT"), HTML];
    let (wait, left_alone) = throttled_by(tested, 429, &headers).await;
    assert_eq!(wait, Some(Duration::from_secs(90)), "the server's clock is years off, the difference is right");
    assert!((80..=100).contains(&left_alone));
}

pub(super) async fn a_wait_of_zero_is_no_tight_loop(tested: &TestedProvider) {
    let (trial, outcome) = tested.one(answer(429, &[("retry-after", "0")], "slow down")).await;
    assert_eq!(outcome.unwrap_err(), AskError::Throttled { retry_after: Some(Duration::ZERO) });
    assert_eq!(trial.setup.ask(&query()).await.unwrap_err().label(), "open");
    assert_eq!(trial.asked(), 1);
}

pub(super) async fn a_negative_wait_is_no_wait(tested: &TestedProvider) {
    assert!(waits(tested, "-5", 0.0).await <= 2);
}

pub(super) async fn a_wait_of_half_a_second_is_read(tested: &TestedProvider) {
    assert!(waits(tested, "0.5", 0.5).await <= 2);
}

pub(super) async fn a_wait_of_years_is_cut_to_a_day(tested: &TestedProvider) {
    let left_alone = waits(tested, "99999999", 86_400.0).await;
    assert!((86_000..=96_000).contains(&left_alone), "{left_alone}");
}

pub(super) async fn a_wait_in_words_is_our_own_back_off(tested: &TestedProvider) {
    let (wait, left_alone) = throttled_by(tested, 429, &[("retry-after", "soon")]).await;
    assert_eq!(wait, None);
    assert!(left_alone >= 590, "the cool-down: {left_alone}");
}

pub(super) async fn a_busy_503_with_a_wait_is_a_throttle(tested: &TestedProvider) {
    let (wait, left_alone) = throttled_by(tested, 503, &[("retry-after", "60"), HTML]).await;
    assert_eq!(wait, Some(Duration::from_mins(1)));
    assert!((50..=70).contains(&left_alone));
}

/// The provider is queried exactly when the wait ends, which admits its probe.
pub(super) async fn repeated_throttles_wait_longer(tested: &TestedProvider) {
    let trial = tested.trial(answer(429, &[("retry-after", "0")], "slow down")).await;
    let mut waits = Vec::new();
    for asked in 1..=3 {
        assert_eq!(trial.setup.ask(&query()).await.unwrap_err().label(), "throttled");
        assert_eq!(trial.asked(), asked, "after the wait one probe is let through");
        let wait = (trial.setup.provider.status().until.unwrap() - now()).to_std().unwrap();
        waits.push(wait);
        if asked < 3 {
            assert_eq!(trial.setup.ask(&query()).await.unwrap_err().label(), "open", "and only one");
            tokio::time::sleep(wait).await;
        }
    }
    // One second, two, four; in whole seconds, with 10% jitter.
    assert!(waits[0] < Duration::from_millis(2_200) && waits[2] > Duration::from_millis(3_500), "{waits:?}");
}

pub(super) async fn a_used_up_quota_is_exhausted_and_not_asked(tested: &TestedProvider) {
    let (trial, outcome) = tested.one(tested.subject.quota_gone.clone().unwrap()).await;
    assert_eq!(outcome.unwrap_err().label(), "quota_gone");
    let status = trial.setup.provider.status();
    assert!(status.state == GateState::Exhausted && status.until.is_some_and(|until| until > now()), "{status:?}");
    assert_eq!(trial.setup.ask(&query()).await.unwrap_err().label(), "quota_gone");
    assert_eq!(trial.asked(), 1);
}

pub(super) async fn a_refused_key_is_not_tried_again(tested: &TestedProvider) {
    for reply in &tested.subject.bad_key {
        let (trial, outcome) = tested.one(reply.clone()).await;
        assert_eq!(outcome.unwrap_err().label(), "bad_key", "{reply:?}");
        assert_eq!(trial.setup.provider.status().state, GateState::Disabled);
        assert_eq!(trial.setup.ask(&query()).await.unwrap_err().label(), "disabled");
        assert_eq!(trial.asked(), 1, "a refused key is not tried again");
    }
}

pub(super) async fn a_bot_wall_is_no_bad_key_and_not_retried(tested: &TestedProvider) {
    let wall = answer(403, &[HTML, ("server", "cloudflare")], "<!DOCTYPE html><title>Just a moment...</title>");
    let trial = tested.trial_with(wall, |settings| crate::outbound::GateSettings { max_attempts: 3, ..settings }).await;
    let error = trial.setup.ask(&query()).await.unwrap_err();
    assert_eq!(error.label(), tested.habits.wall.unwrap_or("could_not_ask"), "{error}");
    assert_eq!(trial.asked(), 1, "a wall is not run against");
}

async fn counts(tested: &TestedProvider, status: u16, reply: Reply) {
    let (trial, outcome) = tested.one(reply).await;
    assert_eq!(outcome.unwrap_err(), AskError::Server { status });
    trial.setup.ask(&query()).await.unwrap_err();
    assert_eq!(trial.setup.provider.status().state, GateState::Ready, "two failures are not three");
    trial.setup.ask(&query()).await.unwrap_err();
    assert_eq!(trial.setup.provider.status().state, GateState::Open);
}

pub(super) async fn server_errors_count_to_the_limit(tested: &TestedProvider) {
    for status in [500, 502, 503] {
        counts(tested, status, answer(status, &[HTML], "<html><title>Error</title>")).await;
    }
    counts(tested, 500, answer(500, &[("content-type", "application/json")], "{}")).await;
}

pub(super) async fn errors_of_the_edge_count_too(tested: &TestedProvider) {
    for status in 520..=529 {
        counts(tested, status, answer(status, &[HTML], format!("<html><title>{status}: edge</title>"))).await;
    }
}
