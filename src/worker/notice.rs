//! Upstream always hears: what is given up gets an `item.failed` of its own, what is dropped or put off an `item.skipped`.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::broker::{Delivery, OutboxMessage, Queue, QueueName};
use crate::domain::degradation::Degradation;
use crate::domain::item::MAX_MESSAGE_BYTES;
use crate::domain::result::{Context, Cost, ItemResult};
use crate::domain::{Clock, Status};

/// The routing key of what was given up.
pub const FAILED_KEY: &str = "item.failed";

/// The routing key of what was not worked on for overload.
pub const SKIPPED_KEY: &str = "item.skipped";

/// What happened to an item that has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// Overload: it will not be done.
    Dropped,
    /// Overload: it comes again.
    Deferred,
    /// It was given up and lies among the dead letters.
    Dead,
}

impl NoticeKind {
    /// Whether a result may still follow.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Dropped | Self::Dead => true,
            Self::Deferred => false,
        }
    }

    /// The status of its result, and the key that everybody who listens hears it under.
    const fn told_as(self) -> (Status, &'static str) {
        match self {
            Self::Dropped | Self::Deferred => (Status::Skipped, SKIPPED_KEY),
            Self::Dead => (Status::Failed, FAILED_KEY),
        }
    }
}

/// Tells upstream of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    pub queue: QueueName,
    /// Empty when the message does not say.
    pub item_id: String,
    pub message_id: Option<String>,
    pub reply_to: Option<String>,
    pub correlation_id: Option<String>,
    /// The reason as a word from a closed set.
    pub label: String,
    /// The reason for a person.
    pub detail: String,
}

/// Makes a notice known, durably: `Ok` means that it cannot get lost any more.
pub type Announce = Arc<dyn Fn(Notice) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

impl Notice {
    pub(super) fn of(delivery: &Delivery, kind: NoticeKind, label: &str, detail: String) -> Self {
        Self {
            kind,
            queue: delivery.queue,
            item_id: item_id(&delivery.body).unwrap_or_default(),
            message_id: delivery.message_id.clone(),
            reply_to: delivery.reply_to.clone(),
            correlation_id: delivery.correlation_id.clone(),
            label: label.to_owned(),
            detail,
        }
    }

    /// The result that says it: status `failed` or `skipped`, nothing found, the reason as explanation and in the trace.
    pub fn result(&self, now: DateTime<Utc>) -> ItemResult {
        let overload = matches!(self.kind, NoticeKind::Dropped | NoticeKind::Deferred);
        ItemResult {
            schema: 1,
            item_id: self.item_id.clone(),
            message_id: self.message_id.clone(),
            enriched_at: now,
            status: self.kind.told_as().0,
            degraded: if overload { vec![Degradation::Overload.to_string()] } else { Vec::new() },
            language: None,
            tier: None,
            score: None,
            agreement: 0.0,
            contradiction: false,
            notes: Vec::new(),
            also_reported_by: Vec::new(),
            explanation: Some(self.detail.clone()),
            overall_summary: None,
            sources_checked: Vec::new(),
            fact_checks: Vec::new(),
            claims: Vec::new(),
            main_claim: None,
            context: Context::default(),
            cost: Cost::default(),
            trace: vec![format!("worker: {self}")],
        }
    }

    /// The messages that carry it: one for everybody who listens to results, one for who asked to be answered. The latter
    /// only when nothing else will come: it gets one answer.
    pub fn messages(&self, results_exchange: &str, now: DateTime<Utc>) -> Vec<OutboxMessage> {
        // Plain data with text keys always serialises.
        let body = serde_json::to_vec(&self.result(now)).unwrap_or_default();
        let message = |exchange: Option<&str>, routing_key: &str| OutboxMessage {
            id: 0,
            exchange: exchange.map(str::to_owned),
            routing_key: routing_key.to_owned(),
            body: body.clone(),
            correlation_id: self.correlation_id.clone(),
            message_id: format!("{:032x}", rand::random::<u128>()),
        };
        let mut messages = vec![message(Some(results_exchange), self.kind.told_as().1)];
        if let Some(reply_to) = self.reply_to.as_deref().filter(|_| self.kind.is_final()) {
            messages.push(message(None, reply_to));
        }
        messages
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            NoticeKind::Dropped => "dropped",
            NoticeKind::Deferred => "deferred",
            NoticeKind::Dead => "given up",
        };
        write!(f, "{kind} ({}): {}", self.label, self.detail)
    }
}

/// The `item_id` of a message that is perhaps no item. Looked for only where it is cheap.
fn item_id(body: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct OnlyId {
        item_id: String,
    }
    let body = Some(body).filter(|body| body.len() <= MAX_MESSAGE_BYTES)?;
    serde_json::from_slice::<OnlyId>(body).ok().map(|only| only.item_id)
}

/// Sends notices straight to the broker, past the outbox: they need no database, and the delivery they speak of is not
/// settled before they are confirmed.
pub fn announce_over(queue: Arc<dyn Queue>, results_exchange: String, clock: Arc<dyn Clock>) -> Announce {
    Arc::new(move |notice| {
        let queue = Arc::clone(&queue);
        let messages = notice.messages(&results_exchange, clock.now());
        async move {
            let published = queue.publish_results(&messages).await.map_err(|error| error.to_string())?;
            if let Some((_, reason)) = published.refused.first() {
                return Err(reason.clone());
            }
            if published.confirmed.len() < messages.len() {
                return Err("the broker did not confirm the notice".to_owned());
            }
            Ok(())
        }
        .boxed()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(kind: NoticeKind) -> Notice {
        Notice {
            kind,
            queue: QueueName::Enrichment,
            item_id: "a".to_owned(),
            message_id: Some("m".to_owned()),
            reply_to: Some("answers".to_owned()),
            correlation_id: Some("c".to_owned()),
            label: "no_text".to_owned(),
            detail: "the item has no text".to_owned(),
        }
    }

    #[test]
    fn who_asked_is_answered_once() {
        let keys = |kind| {
            let messages = notice(kind).messages("results", DateTime::UNIX_EPOCH);
            messages.into_iter().map(|message| (message.exchange, message.routing_key)).collect::<Vec<_>>()
        };
        let everybody = |key: &str| (Some("results".to_owned()), key.to_owned());
        let asker = (None, "answers".to_owned());
        assert_eq!(keys(NoticeKind::Dead), [everybody("item.failed"), asker.clone()]);
        assert_eq!(keys(NoticeKind::Dropped), [everybody("item.skipped"), asker]);
        assert_eq!(keys(NoticeKind::Deferred), [everybody("item.skipped")]);
    }

    #[test]
    fn a_notice_is_a_result_with_its_reason() {
        let result = notice(NoticeKind::Dead).result(DateTime::UNIX_EPOCH);
        assert_eq!(result.status, Status::Failed);
        assert_eq!(result.explanation.as_deref(), Some("the item has no text"));
        assert_eq!(result.trace, ["worker: given up (no_text): the item has no text"]);
        assert!(result.degraded.is_empty());
        for kind in [NoticeKind::Dropped, NoticeKind::Deferred] {
            let result = notice(kind).result(DateTime::UNIX_EPOCH);
            assert_eq!((result.status, result.degraded), (Status::Skipped, vec!["overload".to_owned()]));
        }
    }

    #[test]
    fn the_item_is_named_even_when_it_is_none() {
        assert_eq!(item_id(br#"{"schema":1,"item_id":"x","text":7}"#).as_deref(), Some("x"));
        assert_eq!(item_id(b"{nonsense"), None);
        assert_eq!(item_id(br#"{"item_id":7}"#), None);
    }
}
