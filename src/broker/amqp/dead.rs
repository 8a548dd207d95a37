//! Looking after dead letters.
//!
//! The protocol cannot look into a queue: letters are fetched, held, and handed back (or acknowledged) when the operation
//! is over; a crash meanwhile hands them back as well. Another process that looks at the same moment does not see those
//! held here.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions};
use lapin::types::DeliveryTag;
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
    let start = hasher.finalize().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("dl_{start:016x}")
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

/// Walks over the letters, all of them: what is handed back goes behind what was not looked at, so that only a whole walk
/// keeps their order. Those that are not removed are held until [`Walk::end`]; dropping the walk hands
/// them back too, with its channel.
struct Walk<'a> {
    channel: Channel,
    names: &'a AmqpNames,
    /// Letters that may still be looked at.
    left: usize,
    /// The latest letter held, and the latest one held before it.
    held: [Option<DeliveryTag>; 2],
}

/// A letter under the eyes of a walk.
struct Found {
    letter: DeadLetter,
    properties: BasicProperties,
}

impl Walk<'_> {
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

/// Letters without a date are put first: the broker dates its own, so that these are somebody else's.
fn keep_oldest(letters: &mut Vec<DeadLetter>, limit: usize) {
    letters.sort_by_key(|letter| letter.failed_at);
    letters.truncate(limit);
}

impl AmqpQueue {
    async fn walk(&self) -> Result<Walk<'_>, QueueError> {
        let channel = self.shared.session()?.side_channel().await?;
        Ok(Walk { channel, names: &self.shared.plan.names, left: SCAN_LIMIT, held: [None; 2] })
    }

    pub(super) async fn list_dead(&self, limit: usize) -> Result<Vec<DeadLetter>, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
        let mut letters = Vec::new();
        while let Some(found) = walk.next().await? {
            letters.push(found.letter);
            if letters.len() >= limit.saturating_mul(2).max(64) {
                keep_oldest(&mut letters, limit);
            }
        }
        walk.end().await?;
        keep_oldest(&mut letters, limit);
        Ok(letters)
    }

    pub(super) async fn get_dead(&self, id: &str) -> Result<Option<DeadLetter>, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
        let mut wanted = None;
        while let Some(found) = walk.next().await? {
            if found.letter.id == id {
                wanted = Some(found.letter);
            }
        }
        walk.end().await?;
        Ok(wanted)
    }

    pub(super) async fn requeue_dead(&self, which: DeadSelection<'_>) -> Result<usize, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
        // What is given back may die again at once and come into sight again: each message goes once.
        let mut gone = HashSet::new();
        while let Some(found) = walk.next().await? {
            let Some(queue) = found.letter.origin.filter(|_| which.holds(&found.letter.id)) else { continue };
            let mut once = DefaultHasher::new();
            (queue, &found.letter.message_id, &found.letter.body).hash(&mut once);
            let once = once.finish();
            if gone.contains(&once) {
                continue;
            }
            let properties = headers::for_requeue(&found.properties, self.clock.now());
            let routing_key = self.shared.plan.names.queue(queue);
            let message = Outgoing { exchange: "", routing_key, body: &found.letter.body, properties };
            self.publish_surely(&*self.shared.session()?, message).await?;
            walk.remove().await?;
            gone.insert(once);
        }
        walk.end().await?;
        Ok(gone.len())
    }

    pub(super) async fn drop_dead(&self, which: DeadSelection<'_>) -> Result<usize, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
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
