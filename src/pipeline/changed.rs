//! The messages sent when an item was judged again and the answer to one of its claims changed.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::rescore::{Rescored, RescoredClaim};
use super::services::Listeners;
use crate::domain::Event;
use crate::domain::result::ClaimResult;
use crate::store::{OutboxDraft, WebhookDraft};

/// Why an item was judged again, as the messages have it.
pub const BY_SETTINGS: &str = "settings";

/// What is to be written with the new answers.
#[derive(Debug, Default)]
pub struct Messages {
    pub outbox: Vec<OutboxDraft>,
    pub webhooks: Vec<WebhookDraft>,
}

/// The answer that readers see of a claim.
fn answer(claim: &ClaimResult) -> Value {
    json!({
        "verdict": claim.verdict, "decisive": claim.decisive, "confidence": claim.confidence, "tier": claim.tier,
        "score": claim.score,
    })
}

/// Readers hear of another verdict, not of a confidence that moved a little.
fn is_another(claim: &RescoredClaim) -> bool {
    (claim.before.verdict, claim.before.decisive) != (claim.after.verdict, claim.after.decisive)
}

impl Messages {
    /// `claim.changed` for each claim with another answer, and `item.updated` with the whole result behind them; nothing where
    /// only figures moved.
    pub fn of(rescored: &Rescored, why: &str, at: DateTime<Utc>, listeners: &Listeners) -> Self {
        let item_id = &rescored.result.item_id;
        let changed: Vec<&RescoredClaim> = rescored.claims.iter().filter(|claim| is_another(claim)).collect();
        let mut messages = Self::default();
        if changed.is_empty() {
            return messages;
        }
        let ids: Vec<&str> = changed.iter().map(|claim| claim.after.claim_id.as_str()).collect();
        for claim in &changed {
            let body = json!({
                "schema": 1, "item_id": item_id, "claim_id": claim.after.claim_id, "claim": claim.after.text, "why": why,
                "at": at, "before": answer(&claim.before), "after": answer(&claim.after),
            });
            let suffix = format!("{}:changed", claim.after.claim_id);
            messages.tell(Event::ClaimChanged, &body, item_id, &suffix, at, listeners);
        }
        let body = json!({
            "schema": 1, "item_id": item_id, "why": why, "at": at, "claims": ids, "result": rescored.result,
        });
        messages.tell(Event::ItemUpdated, &body, item_id, "updated", at, listeners);
        messages
    }

    fn tell(
        &mut self,
        event: Event,
        body: &Value,
        item_id: &str,
        suffix: &str,
        at: DateTime<Utc>,
        listeners: &Listeners,
    ) {
        // Unique per judgement: a copy can be recognised downstream.
        let message_id = format!("{item_id}:{}:{suffix}", at.timestamp_micros());
        if let Some(exchange) = &listeners.results_exchange {
            self.outbox.push(OutboxDraft {
                exchange: Some(exchange.clone()),
                routing_key: event.as_str().to_owned(),
                body: body.to_string(),
                correlation_id: None,
                message_id: message_id.clone(),
            });
        }
        let moment = at.to_rfc3339_opts(SecondsFormat::Millis, true);
        let wanted = listeners.webhooks.iter().filter(|webhook| webhook.wants(event));
        self.webhooks.extend(wanted.map(|webhook| WebhookDraft {
            webhook: webhook.name.clone(),
            event,
            // All three are JSON without quotes to escape, or JSON already.
            body: format!(r#"{{"type":"{event}","timestamp":"{moment}","data":{body}}}"#),
            message_id: message_id.clone(),
        }));
    }
}
