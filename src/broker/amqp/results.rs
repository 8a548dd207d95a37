//! Sends the outbox's messages: results, signals and replies.
//!
//! Refuses replies to the daemon's own queues. If the results exchange is missing, declares everything again.

use lapin::BasicProperties;
use lapin::types::ShortString;

use super::publish::{OutgoingMessage, SendOutcome, WINDOW, publish};
use super::session::Session;
use super::{AmqpQueue, names};
use crate::broker::{OutboxMessage, PublishReport, QueueError};
use crate::domain::MessageId;

pub(super) fn json(message_id: &MessageId) -> BasicProperties {
    BasicProperties::default()
        .with_content_type("application/json".into())
        .with_app_id("corroborate".into())
        .with_message_id(names::id(message_id))
        // 2: persistent.
        .with_delivery_mode(2)
}

impl AmqpQueue {
    /// Converts an outbox message; an error explains why it cannot be sent.
    fn outgoing<'a>(&self, message: &'a OutboxMessage, now: u64) -> Result<OutgoingMessage<'a>, String> {
        let exchange = message.exchange.as_deref().unwrap_or("");
        if exchange.is_empty() && self.replies.is_own(&message.routing_key) {
            return Err("reply_to names one of the daemon's own queues".to_owned());
        }
        let properties = json(&message.message_id).with_timestamp(now);
        // The correlation id came in by AMQP, so it fits.
        let correlation_id = message.correlation_id.as_deref().and_then(|id| ShortString::try_new(id).ok());
        let properties = match correlation_id {
            Some(correlation_id) => properties.with_correlation_id(correlation_id),
            None => properties,
        };
        Ok(OutgoingMessage { exchange, routing_key: &message.routing_key, body: &message.body, properties })
    }

    pub(super) async fn send_results(&self, messages: &[OutboxMessage]) -> Result<PublishReport, QueueError> {
        let session = self.shared.session()?;
        let mut published = PublishReport::default();
        for window in messages.chunks(WINDOW) {
            if let Err(error) = self.send_window(&session, window, &mut published).await {
                // Later windows would fail too; return the outcomes that are known.
                return if published == PublishReport::default() { Err(error) } else { Ok(published) };
            }
        }
        Ok(published)
    }

    /// Sends one window. An error means that some outcomes are unknown.
    async fn send_window(
        &self,
        session: &Session,
        window: &[OutboxMessage],
        published: &mut PublishReport,
    ) -> Result<(), QueueError> {
        let now = u64::try_from(self.clocks.own.now().timestamp()).unwrap_or(0);
        let (mut sending, mut outgoing) = (Vec::with_capacity(window.len()), Vec::with_capacity(window.len()));
        for message in window {
            match self.outgoing(message, now) {
                Ok(ready) => {
                    sending.push(message);
                    outgoing.push(ready);
                }
                Err(reason) => published.refused.push((message.id, reason)),
            }
        }
        let channel = session.results(self.confirm_timeout).await?;
        // Not mandatory: a result may have no reader, and a reply queue may be gone.
        let sent = publish(&channel, &outgoing, false, self.confirm_timeout).await;
        let results_exchange = self.shared.plan.names.results_exchange.as_str();
        let is_alone = sending.len() == 1;
        let (mut failure, mut is_missing) = (Ok(()), false);
        for (message, sent) in sending.into_iter().zip(sent) {
            match sent {
                SendOutcome::Confirmed | SendOutcome::Returned => published.confirmed.push(message.id),
                SendOutcome::Refused(reason) => published.refused.push((message.id, reason)),
                // The error closes the channel for all messages in flight: only the one that names the missing exchange
                // is refused.
                SendOutcome::NoExchange(reason)
                    if is_alone
                        && message.exchange.as_deref().is_some_and(|exchange| {
                            !exchange.is_empty() && exchange != results_exchange && reason.contains(exchange)
                        }) =>
                {
                    published.refused.push((message.id, reason));
                }
                SendOutcome::NoExchange(detail) => {
                    is_missing = true;
                    failure = Err(QueueError::NotConfirmed { target: "the results exchange".to_owned(), detail });
                }
                SendOutcome::Failed(error) => failure = Err(error),
            }
        }
        if is_missing {
            let channel = session.careful.lock().await;
            self.declare_again(session, &channel).await;
        }
        failure
    }
}
