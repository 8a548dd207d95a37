//! Looking after dead letters.
//!
//! The protocol cannot look into a queue: letters are fetched, held, and handed back (or acknowledged) when the operation
//! is over; a crash meanwhile hands them back as well. Another process that looks at the same moment does not see those
//! held here.
//!
//! An operation looks at every letter, however many there are. It ends although letters that are given back may die again
//! meanwhile: those are held when they come into sight the second time.

use std::collections::{BTreeSet, HashSet};
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

/// Letters that are given back with one wait for the broker's confirms: enough to hide its disk, few enough to bound
/// memory, since a letter may have a megabyte.
const REQUEUE_WINDOW: usize = 64;

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
    held: BTreeSet<DeliveryTag>,
}

/// A letter under the eyes of a walk.
struct Found {
    letter: DeadLetter,
    properties: BasicProperties,
    tag: DeliveryTag,
}

/// A letter on its way back.
struct Returning {
    body: Vec<u8>,
    properties: BasicProperties,
    tag: DeliveryTag,
}

impl Walk<'_> {
    async fn next(&mut self) -> Result<Option<Found>, QueueError> {
        let got = self.channel.basic_get(short(&self.names.dead_queue), BasicGetOptions { no_ack: false }).await;
        let Some(message) = got.map_err(|error| failed(&error))? else { return Ok(None) };
        let message = message.delivery;
        let tag = message.delivery_tag;
        self.held.insert(tag);
        let letter = letter(self.names, message.data, &message.properties);
        Ok(Some(Found { letter, properties: message.properties, tag }))
    }

    /// Takes a letter that was found away.
    async fn remove(&mut self, tag: DeliveryTag) -> Result<(), QueueError> {
        self.held.remove(&tag);
        self.channel.basic_ack(tag, BasicAckOptions::default()).await.map_err(|error| failed(&error))
    }

    /// Hands back what is held, in its order.
    async fn end(self) -> Result<(), QueueError> {
        // "All up to this one" must name a letter that is still held: the broker closes the channel otherwise.
        if let Some(tag) = self.held.last().copied() {
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
        let channel = self.shared.session()?.side_channel(self.confirm_timeout).await?;
        Ok(Walk { channel, names: &self.shared.plan.names, held: BTreeSet::new() })
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
        // A window for each queue: of messages to a queue that is gone, none is sent twice for the other's sake.
        let mut returning = QueueName::ALL.map(|queue| (queue, Vec::new()));
        while let Some(found) = walk.next().await? {
            let Some(queue) = found.letter.origin.filter(|_| which.holds(&found.letter.id)) else { continue };
            let mut once = DefaultHasher::new();
            (queue, &found.letter.message_id, &found.letter.body).hash(&mut once);
            if !gone.insert(once.finish()) {
                continue;
            }
            let properties = headers::for_requeue(&found.properties, self.clocks.own.now());
            let Some((_, window)) = returning.iter_mut().find(|(name, _)| *name == queue) else { continue };
            window.push(Returning { body: found.letter.body, properties, tag: found.tag });
            if window.len() >= REQUEUE_WINDOW {
                self.give_back(&mut walk, queue, window).await?;
            }
        }
        for (queue, window) in &mut returning {
            self.give_back(&mut walk, *queue, window).await?;
        }
        walk.end().await?;
        Ok(gone.len())
    }

    /// Sends letters to a queue, and takes them from the dead ones when they are safe there.
    async fn give_back(
        &self,
        walk: &mut Walk<'_>,
        queue: QueueName,
        window: &mut Vec<Returning>,
    ) -> Result<(), QueueError> {
        let routing_key = self.shared.plan.names.queue(queue);
        let messages: Vec<Outgoing<'_>> = window
            .iter()
            .map(|letter| Outgoing {
                exchange: "",
                routing_key,
                body: &letter.body,
                properties: letter.properties.clone(),
            })
            .collect();
        self.publish_surely(&*self.shared.session()?, &messages).await?;
        for letter in window.drain(..) {
            walk.remove(letter.tag).await?;
        }
        Ok(())
    }

    pub(super) async fn drop_dead(&self, which: DeadSelection<'_>) -> Result<usize, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
        let mut dropped = 0;
        while let Some(found) = walk.next().await? {
            if which.holds(&found.letter.id) {
                walk.remove(found.tag).await?;
                dropped += 1;
            }
        }
        walk.end().await?;
        Ok(dropped)
    }
}
