//! `doctor`: one line a check, with what to do about it.

use std::fmt::Write as _;

use serde::Serialize;

use super::failure::{Failure, chain};
use super::output::{Colour, Output};
use crate::app::{App, AppError, OpenStore, Purpose};
use crate::config::{self, Config, ConfigError, Loaded};
use crate::outbound::{GateState, GateStatus};

#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    health: Health,
    detail: String,
}

fn finding(check: &'static str, health: Health, detail: impl Into<String>) -> Finding {
    Finding { check, health, detail: detail.into() }
}

pub(super) async fn run(loaded: Result<Loaded, ConfigError>, output: Output) -> Result<(), Failure> {
    let mut findings = Vec::new();
    let mut code = 1;
    match loaded {
        Err(error) => {
            code = config::EXIT_CODE;
            findings.push(finding("configuration", Health::Fail, error.to_string()));
        }
        Ok(loaded) => {
            findings.push(finding("configuration", Health::Ok, "every key is known and in range"));
            for warning in &loaded.warnings {
                findings.push(finding("configuration", Health::Warn, warning.clone()));
            }
            let config = std::sync::Arc::new(loaded.config);
            http(&config, &mut findings).await;
            if let Some(failed) = parts(&config, &mut findings).await {
                code = failed;
            }
        }
    }
    show(&findings, output)?;
    let failed = findings.iter().filter(|finding| finding.health == Health::Fail).count();
    if failed > 0 {
        return Err(Failure::new(code, format!("{failed} check(s) failed; each line says what to do")));
    }
    Ok(())
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

/// A server whose schema is behind is only told of: a check-up changes nothing. `Some` ends the check-up.
async fn pending(config: &Config, findings: &mut Vec<Finding>) -> Option<Option<u8>> {
    config.database.url.as_ref()?;
    let opened = match OpenStore::open(config).await {
        Ok(opened) => opened,
        Err(error) => {
            findings.push(finding("store", Health::Fail, chain(&error)));
            return Some(Some(error.exit_code()));
        }
    };
    let pending = match opened.store.check_vector().await {
        Ok(()) => opened.store.pending_migrations().await,
        Err(error) => Err(error),
    };
    drop(opened.close().await);
    match pending {
        Ok(0) => None,
        Ok(count) => {
            let detail = format!(
                "{count} migration(s) have not been run; run `corroborate migrate` (`serve` does it too), then this again for the rest"
            );
            findings.push(finding("store", Health::Warn, detail));
            Some(None)
        }
        Err(error) => {
            findings.push(finding("store", Health::Fail, chain(&error)));
            Some(Some(AppError::from(error).exit_code()))
        }
    }
}

/// Which models judge, one line each.
fn models(app: &App, findings: &mut Vec<Finding>) {
    let models = &app.services.models;
    let without = |name: &str| if name.contains(':') { "" } else { ", without a model" };
    let stance = models.stance.name();
    let dimension = models.embedder.dimension();
    findings.push(finding("embedder", Health::Ok, format!("{}, {dimension} dimensions", models.embedder.name())));
    findings.push(finding("stance", Health::Ok, format!("{stance}{}", without(stance))));
    findings.push(finding("reranker", Health::Ok, models.reranker.name().to_owned()));
    let translator =
        app.services.translator.as_ref().map_or("none: claims are searched for in their own words", |one| one.name());
    findings.push(finding("translator", Health::Ok, translator.to_owned()));
}

/// Opens everything as a command would. `Some` is the exit code of what could not be had.
async fn parts(config: &std::sync::Arc<Config>, findings: &mut Vec<Finding>) -> Option<u8> {
    let place = if config.database.url.is_some() {
        "DATABASE_URL".to_owned()
    } else {
        config::data_dir(config).display().to_string()
    };
    if let Some(code) = pending(config, findings).await {
        return code;
    }
    let app = match App::open(std::sync::Arc::clone(config), Purpose::Command).await {
        Ok(app) => app,
        Err(AppError::DataFolderBusy { path, pid, http }) => {
            let at = http.map(|at| format!("; it serves http://{at}")).unwrap_or_default();
            findings.push(finding("store", Health::Ok, format!("{path} is in use by process {pid}{at}")));
            return None;
        }
        Err(error) => {
            let check = match &error {
                AppError::Queue(_) => "broker",
                AppError::Setup { component, .. } => component,
                _ => "store",
            };
            findings.push(finding(check, Health::Fail, chain(&error)));
            return Some(error.exit_code());
        }
    };
    match app.store.server_version().await {
        Ok((server, vector)) => findings.push(finding(
            "store",
            Health::Ok,
            format!("Postgres {server}, vector {}, {place}", vector.as_deref().unwrap_or("missing")),
        )),
        Err(error) => findings.push(finding("store", Health::Fail, chain(&error))),
    }
    match app.queue.depth().await {
        Ok(depth) => {
            let kind = if config.amqp.url.is_some() { "RabbitMQ" } else { "table in the store" };
            let health = if depth.dead > 0 { Health::Warn } else { Health::Ok };
            let hint = if depth.dead > 0 { "; see `corroborate dead list`" } else { "" };
            findings.push(finding(
                "queue",
                health,
                format!("{kind}: {} item(s) wait, {} dead{hint}", depth.enrichment + depth.factcheck, depth.dead),
            ));
        }
        Err(error) => findings.push(finding("queue", Health::Fail, chain(&error))),
    }
    providers(&app, findings);
    models(&app, findings);
    if let Err(error) = app.close().await {
        findings.push(finding("store", Health::Warn, format!("it did not close cleanly: {}", chain(&error))));
    }
    None
}

fn providers(app: &App, findings: &mut Vec<Finding>) {
    let providers = &app.services.providers;
    for provider in providers.configured() {
        findings.push(standing(&provider.status()));
    }
    for name in &providers.unconfigured {
        let mend = crate::providers::profile(name).map_or("this version does not ask it", |profile| profile.configure);
        findings.push(finding("provider", Health::Warn, format!("{name} is not configured; {mend}")));
    }
}

/// The same state as `providers` and `/readyz` tell.
fn standing(status: &GateStatus) -> Finding {
    if status.state == GateState::Ready {
        return finding("provider", Health::Ok, format!("{} is configured", status.name));
    }
    let until = status.until.map(|until| format!(" until {until}")).unwrap_or_default();
    let reason = status.reason.as_deref().unwrap_or("it was left alone before");
    let mend = match status.state {
        GateState::Disabled => {
            format!("; give it another key, or run `corroborate providers reset {}` once it is mended", status.name)
        }
        _ => String::new(),
    };
    finding("provider", Health::Warn, format!("{} is {}{until}: {reason}{mend}", status.name, status.state.as_str()))
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
        };
        let _infallible = writeln!(text, "{}  {:<14} {}", output.paint(word, colour), finding.check, finding.detail);
    }
    output.text(&text)
}
