//! Lists, requeues and drops dead letters.
//!
//! AMQP cannot read a queue without taking messages. An operation fetches all dead letters, holds them, and returns or
//! acknowledges them at the end. A crash returns them too. A second process does not see those held here.
//!
//! Requeued messages may become dead letters again meanwhile. They are then held, so the operation ends.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions};
use lapin::types::DeliveryTag;
use lapin::{BasicProperties, Channel};
use sha2::{Digest, Sha256};

use super::headers::{self, ORIGIN_QUEUE};
use super::names::{checked_name, prose};
use super::publish::OutgoingMessage;
use super::{AmqpNames, AmqpQueue};
use crate::broker::{DeadLetter, DeadSelection, OpenDeadLetter, QueueError, QueueName, excerpt};

/// Requeued with one wait for confirms: enough to hide the broker's disk latency.
const REQUEUE_WINDOW: usize = 64;

/// Bytes after which a window is sent, to bound memory.
const REQUEUE_WINDOW_BYTES: usize = 4 * 1024 * 1024;

/// Returns a stable id: a hash of the body, message id, origin and time of failure.
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

/// Returns the original queue: from our header, else from the broker's record.
fn origin(names: &AmqpNames, properties: &BasicProperties) -> Option<QueueName> {
    if let Some(queue) = headers::text_header(properties, ORIGIN_QUEUE) {
        return names.named(&queue);
    }
    headers::deaths(properties).find_map(|death| names.named(&headers::text(death.inner().get("queue")?)?))
}

fn letter(names: &AmqpNames, body: &[u8], properties: &BasicProperties) -> DeadLetter {
    let original_bytes = headers::original_bytes(properties);
    DeadLetter {
        id: letter_id(body, properties),
        origin: origin(names, properties),
        label: headers::text_header(properties, headers::ERROR_LABEL),
        error: headers::text_header(properties, headers::ERROR),
        attempts: headers::attempts(properties),
        failed_at: headers::failed_at(properties),
        message_id: properties.message_id().as_ref().map(|id| id.as_str().to_owned()),
        excerpt: excerpt(body).to_vec(),
        bytes: original_bytes.unwrap_or(body.len()),
        is_cut: original_bytes.is_some(),
    }
}

fn failed(error: &lapin::Error) -> QueueError {
    QueueError::Failed { action: "looking at dead letters", detail: error.to_string() }
}

/// Reads all dead letters: returned ones go behind unread ones, so only a complete walk keeps their order. Messages are
/// held until [`Walk::end`]; dropping the walk returns them too.
struct Walk<'a> {
    channel: Channel,
    names: &'a AmqpNames,
    held: BTreeSet<DeliveryTag>,
}

struct FetchedLetter {
    letter: DeadLetter,
    body: Vec<u8>,
    properties: BasicProperties,
    tag: DeliveryTag,
}

struct Window {
    queue: QueueName,
    letters: Vec<RequeuedLetter>,
}

impl Window {
    fn is_full(&self) -> bool {
        let bytes: usize = self.letters.iter().map(|letter| letter.body.len()).sum();
        self.letters.len() >= REQUEUE_WINDOW || bytes >= REQUEUE_WINDOW_BYTES
    }
}

struct RequeuedLetter {
    body: Vec<u8>,
    properties: BasicProperties,
    tag: DeliveryTag,
}

impl Walk<'_> {
    async fn next(&mut self) -> Result<Option<FetchedLetter>, QueueError> {
        let queue = checked_name(&self.names.dead_queue);
        let got = self.channel.basic_get(queue, BasicGetOptions { no_ack: false }).await;
        let Some(message) = got.map_err(|error| failed(&error))? else { return Ok(None) };
        let message = message.delivery;
        let tag = message.delivery_tag;
        self.held.insert(tag);
        let letter = letter(self.names, &message.data, &message.properties);
        Ok(Some(FetchedLetter { letter, body: message.data, properties: message.properties, tag }))
    }

    async fn remove(&mut self, tag: DeliveryTag) -> Result<(), QueueError> {
        self.held.remove(&tag);
        self.channel.basic_ack(tag, BasicAckOptions::default()).await.map_err(|error| failed(&error))
    }

    async fn end(self) -> Result<(), QueueError> {
        // A multiple nack must name a tag that is still held; otherwise the broker closes the channel.
        if let Some(tag) = self.held.last().copied() {
            let options = BasicNackOptions { requeue: true, multiple: true };
            self.channel.basic_nack(tag, options).await.map_err(|error| failed(&error))?;
        }
        self.channel.close(200, prose("done")).await.map_err(|error| failed(&error))
    }
}

/// Keeps the `limit` oldest. Undated ones sort first: the broker dates its own, so another program published these.
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
        while let Some(reached) = walk.next().await? {
            letters.push(reached.letter);
            if letters.len() >= limit.saturating_mul(2).max(64) {
                keep_oldest(&mut letters, limit);
            }
        }
        walk.end().await?;
        keep_oldest(&mut letters, limit);
        Ok(letters)
    }

    pub(super) async fn get_dead(&self, id: &str) -> Result<Option<OpenDeadLetter>, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
        let mut wanted = None;
        while let Some(FetchedLetter { letter, body, .. }) = walk.next().await? {
            if letter.id == id {
                wanted = Some(OpenDeadLetter { letter, body });
            }
        }
        walk.end().await?;
        Ok(wanted)
    }

    pub(super) async fn requeue_dead(&self, which: DeadSelection<'_>) -> Result<usize, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
        // A requeued message may die again at once and reappear: each message is requeued once.
        let mut gone = HashSet::new();
        // One window per queue: if one queue is missing, messages to the others are not sent twice.
        let mut windows = QueueName::ALL.map(|queue| Window { queue, letters: Vec::new() });
        while let Some(FetchedLetter { letter, body, properties, tag }) = walk.next().await? {
            let is_wanted = which.holds(&letter) && !letter.is_cut;
            let Some(queue) = letter.origin.filter(|_| is_wanted) else { continue };
            let mut once = DefaultHasher::new();
            (queue, &letter.message_id, &body).hash(&mut once);
            if !gone.insert(once.finish()) {
                continue;
            }
            let Some(window) = windows.iter_mut().find(|window| window.queue == queue) else { continue };
            let properties = headers::for_requeue(&properties, self.clocks.own.now());
            window.letters.push(RequeuedLetter { body, properties, tag });
            if window.is_full() {
                self.give_back(&mut walk, window).await?;
            }
        }
        for window in &mut windows {
            self.give_back(&mut walk, window).await?;
        }
        walk.end().await?;
        Ok(gone.len())
    }

    /// Publishes the window to its queue, then removes its dead letters after the confirms.
    async fn give_back(&self, walk: &mut Walk<'_>, window: &mut Window) -> Result<(), QueueError> {
        let routing_key = self.shared.plan.names.queue(window.queue);
        let messages: Vec<OutgoingMessage<'_>> = window
            .letters
            .iter()
            .map(|letter| OutgoingMessage {
                exchange: "",
                routing_key,
                body: &letter.body,
                properties: letter.properties.clone(),
            })
            .collect();
        self.publish_surely(&*self.shared.session()?, &messages).await?;
        for letter in window.letters.drain(..) {
            walk.remove(letter.tag).await?;
        }
        Ok(())
    }

    pub(super) async fn drop_dead(&self, which: DeadSelection<'_>) -> Result<usize, QueueError> {
        let _one_at_a_time = self.dead.lock().await;
        let mut walk = self.walk().await?;
        let mut dropped = 0;
        while let Some(reached) = walk.next().await? {
            if which.holds(&reached.letter) {
                walk.remove(reached.tag).await?;
                dropped += 1;
            }
        }
        walk.end().await?;
        Ok(dropped)
    }
}
