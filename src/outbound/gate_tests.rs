//! The gate over a scripted transport.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};
use tokio::time::{Instant, sleep};
use url::Url;

use super::call_control::Fleet;
use super::client::HttpClient;
use super::error::AskError;
use super::gate::{Gate, GateSettings};
use super::header::HeaderName;
use super::observer::Observer;
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::script::{Reply, Script};
use super::spend::{AskMeter, Asker};
use crate::config::ApiKey;
use crate::domain::Clock;
use crate::store::GateState;

#[derive(Debug)]
struct HandClock(Mutex<DateTime<Utc>>);

impl Clock for HandClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

#[derive(Debug, Default)]
struct ObserverLog(Mutex<Vec<String>>);

impl ObserverLog {
    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for ObserverLog {
    fn request(&self, provider: &'static str, outcome: &'static str, _: Duration) {
        self.push(format!("request {provider} {outcome}"));
    }
    fn not_asked(&self, provider: &'static str, reason: &'static str) {
        self.push(format!("not asked {provider} {reason}"));
    }
    fn rate_wait(&self, _: &'static str, _: Duration) {}
    fn circuit(&self, provider: &'static str, state: &'static str) {
        self.push(format!("circuit {provider} {state}"));
    }
    fn circuit_opened(&self, provider: &'static str, reason: &'static str) {
        self.push(format!("opened {provider} {reason}"));
    }
    fn cost(&self, provider: &'static str, usd: f64) {
        self.push(format!("cost {provider} {usd}"));
    }
    fn cache(&self, _: &'static str, _: super::CacheResult) {}
}

struct Setup {
    gate: Arc<Gate>,
    script: Arc<Script>,
    log: Arc<ObserverLog>,
    clock: Arc<HandClock>,
}

fn settings() -> GateSettings {
    GateSettings {
        name: "test",
        rpm: 60_000,
        max_wait: Duration::from_mins(5),
        timeout: Duration::from_secs(5),
        max_bytes: 1024,
        max_attempts: 1,
        cooldown: Duration::from_mins(10),
        failures_to_open: 3,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

fn setup(settings: GateSettings, replies: impl IntoIterator<Item = Reply>) -> Setup {
    setup_with(settings, replies, None)
}

fn setup_with(settings: GateSettings, replies: impl IntoIterator<Item = Reply>, cap_usd: Option<f64>) -> Setup {
    let script = Arc::new(Script::new(replies));
    let log = Arc::new(ObserverLog::default());
    let clock = Arc::new(HandClock(Mutex::new(Utc.with_ymd_and_hms(2026, 11, 18, 12, 0, 0).unwrap())));
    let http = HttpClient::scripted(Arc::clone(&script));
    let fleet = Fleet { monthly_cap_usd: cap_usd, ..Fleet::default() };
    let observer = Arc::clone(&log) as Arc<dyn Observer>;
    let gate = Gate::in_fleet(settings, http, Arc::clone(&clock) as Arc<dyn Clock>, observer, fleet);
    Setup { gate: Arc::new(gate), script, log, clock }
}

fn request() -> ApiRequest {
    ApiRequest::get(Url::parse("https://api.example/search?q=x").unwrap())
}

fn read(response: &ApiResponse) -> Result<String, AskError> {
    match response.status_error() {
        Some(error) => Err(error),
        None => Ok(String::from_utf8_lossy(&response.body).into_owned()),
    }
}

fn deadline(seconds: f64) -> Instant {
    Instant::now() + Duration::from_secs_f64(seconds)
}

fn asker(meter: &AskMeter) -> Asker<'_> {
    Asker { until: deadline(1.0), meter }
}

impl Setup {
    async fn ask(&self, seconds: f64) -> Result<String, AskError> {
        self.metered(seconds, &AskMeter::default()).await
    }

    /// The spending after all refunds.
    fn spent(&self) -> f64 {
        self.gate.status().usd_today
    }

    async fn metered(&self, seconds: f64, meter: &AskMeter) -> Result<String, AskError> {
        self.gate.ask(request(), Asker { until: deadline(seconds), meter }, read).await
    }
}

const OK: Reply = Reply::Answer(200, "", "fine");
const BROKEN: Reply = Reply::Answer(503, "", "");

#[tokio::test]
async fn an_answer_is_handed_on_and_accounted() {
    let setup = setup(GateSettings { cost_usd: 0.005, ..settings() }, [OK]);
    assert_eq!(setup.ask(1.0).await.unwrap(), "fine");
    let status = setup.gate.status();
    assert_eq!((status.state, status.calls_today, status.errors_today), (GateState::Ready, 1, 0));
    assert!((status.usd_today - 0.005).abs() < 1e-9);
    assert_eq!(setup.log.lines(), ["circuit test ready", "request test ok", "cost test 0.005"]);
}

#[tokio::test]
async fn a_throttled_provider_is_not_asked_again_until_its_time() {
    let setup = setup(settings(), [Reply::Answer(429, "120", "slow down"), OK]);
    assert_eq!(setup.ask(1.0).await.unwrap_err().label(), "throttled");
    for _ in 0..5 {
        let AskError::Open { until } = setup.ask(1.0).await.unwrap_err() else { panic!("it is open") };
        let wait = until - setup.gate.now();
        assert!((110..=133).contains(&wait.num_seconds()), "{wait}");
    }
    assert_eq!(setup.script.asked(), 1);
    assert_eq!(setup.gate.status().state, GateState::Open);
    let lines = setup.log.lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with("opened")).count(), 1);
    assert!(lines.contains(&"opened test throttled".to_owned()) && lines.contains(&"circuit test open".to_owned()));
}

#[tokio::test]
async fn a_short_wait_named_by_the_provider_is_sat_out_within_the_deadline() {
    let replies = || [Reply::Answer(429, "1", ""), OK];
    let patient = setup(GateSettings { max_attempts: 2, ..settings() }, replies());
    let start = Instant::now();
    assert_eq!(patient.ask(20.0).await.unwrap(), "fine");
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(patient.gate.status().state, GateState::Ready);

    let hurried = setup(GateSettings { max_attempts: 2, ..settings() }, replies());
    let start = Instant::now();
    assert_eq!(hurried.ask(0.9).await.unwrap_err().label(), "throttled");
    assert!(start.elapsed() < Duration::from_millis(800), "it did not wait for what cannot come in time");
    assert_eq!(hurried.script.asked(), 1);
}

#[tokio::test]
async fn failures_are_retried_within_the_attempts_and_open_the_breaker() {
    let setup = setup(GateSettings { max_attempts: 3, ..settings() }, [BROKEN, BROKEN, OK, BROKEN]);
    assert_eq!(setup.ask(30.0).await.unwrap(), "fine");
    assert_eq!(setup.script.asked(), 3);
    assert_eq!(setup.ask(30.0).await.unwrap_err(), AskError::Server { status: 503 });
    assert_eq!(setup.script.asked(), 6);
    assert_eq!(setup.ask(30.0).await.unwrap_err().label(), "open", "three in a row opened it");
    assert_eq!(setup.script.asked(), 6);
}

#[tokio::test]
async fn a_retry_never_outlasts_the_deadline() {
    let setup = setup(GateSettings { max_attempts: 5, failures_to_open: 100, ..settings() }, [BROKEN]);
    let start = Instant::now();
    assert_eq!(setup.ask(0.1).await.unwrap_err(), AskError::Server { status: 503 });
    assert!(start.elapsed() < Duration::from_millis(120) + Duration::from_secs(1));
    assert_eq!(setup.script.asked(), 1, "the first pause is longer than what is left");
}

#[tokio::test]
async fn what_cannot_get_better_is_not_retried() {
    for (reply, label) in [(Reply::Answer(404, "", ""), "refused"), (Reply::Answer(401, "", ""), "bad_key")] {
        let setup = setup(GateSettings { max_attempts: 5, ..settings() }, [reply]);
        assert_eq!(setup.ask(30.0).await.unwrap_err().label(), label);
        assert_eq!(setup.script.asked(), 1);
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_asked_for_once_more_only() {
    let malformed = Reply::Fail(AskError::Malformed { detail: "cut off".into() });
    let setup = setup(GateSettings { max_attempts: 5, failures_to_open: 100, ..settings() }, [malformed]);
    assert_eq!(setup.ask(30.0).await.unwrap_err().label(), "malformed");
    assert_eq!(setup.script.asked(), 2);
}

#[tokio::test]
async fn after_the_cooldown_one_probe_is_let_through() {
    let cooldown = Duration::from_millis(500);
    let setup = setup(GateSettings { cooldown, ..settings() }, [Reply::Answer(429, "", ""), BROKEN, OK]);
    assert_eq!(setup.ask(1.0).await.unwrap_err().label(), "throttled");
    sleep(cooldown * 2).await;
    assert_eq!(setup.ask(1.0).await.unwrap_err().label(), "server_error", "the probe");
    assert_eq!(setup.ask(1.0).await.unwrap_err().label(), "open", "one failed probe is enough");
    sleep(cooldown * 4).await;
    assert_eq!(setup.ask(1.0).await.unwrap(), "fine");
    assert_eq!(setup.gate.status().state, GateState::Ready);
}

#[tokio::test]
async fn breaker_refuses_other_calls_when_probe_runs() {
    let cooldown = Duration::from_millis(20);
    let setup = setup(GateSettings { cooldown, ..settings() }, [Reply::Answer(429, "", ""), Reply::Hang, OK]);
    setup.ask(1.0).await.unwrap_err();
    sleep(cooldown * 12).await;
    {
        let probe = setup.ask(5.0);
        tokio::pin!(probe);
        assert!(futures::poll!(probe.as_mut()).is_pending());
        assert_eq!(setup.ask(1.0).await.unwrap_err().label(), "open");
    }
    assert_eq!(setup.ask(1.0).await.unwrap(), "fine", "its place is free again");
    assert_eq!(setup.script.asked(), 3);
}

#[tokio::test]
async fn a_refused_key_disables_and_is_left_alone_for_a_day() {
    let setup = setup(settings(), [Reply::Answer(403, "", "forbidden")]);
    assert_eq!(setup.ask(1.0).await.unwrap_err().label(), "bad_key");
    assert_eq!(setup.ask(1.0).await.unwrap_err().label(), "disabled");
    assert_eq!(setup.script.asked(), 1);
    let status = setup.gate.status();
    let again = status.until.unwrap() - setup.gate.now();
    assert!(status.state == GateState::Disabled && (23..=27).contains(&again.num_hours()), "one probe a day: {again}");
    assert!(status.reason.unwrap().contains("forbidden"), "the provider's words stay to be read");
}

#[tokio::test]
async fn exhausted_breaker_names_end_when_quota_is_used_up() {
    let until = Utc.with_ymd_and_hms(2026, 11, 20, 0, 0, 0).unwrap();
    let setup = setup(settings(), [Reply::Fail(AskError::QuotaGone { until: Some(until) })]);
    setup.ask(1.0).await.unwrap_err();
    let AskError::QuotaGone { until: Some(named) } = setup.ask(1.0).await.unwrap_err() else {
        panic!("it is exhausted")
    };
    assert!((named - until).num_seconds().abs() <= 1);
    assert_eq!(setup.script.asked(), 1);
    assert_eq!(setup.gate.status().state, GateState::Exhausted);
}

#[tokio::test]
async fn a_slow_provider_times_out_and_an_impatient_caller_is_not_its_fault() {
    let timeout = Duration::from_millis(30);
    let slow = setup(GateSettings { timeout, failures_to_open: 1, ..settings() }, [Reply::Hang]);
    assert_eq!(slow.ask(5.0).await.unwrap_err(), AskError::Timeout);
    assert_eq!(slow.gate.status().state, GateState::Open);

    let impatient = setup(GateSettings { failures_to_open: 1, ..settings() }, [Reply::Hang]);
    assert_eq!(impatient.ask(0.03).await.unwrap_err(), AskError::Deadline);
    assert_eq!(impatient.gate.status().state, GateState::Ready);
    assert_eq!(impatient.ask(0.0).await.unwrap_err(), AskError::Deadline);
    assert_eq!(impatient.script.asked(), 1, "past the deadline nothing is asked");
}

#[tokio::test]
async fn a_slot_further_off_than_the_longest_wait_is_not_waited_for() {
    let max_wait = Duration::from_millis(50);
    let setup = setup(GateSettings { rpm: 60, max_wait, ..settings() }, [OK]);
    setup.ask(60.0).await.unwrap();
    let start = Instant::now();
    assert_eq!(setup.ask(60.0).await.unwrap_err().label(), "busy");
    assert!(start.elapsed() < Duration::from_millis(900), "a minute of the caller's time is not for waiting");
    assert!(setup.log.lines().contains(&"not asked test busy".to_owned()), "{:?}", setup.log.lines());
}

#[tokio::test]
async fn a_slot_that_comes_too_late_is_not_waited_for() {
    let setup = setup(GateSettings { rpm: 1, ..settings() }, [OK]);
    setup.ask(1.0).await.unwrap();
    let start = Instant::now();
    assert_eq!(setup.ask(20.0).await.unwrap_err().label(), "busy");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(setup.script.asked(), 1);
}

#[tokio::test]
async fn the_daily_limit_ends_with_the_day() {
    let setup = setup(GateSettings { daily_limit: Some(2), ..settings() }, [OK]);
    setup.ask(1.0).await.unwrap();
    setup.ask(1.0).await.unwrap();
    assert_eq!(setup.ask(1.0).await.unwrap_err(), AskError::DailyLimit);
    let status = setup.gate.status();
    assert_eq!((status.state, status.calls_today), (GateState::Exhausted, 2));
    assert_eq!(status.until.unwrap().to_rfc3339(), "2026-11-19T00:00:00+00:00");
    *setup.clock.0.lock().unwrap() += chrono::Duration::hours(13);
    assert!(setup.ask(1.0).await.is_ok());
    assert_eq!(setup.gate.status().calls_today, 1);
}

#[tokio::test]
async fn an_echoed_key_leaves_no_trace_in_the_error() {
    let setup = setup(settings(), [Reply::Answer(401, "", "the key s3cret-key is wrong")]);
    let key = ApiKey::from("s3cret-key");
    let request = request().secret_header(HeaderName::from_static("x-key"), &key).unwrap();
    let error = setup.gate.ask(request, asker(&AskMeter::default()), read).await.unwrap_err();
    assert!(error.to_string().contains("[key]") && !format!("{error:?}").contains("s3cret"), "{error:?}");
}

#[tokio::test]
async fn recordings_know_no_limit_and_no_breaker() {
    let http = HttpClient::replay(Arc::default());
    let clock = Arc::new(HandClock(Mutex::new(DateTime::UNIX_EPOCH)));
    let settings = GateSettings { rpm: 1, failures_to_open: 1, max_attempts: 3, ..settings() };
    let gate = Gate::new(settings, http, clock, Arc::new(super::NoObserver));
    let meter = AskMeter::default();
    for _ in 0..20 {
        assert_eq!(gate.ask(request(), asker(&meter), read).await.unwrap_err().label(), "no_recording");
    }
    assert_eq!(gate.status().state, GateState::Ready);
    assert_eq!(meter.attempts(), 20);
}

/// Half a dollar a call: sums of it are exact.
fn paid() -> GateSettings {
    GateSettings { cost_usd: 0.5, failures_to_open: 100, ..settings() }
}

fn paid_setup(settings: GateSettings, replies: impl IntoIterator<Item = Reply>, cap_usd: f64) -> Setup {
    setup_with(settings, replies, Some(cap_usd))
}

#[tokio::test]
async fn a_reached_cap_refuses_and_is_no_fault_of_the_provider() {
    let meter = AskMeter::default();
    let setup = paid_setup(GateSettings { failures_to_open: 1, ..paid() }, [OK], 0.5);
    setup.metered(1.0, &meter).await.unwrap();
    for _ in 0..3 {
        assert_eq!(setup.metered(1.0, &meter).await.unwrap_err(), AskError::Budget);
    }
    let status = setup.gate.status();
    assert_eq!((status.state, status.calls_today, status.errors_today), (GateState::Exhausted, 1, 0));
    assert_eq!(status.reason.unwrap(), AskError::Budget.to_string());
    assert_eq!((setup.script.asked(), meter.attempts(), meter.usd()), (1, 1, 0.5));
    assert!(setup.log.lines().contains(&"not asked test budget".to_owned()));
    assert!(!setup.log.lines().iter().any(|line| line.starts_with("opened")));
}

#[tokio::test]
async fn a_call_that_is_refused_before_it_is_sent_takes_nothing() {
    let meter = AskMeter::default();
    let setup = paid_setup(paid(), [Reply::Answer(429, "120", ""), OK], 10.0);
    assert_eq!(setup.metered(1.0, &meter).await.unwrap_err().label(), "throttled");
    for _ in 0..5 {
        assert_eq!(setup.metered(1.0, &meter).await.unwrap_err().label(), "open");
    }
    assert_eq!((setup.spent(), meter.attempts(), meter.usd()), (0.0, 1, 0.0));

    let meter = AskMeter::default();
    let limited = paid_setup(GateSettings { daily_limit: Some(1), rpm: 1, ..paid() }, [OK], 10.0);
    limited.metered(1.0, &meter).await.unwrap();
    assert_eq!(limited.metered(100.0, &meter).await.unwrap_err().label(), "daily_limit");
    let slow = paid_setup(GateSettings { rpm: 1, ..paid() }, [OK], 10.0);
    slow.metered(1.0, &meter).await.unwrap();
    assert_eq!(
        slow.metered(1.0, &meter).await.unwrap_err().label(),
        "busy",
        "it is well, only its slot comes too late"
    );
    assert_eq!((limited.spent(), slow.spent()), (0.5, 0.5));
    assert_eq!((meter.attempts(), meter.usd()), (2, 1.0));
}

#[tokio::test]
async fn each_attempt_is_counted_and_only_those_that_may_be_billed_cost() {
    let connect = Reply::Fail(AskError::Connect { detail: "refused".into() });
    let malformed = Reply::Fail(AskError::Malformed { detail: "cut off".into() });
    let meter = AskMeter::default();
    let setup = paid_setup(GateSettings { max_attempts: 3, ..paid() }, [connect, OK, malformed, OK], 10.0);
    setup.metered(30.0, &meter).await.unwrap();
    assert_eq!((meter.attempts(), meter.usd()), (2, 0.5));
    setup.metered(30.0, &meter).await.unwrap();
    assert_eq!((meter.attempts(), meter.usd()), (4, 1.5), "the unreadable answer was billed");
    assert!((setup.gate.status().usd_today - 1.5).abs() < 1e-9);
    assert_eq!((setup.spent(), setup.script.asked()), (1.5, 4));
}

#[tokio::test]
async fn a_paid_call_that_broke_off_or_failed_behind_is_billed_and_not_made_again() {
    for error in [AskError::Lost { detail: "reset".into() }, AskError::Server { status: 502 }] {
        let meter = AskMeter::default();
        let label = error.label();
        let setup = paid_setup(GateSettings { max_attempts: 3, ..paid() }, [Reply::Fail(error), OK], 10.0);
        assert_eq!(setup.metered(30.0, &meter).await.unwrap_err().label(), label);
        assert_eq!((setup.script.asked(), setup.spent(), meter.usd()), (1, 0.5, 0.5));
    }
}

#[tokio::test]
async fn a_cap_that_is_reached_ends_the_retries() {
    let malformed = Reply::Fail(AskError::Malformed { detail: "cut off".into() });
    let meter = AskMeter::default();
    let setup = paid_setup(GateSettings { max_attempts: 3, ..paid() }, [malformed], 0.7);
    assert_eq!(setup.metered(30.0, &meter).await.unwrap_err().label(), "malformed");
    assert_eq!((setup.script.asked(), meter.attempts(), meter.usd()), (1, 1, 0.5));
}

#[tokio::test]
async fn a_paid_call_that_timed_out_is_not_paid_for_twice() {
    let slow = || GateSettings { timeout: Duration::from_millis(30), max_attempts: 3, ..settings() };
    let free = setup(GateSettings { failures_to_open: 100, ..slow() }, [Reply::Hang, OK]);
    assert_eq!(free.ask(30.0).await.unwrap(), "fine");
    let meter = AskMeter::default();
    let setup = paid_setup(GateSettings { cost_usd: 0.5, ..slow() }, [Reply::Hang, OK], 10.0);
    assert_eq!(setup.metered(30.0, &meter).await.unwrap_err(), AskError::Timeout);
    assert_eq!((setup.script.asked(), setup.spent(), meter.usd()), (1, 0.5, 0.5));
}

#[tokio::test]
async fn a_call_whose_caller_went_away_may_be_billed() {
    let meter = AskMeter::default();
    let setup = paid_setup(paid(), [Reply::Hang], 10.0);
    {
        let call = setup.metered(5.0, &meter);
        tokio::pin!(call);
        assert!(futures::poll!(call.as_mut()).is_pending());
    }
    assert_eq!((setup.spent(), meter.usd(), setup.gate.status().usd_today), (0.5, 0.5, 0.5));
    assert!(setup.log.lines().contains(&"cost test 0.5".to_owned()));
}
