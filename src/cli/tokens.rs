//! `tokens`: manages access tokens other than the server's own token.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Api, segment};
use super::arguments::TokensAction;
use super::failure::Failure;
use super::output::Output;
use crate::config::Config;
use crate::http::random_token;
use crate::judging::plain::plain;
use crate::outbound::Method;

pub(super) async fn run(config: Arc<Config>, action: TokensAction, output: Output) -> Result<(), Failure> {
    if config.http.admin_token.is_none() && matches!(action, TokensAction::Add { .. }) {
        output.hint("ADMIN_TOKEN is not set: until it is, this machine alone can use the server, and needs no token");
    }
    let api = Api::administer(&config, false).await?;
    let done = act(&api, action, output).await;
    api.close_after(done).await
}

/// Prints a new server token; needs no configuration and no store.
pub(super) fn generate(output: Output) -> Result<(), Failure> {
    let token = random_token();
    if output.json {
        return output.value(&json!({ "token": token }));
    }
    output.text(&format!("{token}\n"))
}

async fn act(api: &Api, action: TokensAction, output: Output) -> Result<(), Failure> {
    match action {
        TokensAction::Generate => generate(output),
        TokensAction::List => list(&api.call(Method::GET, "/api/tokens", None).await?, output),
        TokensAction::Add { name, scope, rate, days } => {
            let body = json!({ "name": name, "scope": scope, "requests_per_minute": rate, "days": days });
            added(&api.call(Method::POST, "/api/tokens", Some(&body)).await?, output)
        }
        TokensAction::Revoke { name } => {
            match api.call(Method::DELETE, &format!("/api/tokens/{}", segment(&name)), None).await {
                Ok(ended) => revoked(&ended, output),
                Err(error) if error.is_not_found() => Err(Failure::failed(format!(
                    "no valid token is called {}; see `corroborate tokens list`",
                    plain(&name)
                ))),
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
