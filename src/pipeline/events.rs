//! Events about results: what upstream and the webhooks receive.
//!
//! A new result gives `item.enriched`, a signal per claim and `correction.generated`. A re-evaluation gives only
//! `claim.changed` per claim whose answer changed, then `item.updated`; a small change of confidence gives no event.
//! The module never sends: the store writes the drafts with the result.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::services::{Listeners, WebhookTarget};
use crate::domain::result::{ClaimResult, ItemResult};
use crate::domain::verdict::{Stance, Verdict};
use crate::domain::{Event, MessageId, Reason};
use crate::store::{OutboxDraft, StoreError, WebhookDraft};

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

/// Queue and correlation id of the sender who asked for a reply.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReplyAddress<'a> {
    pub(super) reply_to: Option<&'a str>,
    pub(super) correlation_id: Option<&'a str>,
}

/// The events about one result, all of one date.
#[derive(Debug)]
pub(super) struct Events<'a> {
    item_id: &'a str,
    at: DateTime<Utc>,
    outgoing: Vec<OutgoingEvent>,
}

#[derive(Debug)]
struct OutgoingEvent {
    event: Event,
    /// JSON text.
    body: String,
    suffix: String,
}

impl<'a> Events<'a> {
    /// Returns the events of a new result, the result first.
    pub(super) fn of_result(result: &'a ItemResult) -> Result<Self, StoreError> {
        let whole = serde_json::to_string(result).map_err(|error| StoreError::Corrupt { detail: error.to_string() })?;
        let mut events = Self { item_id: &result.item_id, at: result.enriched_at, outgoing: Vec::new() };
        events.add(Event::ItemEnriched, whole, "result".to_owned());
        for claim in &result.claims {
            events.add(signal_event(claim), signal(result, claim).to_string(), claim.claim_id.clone());
            if let Some(correction) = &claim.correction {
                let body = json!({
                    "schema": 1, "item_id": result.item_id, "claim_id": claim.claim_id, "verdict": claim.verdict,
                    "confidence": claim.confidence, "correction": correction,
                });
                events.add(Event::CorrectionGenerated, body.to_string(), format!("{}:correction", claim.claim_id));
            }
        }
        Ok(events)
    }

    /// Returns the events of a re-evaluation; none if only figures changed.
    pub(super) fn of_change(before: &ItemResult, after: &'a ItemResult, why: Reason, at: DateTime<Utc>) -> Self {
        let item_id = &after.item_id;
        let mut events = Self { item_id, at, outgoing: Vec::new() };
        if !has_changes(before, after) {
            return events;
        }
        let changed = changes(before, after);
        for (was, is) in &changed {
            let body = json!({
                "schema": 1, "item_id": item_id, "claim_id": is.claim_id, "claim": is.text, "why": why, "at": at,
                "before": answer(was), "after": answer(is),
            });
            events.add(Event::ClaimChanged, body.to_string(), format!("{}:changed", is.claim_id));
        }
        let ids: Vec<&str> = changed.iter().map(|(_, claim)| claim.claim_id.as_str()).collect();
        let body = json!({
            "schema": 1, "item_id": item_id, "why": why, "at": at, "claims": ids, "result": after,
        });
        events.add(Event::ItemUpdated, body.to_string(), "updated".to_owned());
        events
    }

    fn add(&mut self, event: Event, body: String, suffix: String) {
        self.outgoing.push(OutgoingEvent { event, body, suffix });
    }

    /// Returns an id that is stable per message, so that receivers can detect copies.
    fn id(&self, suffix: &str) -> MessageId {
        MessageId::new(format!("{}:{}:{suffix}", self.item_id, self.at.timestamp_micros()))
    }

    /// Returns the messages for the broker; the first event also goes to the reply queue.
    pub(super) fn outbox(&self, listeners: &Listeners, reply: ReplyAddress<'_>) -> Vec<OutboxDraft> {
        let Some(exchange) = &listeners.results_exchange else { return Vec::new() };
        let draft = |exchange: Option<&str>, key: &str, event: &OutgoingEvent, suffix: &str| OutboxDraft {
            exchange: exchange.map(str::to_owned),
            routing_key: key.to_owned(),
            body: event.body.clone(),
            correlation_id: reply.correlation_id.map(str::to_owned),
            message_id: self.id(suffix),
        };
        let replied = reply.reply_to.zip(self.outgoing.first()).map(|(to, event)| draft(None, to, event, "reply"));
        let published =
            self.outgoing.iter().map(|event| draft(Some(exchange), event.event.as_str(), event, &event.suffix));
        replied.into_iter().chain(published).collect()
    }

    pub(super) fn webhooks(&self, listeners: &Listeners) -> Vec<WebhookDraft> {
        let at = self.at.to_rfc3339_opts(SecondsFormat::Millis, true);
        let of_webhook = listeners.webhooks.iter().flat_map(|webhook| {
            let wanted = self.outgoing.iter().filter(|event| webhook.subscribes_to(event.event));
            wanted.map(move |event| (webhook, event))
        });
        let draft = |(webhook, event): (&WebhookTarget, &OutgoingEvent)| WebhookDraft {
            webhook: webhook.name.clone(),
            event: event.event,
            // The parts are JSON or need no escaping.
            body: format!(r#"{{"type":"{}","timestamp":"{at}","data":{}}}"#, event.event, event.body),
            message_id: self.id(&event.suffix),
        };
        of_webhook.map(draft).collect()
    }
}

/// Returns the claim's answer, as readers see it.
fn answer(claim: &ClaimResult) -> Value {
    json!({
        "verdict": claim.verdict, "decisive": claim.decisive, "confidence": claim.confidence, "tier": claim.tier,
        "score": claim.score,
    })
}

/// Claims of both results whose answer changed.
fn changes<'a>(before: &'a ItemResult, after: &'a ItemResult) -> Vec<(&'a ClaimResult, &'a ClaimResult)> {
    let was = |claim: &ClaimResult| before.claims.iter().find(|one| one.claim_id == claim.claim_id);
    let both = after.claims.iter().filter_map(|claim| Some((was(claim)?, claim)));
    both.filter(|(was, is)| (was.verdict, was.decisive) != (is.verdict, is.decisive)).collect()
}

/// Returns true if an answer changed, or claims were added or removed.
pub fn has_changes(before: &ItemResult, after: &ItemResult) -> bool {
    fn ids(result: &ItemResult) -> BTreeSet<&str> {
        result.claims.iter().map(|claim| claim.claim_id.as_str()).collect()
    }
    !changes(before, after).is_empty() || ids(before) != ids(after)
}

pub fn signal_event(claim: &ClaimResult) -> Event {
    match claim.verdict {
        Verdict::Supported if claim.decisive => Event::ClaimVerified,
        Verdict::Refuted if claim.decisive => Event::ClaimContradicted,
        Verdict::Outdated if claim.decisive => Event::ClaimOutdated,
        Verdict::Outdated | Verdict::Supported | Verdict::Refuted | Verdict::Contested | Verdict::Misleading => {
            Event::ClaimContested
        }
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => Event::ClaimUnverifiable,
    }
}

fn signal(result: &ItemResult, claim: &ClaimResult) -> Value {
    let key = |stance: Stance| claim.evidence.iter().find(|row| row.stance == stance);
    let mut signal = json!({
        "schema": 1, "item_id": result.item_id, "claim_id": claim.claim_id, "verdict": claim.verdict,
        "confidence": claim.confidence,
    });
    let own = match claim.verdict {
        Verdict::Supported => json!({ "key_evidence": key(Stance::Supports) }),
        Verdict::Refuted => json!({ "contradiction": key(Stance::Contradicts).map(|row| &row.passage),
            "key_evidence": key(Stance::Contradicts) }),
        Verdict::Outdated => json!({ "contradiction": key(Stance::Contradicts).map(|row| &row.passage),
            "was_true_until": key(Stance::Contradicts).and_then(|row| row.published_at) }),
        Verdict::Contested | Verdict::Misleading => json!({ "key_evidence": key(Stance::Supports),
            "contradiction": key(Stance::Contradicts).map(|row| &row.passage) }),
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => {
            json!({ "sources_checked": result.sources_checked.len() })
        }
    };
    if let (Some(signal), Value::Object(own)) = (signal.as_object_mut(), own) {
        signal.extend(own);
    }
    signal
}
