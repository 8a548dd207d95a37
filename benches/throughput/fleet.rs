//! Several processes over one store and one broker, many items, and providers that fail one after the other: is any
//! limit passed, any item lost, any cause left unnamed; and what did the caches spare?

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use sqlx::PgPool;

use crate::Arguments;
use crate::broker::{Batch, Upstream};
use crate::daemon::{Daemon, Setup};
use crate::database::Scratch;
use crate::figures::{Figure, Figures, Target};
use crate::simulator::{EventWorld, Fault, Simulator, Target as Desk};

/// Every claim is told by so many items: two at the same moment, two much later.
const TELLERS: u64 = 4;
/// How long a provider fails in one way, and how long it then works.
const FAILING: Duration = Duration::from_secs(4);
const WORKING: Duration = Duration::from_secs(3);
/// Dollars the run may spend; a few hundred calls.
const CAP: f64 = 2.0;

/// One provider's limits in this run.
struct Limits {
    desk: Desk,
    /// As in `ENRICHMENT_<NAME>_RPM`.
    prefix: &'static str,
    rpm: u32,
    daily: Option<u32>,
    usd: f64,
}

/// Narrow enough to be met many times, and wide enough that most items get their answer.
const LIMITS: [Limits; 7] = [
    Limits { desk: Desk::GoogleFactCheck, prefix: "FACTCHECK_GOOGLE", rpm: 3000, daily: None, usd: 0.0 },
    Limits { desk: Desk::Searxng, prefix: "ENRICHMENT_SEARXNG", rpm: 12_000, daily: None, usd: 0.0 },
    Limits { desk: Desk::Brave, prefix: "ENRICHMENT_BRAVE", rpm: 600, daily: None, usd: 0.005 },
    Limits { desk: Desk::SerpApi, prefix: "ENRICHMENT_SERPAPI", rpm: 60, daily: None, usd: 0.015 },
    Limits { desk: Desk::Gdelt, prefix: "ENRICHMENT_GDELT", rpm: 60, daily: None, usd: 0.0 },
    Limits { desk: Desk::EventRegistry, prefix: "ENRICHMENT_EVENTREGISTRY", rpm: 120, daily: Some(300), usd: 0.0 },
    Limits { desk: Desk::NewsApi, prefix: "ENRICHMENT_NEWSAPI", rpm: 60, daily: Some(100), usd: 0.0 },
];

fn environment() -> Vec<String> {
    let mut pairs = vec![
        "ENRICHMENT_PROVIDERS=opensearch,gdelt,eventregistry,newsapi".to_owned(),
        "ENRICHMENT_NEWSAPI_LICENSED=true".to_owned(),
        // As many as the simulated world has of a story: with more wanted, everybody would be asked for every item.
        "ENRICHMENT_MAX_SOURCES=3".to_owned(),
        format!("ENRICHMENT_MONTHLY_CAP_USD={CAP}"),
        // A fault lasts seconds here, not the minutes an operator reckons with.
        "ENRICHMENT_PROVIDER_COOLDOWN=2s".to_owned(),
        "CORROBORATE_PROVIDERS_MAX_WAIT=500ms".to_owned(),
    ];
    for limits in &LIMITS {
        let prefix = limits.prefix;
        pairs.push(format!("{prefix}_RPM={}", limits.rpm));
        if limits.desk != Desk::Searxng && limits.desk != Desk::Gdelt {
            pairs.push(format!("{prefix}_API_KEY=simulated"));
        }
        if let Some(daily) = limits.daily {
            pairs.push(format!("{prefix}_DAILY_LIMIT={daily}"));
        }
        if limits.usd > 0.0 {
            pairs.push(format!("{prefix}_COST_USD={}", limits.usd));
        }
    }
    pairs
}

/// The ways a provider fails, each in words for the log.
fn faults() -> Vec<(&'static str, Fault)> {
    let html = "<!doctype html><html><title>Error</title><body>Something went wrong.</body></html>";
    vec![
        ("throttled for two seconds", Fault::answer(429, "text/plain", "slow down").retry_after("2")),
        ("throttled without a word", Fault::answer(429, "text/plain", "")),
        ("closing connections", Fault::outage()),
        ("cutting bodies off", Fault::truncated("application/json", r#"{"results":[{"url":"https://a.exam"#)),
        ("failing with 503", Fault::answer(503, "text/html", html)),
        ("saying 200 with a page", Fault::answer(200, "text/html", html)),
        ("saying 200 with broken JSON", Fault::answer(200, "application/json", r#"{"results": [}"#)),
    ]
}

/// Lets one provider after the other fail in one way after the other, until it is stopped. Gives the number of faults.
async fn break_providers(simulator: &Simulator, count: &std::cell::Cell<u32>) {
    loop {
        for (_words, fault) in faults() {
            for limits in &LIMITS {
                simulator.set_fault(limits.desk, fault.clone());
                count.set(count.get() + 1);
                tokio::time::sleep(FAILING).await;
                simulator.set_fault(limits.desk, None);
                tokio::time::sleep(WORKING).await;
            }
        }
    }
}

/// Items with their ids: item `k` tells the claim of story `(k / 2) % stories`, so that two channels tell it at once and
/// others come back to it when it may be forgotten.
fn items(world: EventWorld, count: u64) -> Vec<(String, Vec<u8>)> {
    let stories = (count / TELLERS).max(1);
    (0..count)
        .map(|number| {
            let mut item = world.item((number / 2) % stories);
            let id = format!("fleet:{number}");
            item["item_id"] = id.clone().into();
            item["channel"] = format!("@channel{}", number % 97).into();
            (id, item.to_string().into_bytes())
        })
        .collect()
}

pub(crate) async fn run(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    let processes = arguments.processes.max(1);
    let count = arguments.items() * processes;
    eprintln!("fleet: {processes} processes, {count} items, providers failing in turn");
    let world = EventWorld { items_per_event: arguments.items_per_event.max(1), offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    let database = Scratch::create(&arguments.database, "fleet").await?;
    let setup = |name| Setup {
        name,
        amqp: Some(arguments.amqp.clone()),
        database: Some(database.url()),
        data_directory: None,
        concurrency: arguments.concurrency,
        environment: [environment(), arguments.env.clone()].concat(),
    };
    let names = ["fleet-1", "fleet-2", "fleet-3", "fleet-4", "fleet-5", "fleet-6", "fleet-7", "fleet-8"];
    let mut daemons = Vec::new();
    for number in 0..processes {
        let name = names.get(usize::try_from(number)?).copied().unwrap_or("fleet-more");
        daemons.push(Daemon::start(&setup(name), &simulator).await?);
    }
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    let sent = items(world, count);
    let strikes = std::cell::Cell::new(0);
    // Safe to be cut off: the faults end with the run.
    let batch = tokio::select! {
        batch = upstream.run(&sent) => batch.with_context(|| daemons[0].log_end())?,
        () = break_providers(&simulator, &strikes) => unreachable!("it goes on until it is stopped"),
    };
    let caches = cache_figures(&daemons).await?;
    upstream.close().await?;
    for daemon in daemons {
        daemon.stop().await?;
    }
    let pool = database.pool(2).await?;
    nothing_is_lost(&pool, &batch, count).await?;
    let limits = limits_hold(&simulator, figures);
    figures.push(Figure::new("fleet with failing providers", batch.rate(), "items/s", Target::None).remark(format!(
        "{processes} processes, {count} items, {} faults; {}",
        strikes.get(),
        outcomes(&batch)
    )));
    saved(&simulator, &caches, figures);
    pool.close().await;
    database.drop().await?;
    limits
}

/// Every item has one result and one row, and whatever is degraded says why.
async fn nothing_is_lost(pool: &PgPool, batch: &Batch, count: u64) -> anyhow::Result<()> {
    ensure!(batch.millis.len() as u64 == count, "{} results for {count} items", batch.millis.len());
    let unnamed = batch.statuses.get("degraded").copied().unwrap_or(0);
    ensure!(unnamed == 0, "{unnamed} degraded results name no cause");
    let (stored, odd): (i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE (status = 'degraded') <> (cardinality(degraded) > 0)) FROM items",
    )
    .fetch_one(pool)
    .await?;
    ensure!(u64::try_from(stored)? == count, "{stored} of {count} items are stored");
    ensure!(odd == 0, "{odd} stored items are degraded without a cause, or have one and are not");
    Ok(())
}

/// What was seen at the providers' side against what was allowed.
fn limits_hold(simulator: &Simulator, figures: &mut Figures) -> anyhow::Result<()> {
    let mut broken = Vec::new();
    let mut spent = 0.0;
    for limits in &LIMITS {
        let calls = simulator.calls(limits.desk);
        let most = simulator.most_within(limits.desk, Duration::from_mins(1));
        let within = most <= limits.rpm as usize && limits.daily.is_none_or(|daily| calls <= u64::from(daily));
        if !within {
            broken.push(format!("{:?}: {most} in a minute of {}, {calls} in all", limits.desk, limits.rpm));
        }
        spent += simulator.served(limits.desk) as f64 * limits.usd;
        let target = Target::Below(f64::from(limits.rpm) + 1.0);
        let daily = limits.daily.map(|daily| format!(" of {daily} a day")).unwrap_or_default();
        figures.push(
            Figure::new(&format!("most calls in any minute, {:?}", limits.desk), most as f64, "calls", target)
                .remark(format!("{calls} calls in all{daily}")),
        );
    }
    figures.push(
        Figure::new("answered paid calls", spent, "USD", Target::Below(CAP + 1e-9)).remark(format!("the cap is {CAP}")),
    );
    ensure!(broken.is_empty() && spent <= CAP + 1e-9, "a limit was passed: {}; {spent} USD", broken.join("; "));
    Ok(())
}

/// Items by status, and the causes of degradation by how often they are named.
fn outcomes(batch: &Batch) -> String {
    let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, count) in &batch.statuses {
        let (status, rest) = key.split_once('|').unwrap_or((key, ""));
        *statuses.entry(status).or_default() += count;
        for cause in rest.split('|').filter(|cause| !cause.is_empty()) {
            *causes.entry(cause).or_default() += count;
        }
    }
    let show = |counts: BTreeMap<&str, u64>| {
        counts.into_iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    };
    format!("{}; causes: {}", show(statuses), show(causes))
}

/// `cache_requests_total` of all processes, by cache and result.
async fn cache_figures(daemons: &[Daemon]) -> anyhow::Result<BTreeMap<(String, String), u64>> {
    let mut sums: BTreeMap<(String, String), u64> = BTreeMap::new();
    for daemon in daemons {
        let (_, text) = daemon.request("GET", "/metrics", "").await?;
        for line in text.lines().filter(|line| line.starts_with("corroborate_cache_requests_total{")) {
            let label = |name: &str| {
                let rest = line.split_once(&format!("{name}=\""))?.1;
                Some(rest.split_once('"')?.0.to_owned())
            };
            let count = line.rsplit_once(' ').and_then(|(_, count)| count.parse::<f64>().ok()).unwrap_or(0.0);
            if let (Some(cache), Some(result)) = (label("cache"), label("result")) {
                *sums.entry((cache, result)).or_default() += count as u64;
            }
        }
    }
    Ok(sums)
}

/// The share of questions that no provider was asked for.
fn saved(simulator: &Simulator, caches: &BTreeMap<(String, String), u64>, figures: &mut Figures) {
    for cache in ["search", "fact_check", "page"] {
        let of: BTreeMap<&str, u64> = caches
            .iter()
            .filter(|((name, _), _)| name == cache)
            .map(|((_, result), count)| (result.as_str(), *count))
            .collect();
        let asked: u64 = of.values().sum();
        let missed = of.iter().filter(|(result, _)| result.starts_with("miss")).map(|(_, count)| count);
        let spared = asked - missed.sum::<u64>();
        let parts: Vec<String> = of.iter().map(|(result, count)| format!("{count} {result}")).collect();
        let share = spared as f64 / asked.max(1) as f64 * 100.0;
        figures.push(
            Figure::new(&format!("answered by caches, {cache}"), share, "%", Target::None).remark(parts.join(", ")),
        );
    }
    let (pages, strays) = (simulator.calls(Desk::Page), simulator.calls(Desk::Unknown));
    figures.push(
        Figure::new("pages fetched", pages as f64, "pages", Target::None)
            .remark(format!("{strays} further requests (robots.txt)")),
    );
}
