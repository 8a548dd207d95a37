//! Looking after dead letters.
//!
//! The protocol cannot look into a queue: letters are fetched, held, and handed back (or acknowledged) when the operation
//! is over; a crash meanwhile hands them back as well. Another process that looks at the same moment does not see those
//! held here.

use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions, QueueDeclareOptions};
use lapin::types::{DeliveryTag, FieldTable};
use lapin::{BasicProperties, Channel};
use sha2::{Digest, Sha256};

use super::headers::{self, ORIGIN_QUEUE};
use super::names::short;
use super::publish::Outgoing;
use super::{AmqpNames, AmqpQueue};
use crate::broker::{DeadLetter, DeadSelection, QueueError, QueueName};

/// Most letters one operation looks at: each is held by this connection, and its body in memory while it is looked at.
const SCAN_LIMIT: usize = 10_000;

/// A letter's stable name: it is a hash of all that was said about it when it was given up.
fn letter_id(body: &[u8], properties: &BasicProperties) -> String {
    let mut hasher = Sha256::new();
    for part in [
        properties.message_id().as_ref().map(|id| id.as_str().to_owned()),
        headers::text_header(properties, ORIGIN_QUEUE),
        headers::failed_at(properties).map(|time| time.to_rfc3339()),
    ] {
        let part = part.unwrap_or_default();
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(body);
    let hex: String = hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("dl_{hex}")
}

/// The queue a letter came from: our header, else the broker's record.
fn origin(names: &AmqpNames, properties: &BasicProperties) -> Option<QueueName> {
    if let Some(queue) = headers::text_header(properties, ORIGIN_QUEUE) {
        return names.named(&queue);
    }
    headers::deaths(properties).find_map(|death| names.named(&headers::text(death.inner().get("queue")?)?))
}

fn letter(names: &AmqpNames, body: Vec<u8>, properties: &BasicProperties) -> DeadLetter {
    DeadLetter {
        id: letter_id(&body, properties),
        origin: origin(names, properties),
        label: headers::text_header(properties, headers::ERROR_LABEL),
        error: headers::text_header(properties, headers::ERROR),
        attempts: headers::attempts(properties),
        failed_at: headers::failed_at(properties),
        message_id: properties.message_id().as_ref().map(|id| id.as_str().to_owned()),
        body,
    }
}

fn failed(error: &lapin::Error) -> QueueError {
    QueueError::Failed { action: "looking at dead letters", detail: error.to_string() }
}

/// Walks over the letters, oldest first. Those that are not removed are held until [`Walk::end`]; dropping the walk hands
/// them back too, with its channel.
struct Walk<'a> {
    channel: Channel,
    names: &'a AmqpNames,
    /// Letters still to be looked at. No more than lay there at the start: one that is given back may die again at once.
    left: usize,
    /// The latest letter held, and the latest one held before it.
    held: [Option<DeliveryTag>; 2],
}

/// A letter under the eyes of a walk.
struct Found {
    letter: DeadLetter,
    properties: BasicProperties,
}

impl<'a> Walk<'a> {
    async fn start(channel: Channel, names: &'a AmqpNames, limit: usize) -> Result<Self, QueueError> {
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let queue = channel.queue_declare(short(&names.dead_queue), options, FieldTable::default()).await;
        let there = queue.map_err(|error| failed(&error))?.message_count() as usize;
        Ok(Self { channel, names, left: there.min(limit).min(SCAN_LIMIT), held: [None; 2] })
    }

    async fn next(&mut self) -> Result<Option<Found>, QueueError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let got = self.channel.basic_get(short(&self.names.dead_queue), BasicGetOptions { no_ack: false }).await;
        let Some(message) = got.map_err(|error| failed(&error))? else { return Ok(None) };
        let message = message.delivery;
        self.held = [Some(message.delivery_tag), self.held[0]];
        let letter = letter(self.names, message.data, &message.properties);
        Ok(Some(Found { letter, properties: message.properties }))
    }

    /// Takes the letter found last away.
    async fn remove(&mut self) -> Result<(), QueueError> {
        let [Some(tag), before] = self.held else { return Ok(()) };
        // Handing back "all up to this one" must name a letter that is still held: the broker closes the channel otherwise.
        self.held = [before, None];
        self.channel.basic_ack(tag, BasicAckOptions::default()).await.map_err(|error| failed(&error))
    }

    /// Hands back what is held, in its order.
    async fn end(self) -> Result<(), QueueError> {
        if let Some(tag) = self.held[0] {
            let options = BasicNackOptions { requeue: true, multiple: true };
            self.channel.basic_nack(tag, options).await.map_err(|error| failed(&error))?;
        }
        self.channel.close(200, short("done")).await.map_err(|error| failed(&error))
    }
}

impl AmqpQueue {
    async fn walk(&self, limit: usize) -> Result<Walk<'_>, QueueError> {
        let channel = self.shared.session()?.side_channel().await?;
        Walk::start(channel, &self.shared.plan.names, limit).await
    }

    pub(super) async fn list_dead(&self, limit: usize) -> Result<Vec<DeadLetter>, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk(limit).await?;
        let mut letters = Vec::new();
        while let Some(found) = walk.next().await? {
            letters.push(found.letter);
        }
        walk.end().await?;
        Ok(letters)
    }

    pub(super) async fn get_dead(&self, id: &str) -> Result<Option<DeadLetter>, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk(SCAN_LIMIT).await?;
        let mut wanted = None;
        while let Some(found) = walk.next().await? {
            if found.letter.id == id {
                wanted = Some(found.letter);
                break;
            }
        }
        walk.end().await?;
        Ok(wanted)
    }

    pub(super) async fn requeue_dead(&self, which: DeadSelection<'_>) -> Result<usize, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk(SCAN_LIMIT).await?;
        let mut requeued = 0;
        while let Some(found) = walk.next().await? {
            let Some(queue) = found.letter.origin.filter(|_| which.holds(&found.letter.id)) else { continue };
            let properties = headers::for_requeue(&found.properties, self.clock.now());
            let routing_key = self.shared.plan.names.queue(queue);
            let message = Outgoing { exchange: "", routing_key, body: &found.letter.body, properties };
            self.publish_surely(&*self.shared.session()?, message).await?;
            walk.remove().await?;
            requeued += 1;
        }
        walk.end().await?;
        Ok(requeued)
    }

    pub(super) async fn drop_dead(&self, which: DeadSelection<'_>) -> Result<usize, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk(SCAN_LIMIT).await?;
        let mut dropped = 0;
        while let Some(found) = walk.next().await? {
            if which.holds(&found.letter.id) {
                walk.remove().await?;
                dropped += 1;
            }
        }
        walk.end().await?;
        Ok(dropped)
    }
}
