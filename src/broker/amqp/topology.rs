//! The exchanges, queues and bindings of the contract as data, and a function that declares them.
//!
//! A repeated declaration changes nothing. The broker refuses a queue that exists with other arguments.

use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

use super::names::{AmqpNames, checked_name};
use crate::broker::QueueName;

/// Reading dead letters counts as delivery. From RabbitMQ 4 on the default limit is 20; the broker would then delete
/// them.
const DEAD_DELIVERY_LIMIT: i64 = 1_000_000;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A durable topic exchange.
    Exchange(String),
    /// A durable quorum queue.
    Queue {
        name: String,
        arguments: FieldTable,
    },
    Bind {
        queue: String,
        exchange: String,
        key: String,
    },
}

impl Step {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Exchange(name) => format!("the exchange {name}"),
            Self::Queue { name, .. } => format!("the queue {name}"),
            Self::Bind { queue, exchange, key } => format!("binding {queue} to {exchange} with {key}"),
        }
    }
}

/// Returns all declarations, ordered so that each target exists before it is referenced.
pub(super) fn steps(names: &AmqpNames, retry_delays: &[Duration], delivery_limit: u32) -> Vec<Step> {
    let text = |text: &str| AMQPValue::LongString(text.into());
    let queue = |name: String, more: Vec<(&str, AMQPValue)>| {
        let mut arguments = FieldTable::default();
        arguments.insert(checked_name("x-queue-type"), text("quorum"));
        for (key, value) in more {
            arguments.insert(checked_name(key), value);
        }
        Step::Queue { name, arguments }
    };
    // At-least-once dead-lettering requires `reject-publish`: a full queue refuses a message instead of dropping one.
    let surely = || vec![("x-dead-letter-strategy", text("at-least-once")), ("x-overflow", text("reject-publish"))];
    let mut steps = vec![
        Step::Exchange(names.exchange.clone()),
        Step::Exchange(names.results_exchange.clone()),
        Step::Exchange(names.dead_exchange.clone()),
        queue(names.dead_queue.clone(), vec![("x-delivery-limit", AMQPValue::LongLongInt(DEAD_DELIVERY_LIMIT))]),
        Step::Bind { queue: names.dead_queue.clone(), exchange: names.dead_exchange.clone(), key: "#".to_owned() },
    ];
    for name in QueueName::ALL {
        let mut arguments = surely();
        arguments.push(("x-dead-letter-exchange", text(&names.dead_exchange)));
        arguments.push(("x-delivery-limit", AMQPValue::LongLongInt(i64::from(delivery_limit))));
        steps.push(queue(names.queue(name).to_owned(), arguments));
        let (exchange, key) = (names.exchange.clone(), names.binding(name).to_owned());
        steps.push(Step::Bind { queue: names.queue(name).to_owned(), exchange, key });
        for delay in retry_delays {
            let mut arguments = surely();
            arguments.push(("x-dead-letter-exchange", text("")));
            arguments.push(("x-dead-letter-routing-key", text(names.queue(name))));
            let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
            arguments.push(("x-message-ttl", AMQPValue::LongLongInt(millis)));
            steps.push(queue(names.retry_queue(name, *delay), arguments));
        }
    }
    steps
}

pub(super) async fn declare(channel: &Channel, steps: &[Step]) -> Result<(), (Step, lapin::Error)> {
    for step in steps {
        let done = match step {
            Step::Exchange(name) => {
                let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
                channel.exchange_declare(checked_name(name), ExchangeKind::Topic, options, FieldTable::default()).await
            }
            Step::Queue { name, arguments } => {
                let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
                channel.queue_declare(checked_name(name), options, arguments.clone()).await.map(drop)
            }
            Step::Bind { queue, exchange, key } => {
                let options = QueueBindOptions::default();
                channel
                    .queue_bind(
                        checked_name(queue),
                        checked_name(exchange),
                        checked_name(key),
                        options,
                        FieldTable::default(),
                    )
                    .await
            }
        };
        done.map_err(|error| (step.clone(), error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_queue_leads_back_to_its_queue_and_refuses_rather_than_drops() {
        let steps = steps(&AmqpNames::default(), &[Duration::from_secs(5), Duration::from_mins(2)], 20);
        let arguments = steps
            .iter()
            .find_map(|step| match step {
                Step::Queue { name, arguments } if name == "factcheck.retry.2m" => Some(arguments),
                _ => None,
            })
            .unwrap();
        let text = |key: &str| super::super::headers::text(arguments.inner().get(key).unwrap()).unwrap();
        assert_eq!(text("x-queue-type"), "quorum");
        assert_eq!(text("x-dead-letter-exchange"), "");
        assert_eq!(text("x-dead-letter-routing-key"), "factcheck");
        assert_eq!(text("x-dead-letter-strategy"), "at-least-once");
        assert_eq!(text("x-overflow"), "reject-publish");
        assert_eq!(arguments.inner().get("x-message-ttl"), Some(&AMQPValue::LongLongInt(120_000)));
    }

    #[test]
    fn bindings_and_the_delivery_limit_are_the_operators() {
        let names = AmqpNames { factcheck_binding: "claims.urgent".to_owned(), ..AmqpNames::default() };
        let steps = steps(&names, &[Duration::from_secs(5)], 7);
        assert!(steps.iter().any(|step| step.describe() == "binding factcheck to enrichment with claims.urgent"));
        let limits: Vec<_> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Queue { name, arguments } => Some((name.as_str(), arguments.inner().get("x-delivery-limit")?)),
                Step::Exchange(_) | Step::Bind { .. } => None,
            })
            .collect();
        let dead = AMQPValue::LongLongInt(DEAD_DELIVERY_LIMIT);
        let own = AMQPValue::LongLongInt(7);
        let queues = ["enrichment_important", "enrichment_queue", "factcheck"].map(|queue| (queue, &own));
        assert_eq!(limits, [[("enrichment.dead", &dead)].as_slice(), &queues].concat());
    }

    #[test]
    fn what_is_pointed_to_is_declared_first() {
        let steps = steps(&AmqpNames::default(), &[Duration::from_secs(5)], 20);
        let place = |wanted: &str| steps.iter().position(|step| step.describe() == wanted).unwrap();
        assert!(place("the exchange enrichment.dlx") < place("the queue enrichment_queue"));
        assert!(place("the queue enrichment_queue") < place("binding enrichment_queue to enrichment with item.#"));
        assert!(place("the queue factcheck") < place("the queue factcheck.retry.5s"));
        assert_eq!(steps.len(), 14);
    }
}
