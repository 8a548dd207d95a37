//! `tokens`: manages access tokens other than the server's own token.
//!
//! If a daemon holds the data folder, the command uses its API.

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::arguments::TokensAction;
use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach, segment};
use crate::config::Config;
use crate::domain::SystemClock;
use crate::domain::clock::Clock as _;
use crate::http::{TokenError, TokenRequest, make_token, random_token};
use crate::judging::plain::plain;
use crate::outbound::Method;
use crate::outbound::local::LocalDaemon;
use crate::store::{AuditEntry, Store};

/// The author in the record.
const WHO: &str = "command line";

pub(super) async fn run(config: Arc<Config>, action: TokensAction, output: Output) -> Result<(), Failure> {
    if config.http.admin_token.is_none() && matches!(action, TokensAction::Add { .. }) {
        output.hint("ADMIN_TOKEN is not set: until it is, this machine alone can use the server, and needs no token");
    }
    match reach::store(&config).await? {
        Reach::Here(opened) => {
            let done = here(&opened.store, action, output).await;
            opened.close().await?;
            done
        }
        Reach::Daemon(daemon) => through(&daemon, action, output).await,
    }
}

/// Prints a new server token; needs no configuration and no store.
pub(super) fn generate(output: Output) -> Result<(), Failure> {
    let token = random_token();
    if output.json {
        return output.value(&json!({ "token": token }));
    }
    output.text(&format!("{token}\n"))
}

fn request(name: String, scope: String, rate: Option<u32>, days: Option<u32>) -> TokenRequest {
    TokenRequest { name, scope, requests_per_minute: rate, days }
}

async fn here(store: &Store, action: TokensAction, output: Output) -> Result<(), Failure> {
    let now = SystemClock.now();
    match action {
        TokensAction::Generate => generate(output),
        TokensAction::List => list(&json!({ "items": store.tokens().await? }), output),
        TokensAction::Add { name, scope, rate, days } => {
            let made = make_token(store, &request(name, scope, rate, days), WHO).await.map_err(failure)?;
            note(store, "token.add", &made.stored.name, now).await?;
            added(&serde_json::to_value(&made)?, output)
        }
        TokensAction::Revoke { name } => {
            let ended = store.revoke_token(&name).await?.ok_or_else(|| unknown(&name))?;
            note(store, "token.revoke", &name, now).await?;
            revoked(&serde_json::to_value(&ended)?, output)
        }
    }
}

async fn note(store: &Store, action: &str, subject: &str, at: DateTime<Utc>) -> Result<(), Failure> {
    let (who, action, subject) = (WHO.to_owned(), action.to_owned(), subject.to_owned());
    Ok(store.note_audit(&AuditEntry { at, who, action, subject, detail: None }).await?)
}

fn failure(error: TokenError) -> Failure {
    match error {
        TokenError::Store(error) => error.into(),
        TokenError::Taken => Failure::failed(error.to_string()),
        _ => Failure::new(2, error.to_string()),
    }
}

fn unknown(name: &str) -> Failure {
    Failure::failed(format!("no valid token is called {}; see `corroborate tokens list`", plain(name)))
}

async fn through(daemon: &LocalDaemon, action: TokensAction, output: Output) -> Result<(), Failure> {
    match action {
        TokensAction::Generate => generate(output),
        TokensAction::List => list(&daemon.call(Method::GET, "/api/tokens", None).await?, output),
        TokensAction::Add { name, scope, rate, days } => {
            let body = json!({ "name": name, "scope": scope, "requests_per_minute": rate, "days": days });
            added(&daemon.call(Method::POST, "/api/tokens", Some(&body)).await?, output)
        }
        TokensAction::Revoke { name } => {
            match daemon.call(Method::DELETE, &format!("/api/tokens/{}", segment(&name)), None).await {
                Ok(ended) => revoked(&ended, output),
                Err(crate::outbound::local::LocalError::Refused { status: 404, .. }) => Err(unknown(&name)),
                Err(error) => Err(error.into()),
            }
        }
    }
}

fn said<'a>(token: &'a Value, key: &str) -> &'a str {
    token.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn added(made: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(made);
    }
    output.hint("this token is shown once; keep it where only its user reads it");
    output.text(&format!("{}\n", said(made, "token")))
}

fn revoked(ended: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(ended);
    }
    output.text(&format!("{} is revoked; running servers refuse it within seconds\n", plain(said(ended, "name"))))
}

fn list(tokens: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(tokens);
    }
    let mut text = String::new();
    for token in tokens.get("items").and_then(Value::as_array).into_iter().flatten() {
        let rate = token.get("requests_per_minute").and_then(Value::as_u64);
        let rate = rate.map_or_else(String::new, |rate| format!("{rate} a minute"));
        let minute = |key: &str| said(token, key).get(..16).unwrap_or("-").replace('T', " ");
        let state = match (said(token, "revoked_at"), said(token, "expires_at")) {
            ("", "") => "valid".to_owned(),
            ("", _) => format!("until {}", minute("expires_at")),
            _ => "revoked".to_owned(),
        };
        let (name, used) = (plain(said(token, "name")), minute("used_at"));
        let _infallible =
            writeln!(text, "{name:<24} {:<6} {state:<22} last used {used:<17} {rate}", said(token, "scope"));
    }
    if text.is_empty() {
        text.push_str("no tokens\n");
    }
    output.text(&text)
}
