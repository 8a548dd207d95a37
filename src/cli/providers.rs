//! `providers`: shows state, limits and cost of providers, and resets circuit breakers.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::api::{Api, segment, text_of};
use super::arguments::ProvidersAction;
use super::failure::Failure;
use super::output::{Colour, Output};
use crate::app::{Exchanges, Purpose};
use crate::config::Config;
use crate::judging::plain::plain;
use crate::outbound::Method;
use crate::providers::NAMES;

pub(super) async fn run(config: Arc<Config>, action: Option<ProvidersAction>, output: Output) -> Result<(), Failure> {
    match action {
        None | Some(ProvidersAction::List) => list(&config, output).await,
        Some(ProvidersAction::Reset { name }) => reset(&config, &name, output).await,
    }
}

async fn list(config: &Arc<Config>, output: Output) -> Result<(), Failure> {
    let api = Api::open(config, Purpose::Check, &Exchanges::Live).await?;
    let rows = api.call(Method::GET, "/api/providers", None).await;
    let rows = api.close_after(rows.map_err(Failure::from)).await?;
    if output.json {
        return output.value(&rows);
    }
    output.text(&table(rows.as_array().map_or(&[], Vec::as_slice), output))
}

async fn reset(config: &Arc<Config>, name: &str, output: Output) -> Result<(), Failure> {
    // The language model has a circuit breaker too.
    if !NAMES.contains(&name) && name != "llm" {
        return Err(Failure::new(2, format!("no provider is called {name:?}; one of {}, llm", NAMES.join(", "))));
    }
    let api = Api::administer(config, false).await?;
    let answer = api.call(Method::POST, &format!("/api/providers/{}/reset", segment(name)), None).await;
    let answer = api.close_after(answer.map_err(Failure::from)).await?;
    if output.json {
        return output.value(&answer);
    }
    let closed = answer.get("closed").and_then(Value::as_u64).unwrap_or(0);
    output.text(&if closed > 0 {
        format!("every process asks {name} again within a second\n")
    } else {
        format!("{name} was not paused, so nothing changed (limits set in the configuration stay)\n")
    })
}

fn table(rows: &[Value], output: Output) -> String {
    let mut text = format!(
        "{:<17} {:<12} {:>7} {:>11} {:>12} {:>12} {:>12}  {:<20} {}\n",
        "name", "state", "rpm", "calls today", "errors today", "usd today", "usd month", "until", "reason"
    );
    for row in rows {
        let word = |key: &str| text_of(row, key).unwrap_or("-");
        let count = |key: &str| row.get(key).and_then(Value::as_u64).map_or("-".to_owned(), |count| count.to_string());
        let usd = |key: &str| format!("{:.4}", row.get(key).and_then(Value::as_f64).unwrap_or_default());
        let state = word("status");
        let colour = match state {
            "ready" => Colour::Green,
            "unconfigured" => Colour::Dim,
            "disabled" | "failing" => Colour::Red,
            _ => Colour::Yellow,
        };
        let _infallible = writeln!(
            text,
            "{:<17} {} {:>7} {:>11} {:>12} {:>12} {:>12}  {:<20} {}",
            word("name"),
            output.paint(&format!("{state:<12}"), colour),
            count("rpm"),
            count("calls_today"),
            count("errors_today"),
            usd("usd_today"),
            usd("usd_month"),
            word("until"),
            plain(word("reason")),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_person_sees_state_reason_and_figures_in_one_line() {
        let rows = [json!({
            "name": "brave", "kind": "search", "status": "disabled", "until": "2026-11-20T12:00:00Z",
            "reason": "the provider refuses the key:\nunpaid", "rpm": 60, "calls_today": 7, "errors_today": 1,
            "usd_today": 0.035, "usd_month": 1.5
        })];
        let text = table(&rows, Output::new(false, true, true));
        let line: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        let head = ["brave", "disabled", "60", "7", "1", "0.0350", "1.5000", "2026-11-20T12:00:00Z", "the"];
        assert_eq!(line[..9], head);
        assert_eq!(text.lines().count(), 2, "a provider's own words do not break the line");
    }
}
