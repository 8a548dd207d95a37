//! Publishes windows of messages and waits for the broker's confirms.
//!
//! Returns one outcome per message and never retries; callers decide.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Channel, Confirmation, Error, ErrorKind};
use tokio::time::{Instant, timeout_at};

use super::names::destination;
use crate::broker::QueueError;

/// Messages sent before their confirms are awaited: enough to hide disk latency, few enough to bound memory.
pub(super) const WINDOW: usize = 256;

const NOT_FOUND: u16 = 404;

#[derive(Debug)]
pub(super) struct OutgoingMessage<'a> {
    /// Empty: the default exchange.
    pub(super) exchange: &'a str,
    pub(super) routing_key: &'a str,
    pub(super) body: &'a [u8],
    pub(super) properties: BasicProperties,
}

impl OutgoingMessage<'_> {
    fn target(&self) -> String {
        if self.exchange.is_empty() {
            format!("the queue {}", self.routing_key)
        } else {
            format!("the exchange {} with {}", self.exchange, self.routing_key)
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SendOutcome {
    Confirmed,
    /// Stored, but the batch had a message that no queue took. The client library may assign a return to the wrong
    /// message, so the whole batch gets this outcome.
    Returned,
    /// The broker refused only this message, with its reason.
    Refused(String),
    /// An exchange is missing: that of this message if it was sent alone, else that of any message in the batch.
    NoExchange(String),
    /// Unknown: connection or channel loss, or a timeout.
    Failed(QueueError),
}

/// Sends at most [`WINDOW`] messages and waits up to `patience`. Returns outcomes in order.
///
/// With `mandatory`, nothing else may be published on this channel meanwhile (see [`SendOutcome::Returned`]).
pub(super) async fn publish(
    channel: &Channel,
    messages: &[OutgoingMessage<'_>],
    mandatory: bool,
    patience: Duration,
) -> Vec<SendOutcome> {
    let deadline = Instant::now() + patience;
    let options = BasicPublishOptions { mandatory, ..BasicPublishOptions::default() };
    let mut confirms = Vec::with_capacity(messages.len());
    for message in messages {
        let failed = |detail| Err(SendOutcome::Failed(QueueError::NotConfirmed { target: message.target(), detail }));
        let (Some(exchange), Some(routing_key)) = (destination(message.exchange), destination(message.routing_key))
        else {
            confirms.push(Err(SendOutcome::Refused("its exchange or routing key is longer than 255 bytes".to_owned())));
            continue;
        };
        let sending = channel.basic_publish(exchange, routing_key, options, message.body, message.properties.clone());
        confirms.push(match timeout_at(deadline, sending).await {
            Ok(Ok(confirm)) => Ok(confirm),
            Ok(Err(error)) => failed(error.to_string()),
            Err(_elapsed) => failed(format!("the broker took nothing for {patience:?}; look for its alarms")),
        });
    }
    let mut sent = Vec::with_capacity(messages.len());
    for (message, confirm) in messages.iter().zip(confirms) {
        let failed = |detail| SendOutcome::Failed(QueueError::NotConfirmed { target: message.target(), detail });
        sent.push(match confirm {
            Err(outcome) => outcome,
            Ok(confirm) => match timeout_at(deadline, confirm).await {
                Ok(Ok(Confirmation::Ack(None))) => SendOutcome::Confirmed,
                Ok(Ok(Confirmation::Ack(Some(_returned)))) => SendOutcome::Returned,
                Ok(Ok(Confirmation::Nack(_))) => SendOutcome::Refused(
                    "the broker refused it: a queue it goes to is full or has no leader".to_owned(),
                ),
                Ok(Err(error)) if is_not_found(&error) => SendOutcome::NoExchange(error.to_string()),
                // The broker closes the channel without naming the message. Only a batch of one identifies it.
                Ok(Err(error)) if messages.len() == 1 && error.is_amqp_soft_error() => {
                    SendOutcome::Refused(error.to_string())
                }
                Ok(Ok(Confirmation::NotRequested)) => failed("the channel gives no confirms".into()),
                Ok(Err(error)) => failed(error.to_string()),
                Err(_elapsed) => failed(format!("no answer for {patience:?}; look for alarms at the broker")),
            },
        });
    }
    if mandatory && sent.contains(&SendOutcome::Returned) {
        for outcome in &mut sent {
            if *outcome == SendOutcome::Confirmed {
                *outcome = SendOutcome::Returned;
            }
        }
    }
    sent
}

fn is_not_found(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ProtocolError(error) if error.get_id() == NOT_FOUND)
}

pub(super) fn all_sent(sent: Vec<SendOutcome>, target: impl Fn() -> String) -> Result<(), QueueError> {
    for outcome in sent {
        match outcome {
            SendOutcome::Confirmed => {}
            SendOutcome::Returned => {
                let detail = "no queue takes it (deleted or unbound)".to_owned();
                return Err(QueueError::NotConfirmed { target: target(), detail });
            }
            SendOutcome::Refused(detail) | SendOutcome::NoExchange(detail) => {
                return Err(QueueError::NotConfirmed { target: target(), detail });
            }
            SendOutcome::Failed(error) => return Err(error),
        }
    }
    Ok(())
}
