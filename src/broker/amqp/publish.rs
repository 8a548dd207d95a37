//! Publishing with confirms.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Channel, Confirmation, Error, ErrorKind};
use tokio::time::{Instant, timeout_at};

use super::names::destination;
use crate::broker::QueueError;

/// Messages sent before their confirms are awaited. Enough to hide the broker's disk, few enough to bound memory.
pub(super) const WINDOW: usize = 256;

/// The reply code for an exchange that does not exist.
const NOT_FOUND: u16 = 404;

/// One message on its way out.
#[derive(Debug)]
pub(super) struct Outgoing<'a> {
    /// Empty: the default exchange.
    pub(super) exchange: &'a str,
    pub(super) routing_key: &'a str,
    pub(super) body: &'a [u8],
    pub(super) properties: BasicProperties,
}

impl Outgoing<'_> {
    fn target(&self) -> String {
        if self.exchange.is_empty() {
            format!("the queue {}", self.routing_key)
        } else {
            format!("the exchange {} with {}", self.exchange, self.routing_key)
        }
    }
}

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    Confirmed,
    /// The broker has it, and gave at least one message of the same batch back because no queue wanted it. Which one, the
    /// protocol's client cannot be trusted to say: it hands returned messages to whichever confirm comes next.
    Returned,
    /// The broker does not want this message, and says why; its neighbours have nothing to do with it.
    Refused(String),
    /// An exchange does not exist: that of this message, if it was sent alone, else that of any in the batch.
    NoExchange(String),
    /// Not known: the connection, the channel or the time for it ended.
    Failed(QueueError),
}

/// Sends one window of messages (at most [`WINDOW`]) and waits for every confirm until `patience` is over. One answer per
/// message, in order.
///
/// With `mandatory` nobody else may publish on that channel meanwhile (see [`Sent::Returned`]).
pub(super) async fn publish(
    channel: &Channel,
    messages: &[Outgoing<'_>],
    mandatory: bool,
    patience: Duration,
) -> Vec<Sent> {
    let deadline = Instant::now() + patience;
    let options = BasicPublishOptions { mandatory, ..BasicPublishOptions::default() };
    let mut confirms = Vec::with_capacity(messages.len());
    for message in messages {
        let failed = |detail| Err(Sent::Failed(QueueError::NotConfirmed { target: message.target(), detail }));
        let (Some(exchange), Some(routing_key)) = (destination(message.exchange), destination(message.routing_key))
        else {
            confirms.push(Err(Sent::Refused("its exchange or routing key is longer than 255 bytes".to_owned())));
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
        let failed = |detail| Sent::Failed(QueueError::NotConfirmed { target: message.target(), detail });
        sent.push(match confirm {
            Err(outcome) => outcome,
            Ok(confirm) => match timeout_at(deadline, confirm).await {
                Ok(Ok(Confirmation::Ack(None))) => Sent::Confirmed,
                Ok(Ok(Confirmation::Ack(Some(_returned)))) => Sent::Returned,
                Ok(Ok(Confirmation::Nack(_))) => {
                    Sent::Refused("the broker refused it: a queue it goes to is full or has no leader".to_owned())
                }
                Ok(Err(error)) if is_not_found(&error) => Sent::NoExchange(error.to_string()),
                // The broker closes the channel over one message and does not say which; alone, it was this one.
                Ok(Err(error)) if messages.len() == 1 && error.is_amqp_soft_error() => Sent::Refused(error.to_string()),
                Ok(Ok(Confirmation::NotRequested)) => failed("the channel gives no confirms".into()),
                Ok(Err(error)) => failed(error.to_string()),
                Err(_elapsed) => failed(format!("no answer for {patience:?}; look for alarms at the broker")),
            },
        });
    }
    if mandatory && sent.contains(&Sent::Returned) {
        for outcome in &mut sent {
            if *outcome == Sent::Confirmed {
                *outcome = Sent::Returned;
            }
        }
    }
    sent
}

fn is_not_found(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ProtocolError(error) if error.get_id() == NOT_FOUND)
}

/// All or nothing: the first thing that went wrong.
pub(super) fn all_sent(sent: Vec<Sent>, target: impl Fn() -> String) -> Result<(), QueueError> {
    for outcome in sent {
        match outcome {
            Sent::Confirmed => {}
            Sent::Returned => {
                let detail = "no queue takes it (deleted or unbound)".to_owned();
                return Err(QueueError::NotConfirmed { target: target(), detail });
            }
            Sent::Refused(detail) | Sent::NoExchange(detail) => {
                return Err(QueueError::NotConfirmed { target: target(), detail });
            }
            Sent::Failed(error) => return Err(error),
        }
    }
    Ok(())
}
