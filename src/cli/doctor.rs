//! `doctor`: one line per check, with advice.
//!
//! Each part is checked once. A failure does not stop the other checks.

use std::fmt::Write as _;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::failure::{Failure, chain};
use super::output::{Colour, Output};
use crate::app::{AppError, Checkup, OpenStore, Upkeep};
use crate::config::{self, Config, ConfigError, LoadedConfig};
use crate::domain::{Clock as _, SystemClock};
use crate::inference::languages::advice;
use crate::inference::llm::{LlmError, Purpose};
use crate::outbound::local::LocalDaemon;
use crate::outbound::{AskError, AskMeter, Asker, GateState, GateStatus, Method};
use crate::providers::{ProbeResult, Provider};
use crate::store::{MAX_CLOCK_DIFFERENCE, Store, StoreError, VectorMemory};

/// Time limit per part; parts are checked concurrently.
const LIMIT: Duration = Duration::from_secs(10);
/// Added to [`LIMIT`] for parts that use all of it.
const MOMENT: Duration = Duration::from_secs(1);
/// A test sentence, and the target language of most queries.
const SENTENCE: (&str, &str) = ("Der Zug kommt heute an.", "en");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckScope {
    /// Only the store and the queue.
    Offline,
    /// Also free services.
    Free,
    /// Also paid services.
    Paid,
}

impl CheckScope {
    pub(super) const fn of(offline: bool, paid: bool) -> Self {
        match (offline, paid) {
            (true, _) => Self::Offline,
            (false, true) => Self::Paid,
            (false, false) => Self::Free,
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    Warn,
    Fail,
    Skip,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    health: Health,
    detail: String,
    /// The exit code, if this is the first failure.
    #[serde(skip)]
    code: u8,
}

fn finding(check: &'static str, health: Health, detail: impl Into<String>) -> Finding {
    Finding { check, health, detail: detail.into(), code: 1 }
}

fn failed(check: &'static str, error: &AppError) -> Finding {
    Finding { code: error.exit_code(), ..finding(check, Health::Fail, chain(error)) }
}

fn unavailable(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { code: 69, ..finding(check, Health::Fail, detail) }
}

pub(super) async fn run(
    loaded: Result<LoadedConfig, ConfigError>,
    scope: CheckScope,
    output: Output,
) -> Result<(), Failure> {
    let mut findings = Vec::new();
    match loaded {
        Err(error) => {
            let broken = finding("configuration", Health::Fail, error.to_string());
            findings.push(Finding { code: config::EXIT_CODE, ..broken });
        }
        Ok(loaded) => {
            findings.push(finding("configuration", Health::Ok, "every key is known and in range"));
            for warning in &loaded.warnings {
                findings.push(finding("configuration", Health::Warn, warning.clone()));
            }
            let config = Arc::new(loaded.config);
            http(&config, &mut findings).await;
            Box::pin(parts(&config, scope, &mut findings)).await;
        }
    }
    show(&findings, output)?;
    let failures: Vec<&Finding> = findings.iter().filter(|finding| finding.health == Health::Fail).collect();
    match failures.first() {
        Some(first) => {
            Err(Failure::new(first.code, format!("{} check(s) failed; each line says what to do", failures.len())))
        }
        None => Ok(()),
    }
}

async fn http(config: &Config, findings: &mut Vec<Finding>) {
    let bind = config.http.bind;
    findings.push(match tokio::net::TcpListener::bind(bind).await {
        Ok(_listener) => finding("http", Health::Ok, format!("{bind} is free")),
        Err(error) => finding(
            "http",
            Health::Warn,
            format!("{bind} cannot be listened on ({error}); fine if that is a running daemon, else set HTTP_BIND"),
        ),
    });
    if config.http.admin_token.is_none() {
        let (health, detail) = if bind.ip().is_loopback() {
            (Health::Ok, "no ADMIN_TOKEN: admin calls work from this machine only")
        } else {
            (Health::Warn, "no ADMIN_TOKEN on a public address: admin calls are refused; set ADMIN_TOKEN to use them")
        };
        findings.push(finding("admin", health, detail));
    }
}

/// Checks the store first, because other parts use it. Without it they are still checked.
async fn parts(config: &Arc<Config>, scope: CheckScope, findings: &mut Vec<Finding>) {
    let (opened, is_usable) = store(config, findings).await;
    let usable = opened.as_ref().filter(|_| is_usable).map(|opened| opened.store.clone());
    let servers = config.inference.servers().next().is_some();
    let mut asked = Config::clone(config);
    if scope == CheckScope::Offline {
        let inference = &mut asked.inference;
        (inference.base_url, inference.stance_url, inference.rerank_url) = (None, None, None);
    }
    let checkup = Checkup::new(asked, usable.as_ref(), LIMIT).await;
    queue(config, &checkup, findings).await;
    if scope == CheckScope::Offline && servers {
        findings.push(finding("models", Health::Skip, "the model servers are not asked (--offline)"));
    } else {
        models(&checkup, usable.as_ref(), findings);
    }
    let model = async {
        let asked = language_model_finding(&checkup, scope).await;
        // A failed language model is not tested as translator too.
        let is_well = asked.health == Health::Ok || !translates_by_model(&checkup);
        let translated = if is_well { Some(translator(&checkup, scope).await) } else { None };
        (asked, translated)
    };
    let ((model, translated), asked) = tokio::join!(model, providers(&checkup, usable.is_some(), scope));
    findings.push(model);
    findings.extend(translated);
    findings.extend(asked);
    checkup.close().await;
    if let Some(opened) = opened
        && let Err(error) = opened.close().await
    {
        findings.push(finding("store", Health::Warn, format!("it did not close cleanly: {}", chain(&error))));
    }
}

/// Does not change the schema. The second value: other parts can use the store.
async fn store(config: &Config, findings: &mut Vec<Finding>) -> (Option<OpenStore>, bool) {
    let upkeep = if config.database.url.is_some() { Upkeep::None } else { Upkeep::Command };
    let opened = match OpenStore::open(config, upkeep).await {
        Ok(opened) => opened,
        Err(AppError::DataFolderBusy { path, pid, http }) => {
            let at = http.as_deref().map(|at| format!("; it serves http://{at}")).unwrap_or_default();
            findings.push(finding("store", Health::Ok, format!("{path} is in use by process {pid}{at}")));
            if let Some(at) = http {
                findings.push(daemon(config, at).await);
            }
            return (None, false);
        }
        Err(error) => {
            findings.push(failed("store", &error));
            return (None, false);
        }
    };
    match seen(&opened.store).await {
        Ok((0, version)) => {
            let place = match &config.database.url {
                Some(_) => "DATABASE_URL".to_owned(),
                None => config::data_dir(config).display().to_string(),
            };
            findings.push(finding("store", Health::Ok, format!("{version}, {place}")));
            if config.database.url.is_some() {
                findings.extend(memory_finding(&opened.store).await);
                findings.push(clock(&opened.store).await);
            }
            findings.extend(copy(config, &opened.store).await);
            (Some(opened), true)
        }
        Ok((pending, version)) => {
            let detail = format!("{version}; {pending} migration(s) have not been run: run `corroborate migrate`");
            findings.push(finding("store", Health::Warn, detail));
            (Some(opened), false)
        }
        Err(error) => {
            findings.push(failed("store", &error.into()));
            (Some(opened), false)
        }
    }
}

async fn copy(config: &Config, store: &Store) -> Option<Finding> {
    config.database.read_url.as_ref()?;
    Some(match store.reading().ping().await {
        Ok(()) => finding("copy", Health::Ok, "the copy of the database answers, DATABASE_READ_URL"),
        Err(error) => failed("copy", &error.into()),
    })
}

async fn clock(store: &Store) -> Finding {
    match store.check_clock(SystemClock.now()).await {
        Ok(()) => {
            let most = MAX_CLOCK_DIFFERENCE.num_minutes();
            finding("clock", Health::Ok, format!("within {most} minutes of the database's"))
        }
        Err(error) => failed("clock", &error.into()),
    }
}

/// Returns the number of pending migrations, and the server's description.
async fn seen(store: &Store) -> Result<(usize, String), StoreError> {
    store.check_vector().await?;
    let (server, vector) = store.server_version().await?;
    let vector = vector.as_deref().unwrap_or("not yet created");
    Ok((store.pending_migrations().await?, format!("Postgres {server}, vector {vector}")))
}

/// Asks the daemon that holds the data folder whether it is ready.
async fn daemon(config: &Config, at: String) -> Finding {
    let asked = async {
        let daemon = LocalDaemon::new(at, config.http.admin_token.clone()).map_err(|error| error.to_string())?;
        daemon.call(Method::GET, "/readyz", None).await.map_err(|error| error.to_string())
    };
    match within(asked).await {
        Some(Ok(_ready)) => finding("daemon", Health::Ok, "it is ready"),
        Some(Err(error)) => unavailable("daemon", error),
        None => unavailable("daemon", format!("it did not answer within {} seconds", LIMIT.as_secs())),
    }
}

async fn queue(config: &Config, checkup: &Checkup, findings: &mut Vec<Finding>) {
    let (check, kind) =
        if config.amqp.url.is_some() { ("broker", "RabbitMQ") } else { ("queue", "table in the store") };
    findings.push(match within(checkup.queue()).await {
        Some(Ok(Some(depth))) => {
            let health = if depth.dead > 0 { Health::Warn } else { Health::Ok };
            let hint = if depth.dead > 0 { "; see `corroborate dead list`" } else { "" };
            let waiting = depth.important + depth.enrichment + depth.factcheck;
            // The broker closes the channel of a consumer that keeps a message longer, and delivers it again.
            let limit = if config.amqp.url.is_some() {
                let seconds = config.enrichment.max_time.as_secs();
                format!(
                    "; no search of an item starts after {seconds} s (max_time), and reading and judging follow: the \
                     broker's consumer_timeout (30 minutes by default) must be much longer"
                )
            } else {
                String::new()
            };
            finding("queue", health, format!("{kind}: {waiting} item(s) wait, {} dead{hint}{limit}", depth.dead))
        }
        Some(Ok(None)) => finding("queue", Health::Skip, "it is a table of the store; see there"),
        Some(Err(error)) => failed(check, &error),
        None => unavailable(check, format!("it did not answer within {} seconds; check AMQP_URL", LIMIT.as_secs())),
    });
}

fn models(checkup: &Checkup, store: Option<&Store>, findings: &mut Vec<Finding>) {
    let models = match &checkup.models {
        Ok(models) => models,
        Err(error) => return findings.push(failed("models", error)),
    };
    let without = |name: &str| if name.contains(':') { "" } else { ", without a model" };
    let stance = models.stance.name();
    let dimension = models.embedder.dimension();
    findings.push(match store.map(|store| store.check_dimension(dimension)) {
        Some(Err(error)) => failed("embedder", &error.into()),
        _ => finding("embedder", Health::Ok, format!("{}, {dimension} dimensions", models.embedder.name())),
    });
    findings.push(finding("stance", Health::Ok, format!("{stance}{}", without(stance))));
    let has_translator = checkup.translator.as_ref().is_ok_and(Option::is_some);
    if let Some(advice) = advice(models.stance.as_ref(), has_translator) {
        findings.push(finding("languages", Health::Warn, advice));
    }
    findings.push(finding("reranker", Health::Ok, models.reranker.name().to_owned()));
}

fn translates_by_model(checkup: &Checkup) -> bool {
    matches!(&checkup.translator, Ok(Some(translator)) if translator.is_language_model())
}

/// Costs money if a language model with a key translates.
async fn translator(checkup: &Checkup, scope: CheckScope) -> Finding {
    let translator = match &checkup.translator {
        Ok(Some(translator)) => translator,
        Ok(None) => return finding("translator", Health::Ok, "none: claims are searched for in their own words"),
        Err(error) => return failed("translator", error),
    };
    let name = translator.name();
    let is_paid =
        translator.is_language_model() && checkup.language_model.as_ref().is_some_and(|model| model.is_paid());
    match scope {
        CheckScope::Offline => return finding("translator", Health::Skip, format!("{name} is not asked (--offline)")),
        CheckScope::Free if is_paid => {
            let detail = format!("{name} is not asked, since a question costs money; `doctor --paid` asks it");
            return finding("translator", Health::Skip, detail);
        }
        CheckScope::Free | CheckScope::Paid => {}
    }
    let (text, into) = SENTENCE;
    match within(translator.translate(text, None, into, Instant::now() + LIMIT)).await.map(|done| done.outcome) {
        Some(Ok(Some(_translation))) => finding("translator", Health::Ok, format!("{name} translates")),
        Some(Ok(None)) => {
            finding("translator", Health::Warn, format!("{name} answers, and its answer is no translation"))
        }
        Some(Err(error)) => unavailable("translator", format!("{name}: {error}; check its base URL and key")),
        None => unavailable("translator", format!("{name} did not answer within {} seconds", LIMIT.as_secs())),
    }
}

/// Checks the providers in display order.
async fn providers(checkup: &Checkup, has_store: bool, scope: CheckScope) -> Vec<Finding> {
    let providers = match &checkup.providers {
        Ok(providers) => providers,
        Err(error) => return vec![failed(component(error), error)],
    };
    let asked = providers.configured().map(|provider| async {
        let needs_store = matches!(provider.name(), "knowledge" | "feeds");
        if needs_store && !has_store {
            let detail = format!("{} is not asked: it searches the store, which is not open here", provider.name());
            return finding("provider", Health::Skip, detail);
        }
        probe(provider.as_ref(), scope).await
    });
    let mut findings = join_all(asked).await;
    for name in &providers.disabled {
        findings.push(finding("provider", Health::Skip, format!("{name} is switched off by the configuration")));
    }
    for name in &providers.unconfigured {
        let hint = crate::providers::profile(name).map_or("this version does not ask it", |profile| profile.configure);
        findings.push(finding("provider", Health::Warn, format!("{name} is not configured; {hint}")));
    }
    findings
}

fn component(error: &AppError) -> &'static str {
    match error {
        AppError::Setup { component, .. } => component,
        _ => "providers",
    }
}

/// Calls a provider once, unless it is paused.
async fn probe(provider: &dyn Provider, scope: CheckScope) -> Finding {
    let (name, status) = (provider.name(), provider.status());
    if status.state != GateState::Ready {
        return standing(&status);
    }
    if scope == CheckScope::Offline && !provider.profile().local {
        return finding("provider", Health::Skip, format!("{name} is configured and not asked (--offline)"));
    }
    let meter = AskMeter::default();
    let asker = Asker { until: Instant::now() + LIMIT, meter: &meter };
    let unasked = "its key is not tried, since every question costs money; `doctor --paid` asks it";
    match within(provider.probe(scope == CheckScope::Paid, asker)).await {
        Some(Ok(ProbeResult::Answered { failed })) if failed.is_empty() => {
            finding("provider", Health::Ok, format!("{name} answers"))
        }
        Some(Ok(ProbeResult::Answered { failed })) => {
            unavailable("provider", format!("{name} answers, but for {}", failed.join("; ")))
        }
        Some(Ok(ProbeResult::KeyAccepted)) => {
            finding("provider", Health::Ok, format!("{name} takes the key and has questions left; none was asked"))
        }
        Some(Ok(ProbeResult::Reachable)) => {
            finding("provider", Health::Ok, format!("{name} can be reached; {unasked}"))
        }
        Some(Ok(ProbeResult::NotAsked)) => finding("provider", Health::Skip, format!("{name} is not asked: {unasked}")),
        Some(Err(error)) => refusal(name, &error),
        None => unavailable("provider", format!("{name} did not answer within {} seconds", LIMIT.as_secs())),
    }
}

/// Returns a failure, unless the error resolves itself.
fn refusal(name: &str, error: &AskError) -> Finding {
    let detail = format!("{name}: {error}");
    match error {
        AskError::Throttled { .. }
        | AskError::QuotaGone { .. }
        | AskError::Open { .. }
        | AskError::Busy { .. }
        | AskError::DailyLimit
        | AskError::MonthlyLimit
        | AskError::Budget
        | AskError::NotReady { .. }
        | AskError::StoreAway { .. } => finding("provider", Health::Warn, detail),
        AskError::Connect { .. } | AskError::Timeout | AskError::Deadline => {
            unavailable("provider", format!("{detail}; check its address and this machine's network"))
        }
        AskError::BadKey { .. }
        | AskError::Server { .. }
        | AskError::Lost { .. }
        | AskError::Malformed { .. }
        | AskError::Refused { .. }
        | AskError::CouldNotAsk { .. }
        | AskError::TooLarge
        | AskError::Disabled { .. }
        | AskError::NoRecording(_) => unavailable("provider", detail),
    }
}

/// Returns `None` on timeout.
async fn within<T>(asked: impl Future<Output = T>) -> Option<T> {
    timeout(LIMIT + MOMENT, asked).await.ok()
}

/// Reports the same state as `providers` and `/readyz`.
fn standing(status: &GateStatus) -> Finding {
    if status.state == GateState::Ready {
        return finding("provider", Health::Ok, format!("{} is configured", status.name));
    }
    let until = status.until.map(|until| format!(" until {until}")).unwrap_or_default();
    let reason = status.reason.as_deref().unwrap_or("it was paused before");
    let hint = match status.state {
        GateState::Disabled => {
            format!("; give it another key, or run `corroborate providers reset {}` once it is mended", status.name)
        }
        _ => String::new(),
    };
    finding("provider", Health::Warn, format!("{} is {}{until}: {reason}{hint}", status.name, status.state.as_str()))
}

fn show(findings: &[Finding], output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&findings);
    }
    let mut text = String::new();
    for finding in findings {
        let (word, colour) = match finding.health {
            Health::Ok => ("ok  ", Colour::Green),
            Health::Warn => ("warn", Colour::Yellow),
            Health::Fail => ("FAIL", Colour::Red),
            Health::Skip => ("-   ", Colour::Dim),
        };
        let _infallible = writeln!(text, "{}  {:<14} {}", output.paint(word, colour), finding.check, finding.detail);
    }
    output.text(&text)
}

const MB: f64 = 1e6;

/// Checks that the database's memory can hold the vector indexes, which every item uses. Returns `None` if it can.
async fn memory_finding(store: &Store) -> Option<Finding> {
    match store.vector_memory().await {
        Ok(memory) => memory_advice(memory).map(|advice| finding("store", Health::Warn, advice)),
        Err(error) => Some(failed("store", &error.into())),
    }
}

fn memory_advice(VectorMemory { indexes, shared_buffers }: VectorMemory) -> Option<String> {
    (indexes > shared_buffers).then(|| {
        format!(
            "the indexes of vectors take {:.0} MB, and the server's shared_buffers is {:.0} MB: items wait for what does not fit; \
             raise it, a quarter of the server's memory is usual (docs/benchmarks.md, Large stores)",
            indexes as f64 / MB,
            shared_buffers as f64 / MB
        )
    })
}

const LANGUAGE_MODEL: &str = "language model";

/// Requests one token of the language model, which tests its address, key and name.
async fn language_model_finding(checkup: &Checkup, scope: CheckScope) -> Finding {
    let Some(model) = &checkup.language_model else {
        return finding(
            LANGUAGE_MODEL,
            Health::Ok,
            "none: rules and the other models do all the work (LLM_BASE_URL, LLM_MODEL)",
        );
    };
    let name = model.name();
    let uses: Vec<&str> =
        Purpose::ALL.iter().filter(|purpose| model.is_for(**purpose)).map(|purpose| purpose.as_str()).collect();
    if uses.is_empty() {
        return finding(LANGUAGE_MODEL, Health::Skip, format!("{name} is not asked: every use of it is switched off"));
    }
    match scope {
        CheckScope::Offline => {
            return finding(LANGUAGE_MODEL, Health::Skip, format!("{name} is not asked (--offline)"));
        }
        CheckScope::Free if model.is_paid() => {
            let detail = format!("{name} is not asked, since a question costs money; `doctor --paid` asks it");
            return finding(LANGUAGE_MODEL, Health::Skip, detail);
        }
        CheckScope::Free | CheckScope::Paid => {}
    }
    match within(model.probe(Instant::now() + LIMIT)).await {
        Some(Ok(())) => finding(LANGUAGE_MODEL, Health::Ok, format!("{name} answers; used for {}", uses.join(", "))),
        Some(Err(error)) => language_model_refusal(name, &error),
        None => unavailable(LANGUAGE_MODEL, format!("{name} did not answer within {} seconds", LIMIT.as_secs())),
    }
}

/// Returns a failure, unless the error resolves itself.
fn language_model_refusal(name: &str, error: &LlmError) -> Finding {
    let detail = format!("{name}: {error}");
    match error {
        LlmError::Ask(
            AskError::Throttled { .. }
            | AskError::QuotaGone { .. }
            | AskError::Open { .. }
            | AskError::Busy { .. }
            | AskError::Budget
            | AskError::StoreAway { .. },
        ) => finding(LANGUAGE_MODEL, Health::Warn, detail),
        LlmError::Ask(AskError::Connect { .. } | AskError::Timeout | AskError::Deadline) => {
            unavailable(LANGUAGE_MODEL, format!("{detail}; check LLM_BASE_URL, and that its server runs"))
        }
        _ => unavailable(LANGUAGE_MODEL, detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_where_the_indexes_do_not_fit_alone() {
        let of = |indexes, shared_buffers| memory_advice(VectorMemory { indexes, shared_buffers });
        assert_eq!(of(128_000_000, 128_000_000), None);
        let text = of(1_950_000_000, 134_217_728).unwrap();
        assert!(text.contains("1950 MB") && text.contains("134 MB") && text.contains("raise it"), "{text}");
    }
}
