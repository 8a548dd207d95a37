//! `tokens`: manages access tokens other than the server's own token.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Api, segment, text_of};
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
        TokensAction::List => list(&api.list::<Value>("/api/tokens").await?, output),
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

fn added(made: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(made);
    }
    output.hint("this token is shown once; keep it where only its user reads it");
    output.text(&format!("{}\n", text_of(made, "token").unwrap_or_default()))
}

fn revoked(ended: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(ended);
    }
    output.text(&format!(
        "{} is revoked; running servers refuse it within seconds\n",
        plain(text_of(ended, "name").unwrap_or_default())
    ))
}

fn list(tokens: &[Value], output: Output) -> Result<(), Failure> {
    output.list(tokens, "no tokens\n", |token| {
        let rate = token.get("requests_per_minute").and_then(Value::as_u64);
        let rate = rate.map_or_else(String::new, |rate| format!("{rate} a minute"));
        let part = |key: &str| text_of(token, key).unwrap_or_default();
        let minute = |key: &str| part(key).get(..16).unwrap_or("-").replace('T', " ");
        let state = match (part("revoked_at"), part("expires_at")) {
            ("", "") => "valid".to_owned(),
            ("", _) => format!("until {}", minute("expires_at")),
            _ => "revoked".to_owned(),
        };
        let (name, scope, used) = (plain(part("name")), part("scope"), minute("used_at"));
        format!("{name:<24} {scope:<6} {state:<22} last used {used:<17} {rate}")
    })
}
