//! Builds the messages about changed answers after a re-evaluation.
//! They go to the outbox and the webhooks: `claim.changed` per claim, then `item.updated`.
//! A small change of confidence produces no message.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::services::Listeners;
use crate::domain::result::{ClaimResult, ItemResult};
use crate::domain::{Event, MessageId, Reason};
use crate::store::{OutboxDraft, WebhookDraft};

#[derive(Debug, Default)]
pub struct Messages {
    pub outbox: Vec<OutboxDraft>,
    pub webhooks: Vec<WebhookDraft>,
}

/// Returns the claim's answer, as readers see it.
fn answer(claim: &ClaimResult) -> Value {
    json!({
        "verdict": claim.verdict, "decisive": claim.decisive, "confidence": claim.confidence, "tier": claim.tier,
        "score": claim.score,
    })
}

/// A re-evaluation of a stored item by a full run.
#[derive(Debug, Clone)]
pub struct Rejudging {
    pub why: Reason,
    /// The stored result.
    pub before: Arc<ItemResult>,
    /// When `before` was evaluated. Anything written since is newer than this run's text.
    pub evaluated_at: DateTime<Utc>,
}

impl Rejudging {
    /// Returns true if more is degraded than in the stored result, which then stays.
    pub(super) fn is_poorer(&self, after: &ItemResult) -> bool {
        after.degraded.len() > self.before.degraded.len()
    }
}

/// Whether readers get a message: not for a small change of confidence.
fn is_another(before: &ClaimResult, after: &ClaimResult) -> bool {
    (before.verdict, before.decisive) != (after.verdict, after.decisive)
}

/// Claims of both results whose answer changed.
fn changes<'a>(before: &'a ItemResult, after: &'a ItemResult) -> Vec<(&'a ClaimResult, &'a ClaimResult)> {
    let was = |claim: &ClaimResult| before.claims.iter().find(|one| one.claim_id == claim.claim_id);
    let both = after.claims.iter().filter_map(|claim| Some((was(claim)?, claim)));
    both.filter(|(before, after)| is_another(before, after)).collect()
}

/// Returns true if an answer changed, or claims were added or removed.
pub fn has_changes(before: &ItemResult, after: &ItemResult) -> bool {
    !changes(before, after).is_empty() || has_other_claims(before, after)
}

fn has_other_claims(before: &ItemResult, after: &ItemResult) -> bool {
    let ids = |result: &ItemResult| -> BTreeSet<String> {
        result.claims.iter().map(|claim| claim.claim_id.clone()).collect()
    };
    ids(before) != ids(after)
}

impl Messages {
    /// Returns `claim.changed` per changed claim, then `item.updated` with the result. Empty if only figures changed.
    pub fn of(before: &ItemResult, after: &ItemResult, why: Reason, at: DateTime<Utc>, listeners: &Listeners) -> Self {
        let item_id = &after.item_id;
        let changed = changes(before, after);
        let mut messages = Self::default();
        if changed.is_empty() && !has_other_claims(before, after) {
            return messages;
        }
        let ids: Vec<&str> = changed.iter().map(|(_, claim)| claim.claim_id.as_str()).collect();
        for (was, is) in &changed {
            let body = json!({
                "schema": 1, "item_id": item_id, "claim_id": is.claim_id, "claim": is.text, "why": why, "at": at,
                "before": answer(was), "after": answer(is),
            });
            let suffix = format!("{}:changed", is.claim_id);
            messages.add(Event::ClaimChanged, &body, item_id, &suffix, at, listeners);
        }
        let body = json!({
            "schema": 1, "item_id": item_id, "why": why, "at": at, "claims": ids, "result": after,
        });
        messages.add(Event::ItemUpdated, &body, item_id, "updated", at, listeners);
        messages
    }

    fn add(
        &mut self,
        event: Event,
        body: &Value,
        item_id: &str,
        suffix: &str,
        at: DateTime<Utc>,
        listeners: &Listeners,
    ) {
        // Unique per judgement, so that receivers can detect copies.
        let message_id = MessageId::new(format!("{item_id}:{}:{suffix}", at.timestamp_micros()));
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
        let wanted = listeners.webhooks.iter().filter(|webhook| webhook.subscribes_to(event));
        self.webhooks.extend(wanted.map(|webhook| WebhookDraft {
            webhook: webhook.name.clone(),
            event,
            // The parts are JSON or need no escaping.
            body: format!(r#"{{"type":"{event}","timestamp":"{moment}","data":{body}}}"#),
            message_id: message_id.clone(),
        }));
    }
}
