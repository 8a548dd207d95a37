//! Notices to upstream: a dead letter produces `item.failed`, a dropped or deferred item produces `item.skipped`.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::broker::{Delivery, OutboxMessage, Queue, QueueName, REPLY_REFUSED};
use crate::domain::degradation::Degradation;
use crate::domain::excerpt::item_id_of;
use crate::domain::result::{Context, Cost, ItemResult};
use crate::domain::{Clock, MessageId, Status, ids};

/// The routing key of dead letters.
pub const FAILED_KEY: &str = "item.failed";

/// The routing key of items that overload skipped.
pub const SKIPPED_KEY: &str = "item.skipped";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// Overload: the item is not processed.
    Dropped,
    /// Overload: the item is retried later.
    Deferred,
    /// The item is a dead letter.
    Dead,
}

impl NoticeKind {
    /// Whether no result can follow.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Dropped | Self::Dead => true,
            Self::Deferred => false,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Deferred => "deferred",
            Self::Dead => "given up",
        }
    }

    /// The result status and the routing key.
    const fn status_and_key(self) -> (Status, &'static str) {
        match self {
            Self::Dropped | Self::Deferred => (Status::Skipped, SKIPPED_KEY),
            Self::Dead => (Status::Failed, FAILED_KEY),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    /// A stable id: equal for each sending of the same notice.
    pub id: String,
    pub queue: QueueName,
    /// Empty if the message has none.
    pub item_id: String,
    pub message_id: Option<String>,
    pub reply_to: Option<String>,
    /// The message names a reply queue that is not allowed.
    pub reply_refused: bool,
    pub correlation_id: Option<String>,
    pub label: String,
    pub detail: String,
}

/// Publishes a notice durably: after `Ok` it cannot be lost.
pub type Announcer = Arc<dyn Fn(Notice) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

impl Notice {
    pub(super) fn of(delivery: &Delivery, kind: NoticeKind, label: &str, detail: String) -> Self {
        let item_id = item_id_of(&delivery.body).unwrap_or_default();
        Self {
            kind,
            id: notice_id(delivery, kind, label, &item_id),
            queue: delivery.queue,
            item_id,
            message_id: delivery.message_id.clone(),
            reply_to: delivery.reply_to.clone(),
            reply_refused: delivery.reply_refused,
            correlation_id: delivery.correlation_id.clone(),
            label: label.to_owned(),
            detail,
        }
    }

    /// Returns a result with status `failed` or `skipped`, without findings, and with the reason as explanation and in
    /// the trace.
    pub fn result(&self, now: DateTime<Utc>) -> ItemResult {
        let overload = matches!(self.kind, NoticeKind::Dropped | NoticeKind::Deferred);
        let mut trace = vec![format!("worker: {self}")];
        if self.reply_refused {
            trace.push(REPLY_REFUSED.to_owned());
        }
        ItemResult {
            schema: 1,
            item_id: self.item_id.clone(),
            message_id: self.message_id.clone(),
            enriched_at: now,
            status: self.kind.status_and_key().0,
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
            trace,
        }
    }

    /// Returns the messages: one to the results exchange, and one to the reply queue if the notice is final, because a
    /// request gets one reply.
    pub fn messages(&self, results_exchange: &str, now: DateTime<Utc>) -> Vec<OutboxMessage> {
        // Plain data with text keys always serialises.
        let body = serde_json::to_vec(&self.result(now)).unwrap_or_default();
        let message = |exchange: Option<&str>, routing_key: &str, copy: &str| OutboxMessage {
            id: 0,
            exchange: exchange.map(str::to_owned),
            routing_key: routing_key.to_owned(),
            body: body.clone(),
            correlation_id: self.correlation_id.clone(),
            message_id: MessageId::new(format!("{}{copy}", self.id)),
        };
        let mut messages = vec![message(Some(results_exchange), self.kind.status_and_key().1, "")];
        if let Some(reply_to) = self.reply_to.as_deref().filter(|_| self.kind.is_final()) {
            messages.push(message(None, reply_to, ":reply"));
        }
        messages
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.kind.as_str(), self.label, self.detail)
    }
}

/// Returns the notice id. It is stable if the same delivery comes again with the same outcome. A deferral or requeue
/// changes the due time and so the id.
fn notice_id(delivery: &Delivery, kind: NoticeKind, label: &str, item_id: &str) -> String {
    let content = match &delivery.message_id {
        Some(message_id) => message_id.clone(),
        None => ids::bytes_hash(&delivery.body),
    };
    let due = delivery.enqueued_at.map(|due| due.timestamp_micros().to_string()).unwrap_or_default();
    let parts = [delivery.queue.as_str(), kind.as_str(), label, item_id, &content, &due];
    format!("notice:{}", ids::content_hash(&parts))
}

/// Publishes notices directly to the broker, without outbox and database. The delivery is settled only after the broker
/// confirmed them.
pub fn announce_over(queue: Arc<dyn Queue>, results_exchange: String, clock: Arc<dyn Clock>) -> Announcer {
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
            id: "notice:1".to_owned(),
            queue: QueueName::Enrichment,
            item_id: "a".to_owned(),
            message_id: Some("m".to_owned()),
            reply_to: Some("answers".to_owned()),
            reply_refused: false,
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
        let exchange_copy = |key: &str| (Some("results".to_owned()), key.to_owned());
        let asker = (None, "answers".to_owned());
        assert_eq!(keys(NoticeKind::Dead), [exchange_copy("item.failed"), asker.clone()]);
        assert_eq!(keys(NoticeKind::Dropped), [exchange_copy("item.skipped"), asker]);
        assert_eq!(keys(NoticeKind::Deferred), [exchange_copy("item.skipped")]);
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

    fn delivery(message_id: Option<&str>, body: &[u8], attempts: u32, due: i64) -> Delivery {
        Delivery {
            queue: QueueName::Enrichment,
            body: body.to_vec(),
            attempts,
            redelivered: attempts > 0,
            message_id: message_id.map(str::to_owned),
            reply_to: Some("answers".to_owned()),
            reply_refused: false,
            correlation_id: None,
            traceparent: None,
            enqueued_at: DateTime::from_timestamp_micros(due),
            sent_at: None,
            receipt: crate::broker::Receipt::Table(1),
        }
    }

    #[test]
    fn notice_has_the_same_ids_when_it_is_sent_again_and_others_when_it_is_another() {
        let ids = |delivery: &Delivery, kind, label| {
            let notice = Notice::of(delivery, kind, label, "why".to_owned());
            let messages = notice.messages("results", DateTime::UNIX_EPOCH);
            messages.into_iter().map(|message| message.message_id).collect::<Vec<_>>()
        };
        let body: &[u8] = br#"{"item_id":"a"}"#;
        let first = ids(&delivery(Some("m"), body, 0, 1), NoticeKind::Dead, "no_text");
        assert_eq!(first.len(), 2);
        assert_ne!(first[0], first[1], "the answer is another message than the notice to everybody");
        assert_eq!(ids(&delivery(Some("m"), body, 0, 1), NoticeKind::Dead, "no_text"), first, "handed out again");
        for other in [
            ids(&delivery(Some("n"), body, 0, 1), NoticeKind::Dead, "no_text"),
            ids(&delivery(Some("m"), body, 0, 2), NoticeKind::Dead, "no_text"),
            ids(&delivery(Some("m"), body, 0, 1), NoticeKind::Dead, "not_json"),
            ids(&delivery(None, body, 0, 1), NoticeKind::Dead, "no_text"),
            ids(&delivery(None, b"{}", 0, 1), NoticeKind::Dead, "no_text"),
        ] {
            assert!(other.iter().all(|id| !first.contains(id)), "{other:?}");
        }
        let deferred = ids(&delivery(Some("m"), body, 0, 1), NoticeKind::Deferred, "no_text");
        assert!(!first.contains(&deferred[0]));
    }

    #[test]
    fn notice_traces_the_refusal_when_its_reply_queue_is_not_allowed() {
        let refused = Delivery { reply_to: None, reply_refused: true, ..delivery(None, b"{", 0, 1) };
        let notice = Notice::of(&refused, NoticeKind::Dead, "not_json", "why".to_owned());
        assert_eq!(notice.messages("results", DateTime::UNIX_EPOCH).len(), 1);
        let trace = notice.result(DateTime::UNIX_EPOCH).trace;
        assert!(trace.iter().any(|line| line.contains("reply_to")), "{trace:?}");
    }
}
