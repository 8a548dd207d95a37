//! The discipline of asking, across processes: several of them, each with gates and connections of its own, on one
//! database.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use corroborate::domain::SystemClock;
use corroborate::outbound::{
    AskError, AskMeter, Asker, Fleet, Gate, GateSettings, GateState, HttpClient, Identity, NoObserver, Pace,
};
use corroborate::store::{CallDecision, CallEnd, CallTerms, Limit, Store};
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::time::{Instant, sleep};

use crate::support::{away_from_midnight, database};

/// So many processes race.
const PROCESSES: usize = 4;

fn settings() -> GateSettings {
    GateSettings {
        name: "brave",
        rpm: 60_000,
        max_wait: Duration::from_secs(10),
        timeout: Duration::from_secs(2),
        max_bytes: 1024,
        max_attempts: 1,
        cooldown: Duration::from_mins(10),
        failures_to_open: 3,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

/// One process: connections and a gate of its own.
#[derive(Clone)]
struct Process {
    store: Store,
    gate: Arc<Gate>,
}

impl Process {
    async fn start(url: &str, settings: GateSettings, change: impl FnOnce(&mut Fleet)) -> Self {
        let store = database::connect(url).await;
        let mut fleet = Fleet { store: Some(store.clone()), ..Fleet::default() };
        change(&mut fleet);
        let http = HttpClient::live("corroborate-test").unwrap();
        let gate = Gate::in_fleet(settings, http, Arc::new(SystemClock), Arc::new(NoObserver), fleet);
        Self { store, gate: Arc::new(gate) }
    }

    async fn ask(&self, work: impl AsyncFn() -> Result<(), AskError>) -> Result<(), AskError> {
        self.ask_within(Duration::from_secs(10), work).await
    }

    async fn ask_within(&self, time: Duration, work: impl AsyncFn() -> Result<(), AskError>) -> Result<(), AskError> {
        let meter = AskMeter::default();
        self.gate.run(Asker { until: Instant::now() + time, meter: &meter }, || work()).await
    }

    /// What the job does each second.
    async fn follow(&self) {
        self.gate.follower().settle().await;
        let snapshot = self.store.calls().await.unwrap();
        self.gate.follower().learn(&snapshot, Instant::now());
    }

    fn state(&self) -> GateState {
        self.gate.status().state
    }
}

/// A migrated database and its processes; `None` without a server.
async fn fleet(settings: GateSettings, change: impl Fn(&mut Fleet)) -> Option<(String, Vec<Process>)> {
    let url = database::empty_database().await?;
    away_from_midnight().await;
    database::connect(&url).await.migrate().await.unwrap();
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(Process::start(&url, settings.clone(), &change).await);
    }
    Some((url, processes))
}

const OK: Result<(), AskError> = Ok(());

fn throttled(seconds: u64) -> Result<(), AskError> {
    Err(AskError::Throttled { retry_after: Some(Duration::from_secs(seconds)) })
}

#[tokio::test]
async fn four_processes_keep_to_one_rate_and_use_nine_tenths_of_it() {
    // A minute pressed into four seconds: 60 calls in any of them.
    let window = Duration::from_secs(4);
    let pace = Pace { window, calls: 60, grace: Duration::from_millis(150), margin: Duration::from_millis(30) };
    let Some((_, processes)) = fleet(settings(), |fleet| fleet.pace = Some(pace)).await else { return };
    // A machine that stops for longer than the grace loses what it could not use: then once more.
    let (mut most, mut rounds) = (0, 0);
    while most < 162 && rounds < 3 {
        rounds += 1;
        let arrivals = Mutex::new(Vec::new());
        let end = Instant::now() + window * 3;
        let arrived = async || {
            arrivals.lock().unwrap().push(Instant::now());
            OK
        };
        let callers = processes.iter().flat_map(|process| std::iter::repeat_n(process, 6)).map(|process| async {
            while Instant::now() < end {
                // A slot beyond the longest wait is refused; the caller comes again.
                drop(process.ask(&arrived).await);
            }
        });
        futures::future::join_all(callers).await;
        let mut arrivals = arrivals.into_inner().unwrap();
        arrivals.sort();
        let spans = arrivals.windows(61).map(|sixty_one| sixty_one[60] - sixty_one[0]);
        assert!(spans.min().is_none_or(|span| span >= window), "61 calls came within a window");
        most = most.max(arrivals.iter().filter(|arrived| **arrived < end).count());
    }
    assert!(most >= 162, "{most} of 180 calls: the rate is not used");
}

/// Asks as fast as it can until nothing more is let through; gives how many calls were made, and the last refusals.
async fn drain(processes: &[Process], work: impl AsyncFn() -> Result<(), AskError> + Copy) -> (u32, Vec<AskError>) {
    let made = AtomicU32::new(0);
    let counted = async || {
        made.fetch_add(1, Ordering::SeqCst);
        work().await
    };
    let racers = processes.iter().flat_map(|process| std::iter::repeat_n(process, 5)).map(|process| async {
        let (mut refusals, mut last) = (0, None);
        // A refund arrives after its call.
        while refusals < 4 {
            match process.ask(&counted).await {
                Ok(()) | Err(AskError::Connect { .. }) => refusals = 0,
                Err(refusal) => {
                    refusals += 1;
                    last = Some(refusal);
                    process.follow().await;
                    sleep(Duration::from_millis(1_100)).await;
                }
            }
        }
        last.unwrap()
    });
    let refusals = futures::future::join_all(racers).await;
    (made.load(Ordering::SeqCst), refusals)
}

#[tokio::test]
async fn a_daily_limit_is_used_to_the_last_call_and_no_further() {
    let Some((_, processes)) = fleet(GateSettings { daily_limit: Some(500), ..settings() }, |_| {}).await else {
        return;
    };
    let (made, refusals) = drain(&processes, async || OK).await;
    assert_eq!(made, 500);
    assert!(refusals.iter().all(|refusal| *refusal == AskError::DailyLimit), "{refusals:?}");
    assert_eq!(processes[0].state(), GateState::Exhausted);
}

#[tokio::test]
async fn a_monthly_limit_is_used_to_the_last_call_and_no_further() {
    let Some((url, processes)) = fleet(settings(), |fleet| fleet.monthly_limit = Some(333)).await else { return };
    let (made, refusals) = drain(&processes, async || OK).await;
    assert_eq!(made, 333);
    assert!(refusals.iter().all(|refusal| *refusal == AskError::MonthlyLimit), "{refusals:?}");
    let later = Process::start(&url, settings(), |fleet| fleet.monthly_limit = Some(333)).await;
    later.follow().await;
    let status = later.gate.status();
    assert_eq!(status.state, GateState::Exhausted, "a new process knows before its first call");
    assert!(status.reason.unwrap().contains("monthly") && status.until.unwrap() > later.gate.now());
}

#[tokio::test]
async fn the_cap_is_spent_to_the_cent_and_never_overshot() {
    // 0.005 has no exact binary form, and 250 of it are 1.25.
    // Three of one process's calls in a row may be those that fail below.
    let price = GateSettings { cost_usd: 0.005, failures_to_open: 1_000, ..settings() };
    let Some((_, processes)) = fleet(price, |fleet| fleet.monthly_cap_usd = Some(1.25)).await else { return };
    let calls = AtomicU32::new(0);
    // Each fifth call never reaches the provider, and costs nothing.
    let work = async || match calls.fetch_add(1, Ordering::SeqCst) % 5 {
        4 => Err(AskError::Connect { detail: "refused".into() }),
        _ => OK,
    };
    let (made, refusals) = drain(&processes, &work).await;
    let free = made / 5;
    assert_eq!(made - free, 250, "of {made} calls {free} were not billed: {refusals:?}");
    assert!(refusals.iter().all(|refusal| *refusal == AskError::Budget), "{refusals:?}");
    let spent = processes[0].store.calls().await.unwrap().spent_usd;
    assert!((spent - 1.25).abs() < 1e-12, "{spent}");
}

fn terms() -> CallTerms {
    CallTerms {
        provider: "brave".into(),
        identity: "".into(),
        period: Duration::from_millis(1),
        tolerance: Duration::from_secs(1),
        probe_time: Duration::from_secs(2),
        day_limit: Some(10),
        month_limit: None,
        usd: 0.1,
        cap_usd: Some(1.0),
    }
}

/// Takes calls until the first refusal; gives how many there were, and the refusal.
async fn take_all(store: &Store, terms: &CallTerms) -> (u32, CallDecision) {
    for taken in 0.. {
        match store.take_call(terms).await.unwrap().decision {
            CallDecision::Taken { .. } => {}
            refusal => return (taken, refusal),
        }
    }
    unreachable!()
}

#[tokio::test]
async fn calls_of_a_killed_process_are_lost_and_exceed_nothing() {
    let Some((_, processes)) = fleet(settings(), |_| {}).await else { return };
    let CallDecision::Taken { .. } = processes[0].store.take_call(&terms()).await.unwrap().decision else {
        panic!("the first is free")
    };
    processes[0].store.close().await;
    let other = &processes[1].store;
    let (taken, refusal) = take_all(other, &terms()).await;
    assert!(
        taken == 9 && matches!(refusal, CallDecision::Limited(Limit::Day, ends) if ends <= Duration::from_hours(24))
    );
    // With another day's limit the cap still holds what the killed one took.
    let (taken, refusal) = take_all(other, &CallTerms { day_limit: None, ..terms() }).await;
    assert!(taken == 0 && matches!(refusal, CallDecision::Limited(Limit::Cap, _)), "{taken} {refusal:?}");
}

#[tokio::test]
async fn unused_calls_are_returned_to_quota_and_cap() {
    let Some((_, processes)) = fleet(settings(), |_| {}).await else { return };
    let store = &processes[0].store;
    let CallDecision::Taken { at: taken_at, .. } = store.take_call(&terms()).await.unwrap().decision else {
        panic!("the first is free")
    };
    let end = CallEnd { taken_at, version: 0, unused: true, refund_usd: 0.1, outcome: None };
    store.end_call("brave", "", &end).await.unwrap();
    assert_eq!(take_all(store, &terms()).await.0, 10);
    // One that cost less than its price is used, but the rest of its money is free.
    let end = CallEnd { unused: false, ..end };
    store.end_call("brave", "", &end).await.unwrap();
    assert_eq!(take_all(store, &CallTerms { day_limit: Some(20), ..terms() }).await.0, 1);
}

#[tokio::test]
async fn yesterdays_calls_and_last_months_dollars_are_over() {
    let Some((url, processes)) = fleet(settings(), |_| {}).await else { return };
    let rows = sqlx::PgPool::connect(&url).await.unwrap();
    let earlier = "INSERT INTO provider_quota (provider, day, day_calls, month, usd) VALUES
        ('brave', (now() AT TIME ZONE 'UTC')::date - 1, 10, (now() AT TIME ZONE 'UTC')::date - 40, 0),
        ('*', '-infinity', 0, (date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 month')::date, 1)";
    sqlx::query(earlier).execute(&rows).await.unwrap();
    assert_eq!(take_all(&processes[0].store, &terms()).await.0, 10);
}

#[tokio::test]
async fn a_database_clock_that_was_set_back_an_hour_stops_no_provider_for_that_hour() {
    let Some((url, processes)) = fleet(settings(), |_| {}).await else { return };
    let rows = sqlx::PgPool::connect(&url).await.unwrap();
    for (ahead, holds) in [("30 seconds", true), ("1 hour", false)] {
        let taken = format!(
            "INSERT INTO provider_quota (provider, next_at) VALUES ('brave', now() + interval '{ahead}')
             ON CONFLICT (provider) DO UPDATE SET next_at = excluded.next_at"
        );
        sqlx::query(sqlx::AssertSqlSafe(taken)).execute(&rows).await.unwrap();
        let decision = processes[0].store.take_call(&terms()).await.unwrap().decision;
        assert_eq!(matches!(decision, CallDecision::Taken { .. }), !holds, "{ahead}: {decision:?}");
    }
}

#[tokio::test]
async fn an_opened_breaker_is_known_to_every_process_before_its_next_call() {
    let Some((url, processes)) = fleet(settings(), |_| {}).await else { return };
    assert_eq!(processes[0].ask(async || throttled(120)).await.unwrap_err().label(), "throttled");
    until_written(&processes[0].store, 1).await;
    // One that has not heard yet learns it with its lease, one that starts with its first look.
    let asked = AtomicU32::new(0);
    let work = async || {
        asked.fetch_add(1, Ordering::SeqCst);
        OK
    };
    assert_eq!(processes[1].ask(work).await.unwrap_err().label(), "open");
    let new = Process::start(&url, settings(), |_| {}).await;
    new.follow().await;
    let status = new.gate.status();
    let wait = status.until.unwrap() - new.gate.now();
    assert!(status.state == GateState::Open && (110..=133).contains(&wait.num_seconds()), "{status:?}");
    assert!(status.reason.unwrap().contains("rate-limits us"));
    assert_eq!(new.ask(work).await.unwrap_err().label(), "open");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

async fn until_written(store: &Store, breakers: usize) {
    for _ in 0..100 {
        let open = store.calls().await.unwrap().providers;
        if open.iter().filter(|calls| calls.breaker.state != GateState::Ready).count() == breakers {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("the breakers were not written within two seconds");
}

#[tokio::test]
async fn one_probe_goes_out_in_the_whole_fleet_and_decides_for_all() {
    let cooldown = Duration::from_secs(2);
    let Some((_, processes)) = fleet(GateSettings { cooldown, ..settings() }, |_| {}).await else { return };
    processes[0].ask(async || Err(AskError::Throttled { retry_after: None })).await.unwrap_err();
    until_written(&processes[0].store, 1).await;
    sleep(cooldown * 2).await;
    let probes = AtomicU32::new(0);
    let race = async |outcome: Result<(), AskError>| {
        let refused = AtomicU32::new(0);
        // Until the others have been refused, or should have been: whoever comes later may ask.
        let slow = async || {
            probes.fetch_add(1, Ordering::SeqCst);
            let begun = Instant::now();
            while refused.load(Ordering::SeqCst) < 11 && begun.elapsed() < Duration::from_millis(1_500) {
                sleep(Duration::from_millis(10)).await;
            }
            outcome.clone()
        };
        let all = processes.iter().flat_map(|process| std::iter::repeat_n(process, 3)).map(async |process| {
            let answer = process.ask(&slow).await;
            refused.fetch_add(1, Ordering::SeqCst);
            answer
        });
        let answers = futures::future::join_all(all).await;
        let open = answers.iter().filter(|answer| answer.as_ref().is_err_and(|error| error.label() == "open")).count();
        assert_eq!(open, 11, "one of twelve callers in four processes is the probe: {answers:?}");
        answers.into_iter().find(|answer| answer.as_ref().map_or_else(AskError::label, |()| "ok") != "open").unwrap()
    };
    assert_eq!(race(Err(AskError::Server { status: 503 })).await.unwrap_err().label(), "server_error");
    assert_eq!(probes.load(Ordering::SeqCst), 1);
    // Its failure doubled the wait, for everybody.
    for process in &processes {
        process.follow().await;
        assert_eq!(process.state(), GateState::Open);
    }
    let shared = processes[1].store.calls().await.unwrap().providers.remove(0).breaker;
    assert!(shared.trips == 2 && shared.until_in > cooldown, "{shared:?}");
    sleep(shared.until_in + Duration::from_millis(50)).await;
    assert_eq!(race(OK).await, OK);
    assert_eq!(probes.load(Ordering::SeqCst), 2);
    until_written(&processes[0].store, 0).await;
    for process in &processes {
        process.follow().await;
        assert_eq!((process.state(), process.ask(async || OK).await), (GateState::Ready, OK));
    }
}

#[tokio::test]
async fn each_place_of_a_provider_has_its_own_rate_quota_and_breaker_and_one_reset_opens_all() {
    let slow = GateSettings { rpm: 1, daily_limit: Some(1), max_wait: Duration::from_millis(50), ..settings() };
    let part = |name: &str| Some(name.to_owned());
    let Some((url, processes)) = fleet(slow, |fleet| fleet.part = part("rates")).await else { return };
    let other = Process::start(&url, settings(), |fleet| fleet.part = part("ports")).await;
    assert_eq!(processes[0].ask(async || OK).await, OK);
    assert!(processes[1].ask(async || OK).await.is_err(), "the one slot of the rate is taken");
    for _ in 0..3 {
        assert_eq!(other.ask(async || OK).await, OK, "the other place has slots of its own");
    }
    let refused = async || Err(AskError::BadKey { detail: "unpaid".into() });
    assert_eq!(other.ask(refused).await.unwrap_err().label(), "bad_key");
    until_written(&other.store, 1).await;
    processes[1].follow().await;
    assert_ne!(processes[1].state(), GateState::Disabled, "and its refused key is no business of the first");
    let twin = Process::start(&url, settings(), |fleet| fleet.part = part("ports")).await;
    twin.follow().await;
    assert_eq!((twin.state(), twin.gate.status().name), (GateState::Disabled, "brave"));
    assert_eq!(twin.store.reset_breakers("brave").await.unwrap(), 1, "a person resets the provider");
    twin.follow().await;
    assert_eq!(twin.ask(async || OK).await, OK);
}

#[tokio::test]
async fn a_new_key_is_asked_at_once_and_a_reset_lets_the_old_one_in() {
    let Some((url, processes)) = fleet(settings(), |fleet| fleet.identity = Identity::new("old", None)).await else {
        return;
    };
    let refused = async || Err(AskError::BadKey { detail: "unpaid".into() });
    assert_eq!(processes[0].ask(refused).await.unwrap_err().label(), "bad_key");
    until_written(&processes[0].store, 1).await;
    processes[1].follow().await;
    let status = processes[1].gate.status();
    assert_eq!(status.state, GateState::Disabled);
    assert!((status.until.unwrap() - processes[1].gate.now()).num_hours() >= 23);
    assert_eq!(processes[1].ask(async || OK).await.unwrap_err().label(), "disabled");
    let mended = Process::start(&url, settings(), |fleet| fleet.identity = Identity::new("new", None)).await;
    assert_eq!(mended.ask(async || OK).await, OK);
    assert_eq!(mended.store.reset_breakers("brave").await.unwrap(), 1);
    assert_eq!(mended.store.reset_breakers("brave").await.unwrap(), 0);
    for process in &processes {
        process.follow().await;
        assert_eq!(process.ask(async || OK).await, OK);
    }
}

#[tokio::test]
async fn a_store_that_is_away_lets_no_call_through_and_blames_nobody() {
    let Some((_, processes)) = fleet(settings(), |_| {}).await else { return };
    processes[0].ask(async || OK).await.unwrap();
    processes[1].store.close().await;
    let refusal = processes[1].ask(async || panic!("it asked without a slot")).await.unwrap_err();
    assert_eq!((refusal.label(), refusal.degradation("brave").to_string()), ("store_away", "store_away:brave".into()));
    assert_eq!(processes[1].state(), GateState::Ready);
    assert_eq!(processes[0].ask(async || OK).await, OK, "the others go on");
}

#[tokio::test]
async fn calls_go_on_within_a_second_when_the_store_is_back_and_none_is_lost() {
    let Some((url, processes)) = fleet(settings(), |_| {}).await else { return };
    let process = &processes[0];
    process.ask(async || OK).await.unwrap();
    let mut holder = PgConnection::connect(&url).await.unwrap();
    holder.execute("BEGIN; LOCK TABLE provider_quota IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let work = async || panic!("it asked without a permit");
    assert_eq!(process.ask(work).await.unwrap_err().label(), "store_away");
    let since = Instant::now();
    assert_eq!(process.ask(work).await.unwrap_err().label(), "store_away");
    assert!(
        since.elapsed() < Duration::from_millis(900),
        "the next caller does not wait for it: {:?}",
        since.elapsed()
    );
    holder.execute("ROLLBACK").await.unwrap();
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(process.ask(async || OK).await, OK);
    process.gate.follower().settle().await;
    let calls = process.store.calls().await.unwrap().providers.remove(0);
    assert_eq!(calls.day, 2, "the statement that came too late is returned");
}

#[tokio::test]
async fn a_call_whose_connection_is_cut_is_taken_on_another_one() {
    let Some((url, processes)) = fleet(settings(), |_| {}).await else { return };
    let asked = database::cut_off(&url, "provider_quota", processes[0].ask(async || OK)).await;
    assert_eq!(asked, OK, "the database is there, so the provider is asked");
    assert_eq!(processes[0].state(), GateState::Ready);
}

#[tokio::test]
async fn what_is_to_be_told_once_a_day_is_told_by_one_process() {
    let Some((_, processes)) = fleet(settings(), |_| {}).await else { return };
    let day = processes[0].gate.now().date_naive();
    let tells = |day| processes.iter().map(move |process| process.store.claim_daily_notice("x", day));
    let told = |day| futures::future::join_all(tells(day));
    for day in [day, day + chrono::Days::new(1)] {
        assert_eq!(told(day).await.into_iter().filter(|told| *told.as_ref().unwrap()).count(), 1);
        assert_eq!(told(day).await.into_iter().filter(|told| *told.as_ref().unwrap()).count(), 0);
    }
}

#[tokio::test]
async fn a_turn_is_had_by_one_process_and_is_anybodys_when_it_is_given_back() {
    let Some((_, processes)) = fleet(settings(), |_| {}).await else { return };
    let minute = Duration::from_mins(1);
    let all_look = async |every: Duration| {
        let looks = processes.iter().map(|process| process.store.take_turn("tidying", every));
        let looks = futures::future::join_all(looks).await;
        looks.into_iter().filter(|look| *look.as_ref().unwrap()).count()
    };
    assert_eq!((all_look(minute).await, all_look(minute).await), (1, 0), "it lasts a minute");
    processes[1].store.give_turn_back("tidying", minute).await.unwrap();
    assert_eq!(all_look(minute).await, 1, "what was not done is anybody's again");
}

/// One connection that executes about a thousand small statements a second.
#[cfg(feature = "embedded")]
#[tokio::test]
async fn embedded_store_keeps_up_with_the_rate_of_a_language_model() {
    use corroborate::app::OpenStore;
    let folder = tempfile::tempdir().unwrap();
    let opened = OpenStore::embedded(folder.path()).await.unwrap();
    opened.store.migrate().await.unwrap();
    let fleet = Fleet { store: Some(opened.store.clone()), monthly_cap_usd: Some(100.0), ..Fleet::default() };
    let http = HttpClient::live("corroborate-test").unwrap();
    let settings = GateSettings { cost_usd: 0.005, rpm: 1_200, ..settings() };
    let gate = Arc::new(Gate::in_fleet(settings, http, Arc::new(SystemClock), Arc::new(NoObserver), fleet));
    let process = Process { store: opened.store.clone(), gate };
    let begun = Instant::now();
    let callers = (0..6).map(|_| async {
        for _ in 0..10 {
            process.ask(async || OK).await.unwrap();
        }
    });
    futures::future::join_all(callers).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(2_400) && took < Duration::from_secs(6), "60 calls took {took:?}");
    process.gate.follower().settle().await;
    let spent = process.store.calls().await.unwrap().spent_usd;
    assert!((spent - 0.3).abs() < 1e-9, "{spent}");
    drop(process);
    opened.close().await.unwrap();
}
