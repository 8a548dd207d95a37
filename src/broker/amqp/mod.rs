//! The RabbitMQ implementation of [`Queue`].
//!
//! - `settings` and `names`: configuration; `topology`: what is declared.
//! - `connection`: one connection with its socket; `session`: both connections and their channels.
//! - `driver`: reconnects; `refusal`: explains errors; `headers`: translates properties.
//! - `publish`: sends with confirms; `results`: sends the outbox; `replies`: checks `reply_to`; `dead`: dead letters.
//!
//! A retry or dead letter is confirmed before the original is acknowledged. A crash between the two can duplicate a
//! message but never loses one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join, join_all};
use lapin::Channel;
use lapin::options::{BasicAckOptions, BasicNackOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::driver::{SharedState, State};
use self::headers::Death;
use self::names::checked_name;
use self::publish::{OutgoingMessage, SendOutcome, WINDOW, all_sent, publish};
use self::replies::ReplyPolicy;
use self::results::json;
use self::session::{Plan, Session};
use self::settings::parse_url;
use super::{
    DeadBody, DeadLetter, DeadSelection, Delivery, Observer, OpenDeadLetter, OutboxMessage, PublishReport, Queue,
    QueueDepth, QueueError, QueueName, Receipt, Settlement,
};
use crate::supervisor::Supervisor;

mod connection;
mod dead;
mod driver;
mod headers;
mod names;
mod publish;
mod refusal;
mod replies;
mod results;
mod session;
mod settings;
mod topology;

pub use self::headers::{AmqpReceipt, Clocks};
pub use self::names::AmqpNames;
pub use self::settings::AmqpSettings;

/// The queue at RabbitMQ. Dropping it closes the connections; drain the supervisor for a clean close.
pub struct AmqpQueue {
    shared: Arc<SharedState>,
    retry_delays: Vec<Duration>,
    confirm_timeout: Duration,
    clocks: Clocks,
    replies: ReplyPolicy,
    /// One operation at a time, because each holds the messages that it reads.
    dead: Mutex<()>,
    _close_on_drop: DropGuard,
}

impl fmt::Debug for AmqpQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpQueue").field("address", &self.shared.plan.address).finish_non_exhaustive()
    }
}

impl AmqpQueue {
    /// Connects, declares everything and, if configured, starts to consume. `supervisor` runs the reconnecting task.
    ///
    /// # Errors
    /// `Refused` (wrong password, unknown vhost, queue with other properties …) and `BadSettings` at once.
    /// `Unreachable` after `start_patience` without an answer. A later loss of the connection never ends the queue.
    pub async fn connect(
        settings: AmqpSettings,
        clocks: Clocks,
        observer: Arc<dyn Observer>,
        supervisor: &Supervisor,
    ) -> Result<Self, QueueError> {
        settings.check()?;
        let (uri, address) = parse_url(&settings.url)?;
        let plan = Plan::new(&settings, uri, address);
        let replies = ReplyPolicy::new(settings.names.clone(), settings.reply_to_prefixes.clone());
        let session = Arc::new(first_session(&plan, settings.start_patience, settings.consume).await?);
        let closing = CancellationToken::new();
        let stopping = CancellationToken::new();
        if !settings.consume {
            // Later sessions do not consume either, and `receive` returns `Closed` instead of waiting.
            stopping.cancel();
        }
        let shared = Arc::new(SharedState {
            plan,
            state: watch::Sender::new(State::Up(Arc::clone(&session))),
            stopping,
            paused: watch::Sender::new(false),
            closing: closing.clone(),
            observer,
        });
        supervisor.spawn("the broker connection", &closing, driver::drive(Arc::clone(&shared), session));
        Ok(Self {
            shared,
            retry_delays: settings.retry_delays,
            confirm_timeout: settings.confirm_timeout,
            clocks,
            replies,
            dead: Mutex::new(()),
            _close_on_drop: closing.drop_guard(),
        })
    }

    /// Closes the connections; unsettled deliveries return to their queue. Drain the supervisor to wait for that.
    pub fn close(&self) {
        self.shared.stopping.cancel();
        self.shared.closing.cancel();
    }

    async fn next_delivery(&self) -> Result<Delivery, QueueError> {
        let mut states = self.shared.state.subscribe();
        let mut pauses = self.shared.paused.subscribe();
        let stopping = &self.shared.stopping;
        loop {
            let state = states.borrow_and_update().clone();
            let paused = *pauses.borrow_and_update();
            if let State::Up(session) = state
                && !paused
                && let Some((queue, message)) = next_of(&session, stopping, &mut pauses).await
            {
                return Ok(self.delivery(queue, message));
            }
            tokio::select! {
                biased;
                () = stopping.cancelled() => return Err(QueueError::Closed),
                changed = states.changed() => if changed.is_err() { return Err(QueueError::Closed) },
                changed = pauses.changed() => if changed.is_err() { return Err(QueueError::Closed) },
            }
        }
    }

    /// Converts a message. A `reply_to` that is not allowed is removed, logged and counted.
    fn delivery(&self, queue: QueueName, message: lapin::message::Delivery) -> Delivery {
        let mut delivery = headers::delivery(queue, message, &self.clocks);
        if let Some(reply_to) = delivery.reply_to.take_if(|reply_to| !self.replies.allows(reply_to)) {
            delivery.reply_refused = true;
            self.replies.log_refusal(&reply_to);
            self.shared.observer.reply_refused();
        }
        delivery
    }

    /// Stops the consumers and publishes prefetched messages to the shortest retry queue. A nack would raise the
    /// broker's delivery count, and after enough pauses the broker would drop them. If a publish fails, the rest is
    /// returned by nack, because each publish would wait as long.
    async fn pause(&self) {
        self.shared.paused.send_replace(true);
        let Ok(session) = self.shared.session() else { return };
        let mut fetched = session.stop_consuming().await.into_iter();
        while let Some((queue, message)) = fetched.next() {
            let delivery = headers::delivery(queue, message, &self.clocks);
            let Receipt::Amqp(receipt) = &delivery.receipt else { continue };
            if let Err(error) = self.retry(&delivery, receipt, Duration::ZERO, None).await {
                tracing::debug!(%error, "prefetched messages returned");
                self.hand_back(receipt).await;
                driver::hand_back(fetched.collect()).await;
                return;
            }
        }
    }

    /// Publishes messages that must reach one queue. If no queue takes them, declares everything again and retries
    /// once.
    async fn publish_surely(&self, session: &Session, batch: &[OutgoingMessage<'_>]) -> Result<(), QueueError> {
        let Some(first) = batch.first() else { return Ok(()) };
        let target = || first.routing_key.to_owned();
        let channel = session.careful.lock().await;
        let mut sent = publish(&channel, batch, true, self.confirm_timeout).await;
        if sent.contains(&SendOutcome::Returned) {
            self.declare_again(session, &channel).await;
            sent = publish(&channel, batch, true, self.confirm_timeout).await;
        }
        all_sent(sent, target)
    }

    async fn declare_again(&self, session: &Session, channel: &Channel) {
        match timeout(self.confirm_timeout, topology::declare(channel, &self.shared.plan.steps)).await {
            Ok(Ok(())) => {}
            Ok(Err((step, error))) => {
                session.lose(|| format!("declaring {} again failed: {error}", step.describe()));
            }
            Err(_elapsed) => session.lose(|| "the broker did not let us declare in time".to_owned()),
        }
    }

    /// Returns the shortest configured delay of at least `wanted`, else the longest.
    fn retry_delay(&self, wanted: Duration) -> Duration {
        let fitting = self.retry_delays.iter().find(|delay| **delay >= wanted);
        fitting.or(self.retry_delays.last()).copied().unwrap_or(wanted)
    }

    async fn retry(
        &self,
        delivery: &Delivery,
        receipt: &AmqpReceipt,
        wanted: Duration,
        error: Option<(&str, &str)>,
    ) -> Result<(), QueueError> {
        let session = self.shared.session()?;
        let delay = self.retry_delay(wanted);
        let queue = self.shared.plan.names.retry_queue(delivery.queue, delay);
        let attempts = delivery.attempts.saturating_add(u32::from(error.is_some()));
        let properties = headers::for_retry(&receipt.properties, attempts, error, self.clocks.own.now(), delay);
        let message = OutgoingMessage { exchange: "", routing_key: &queue, body: &delivery.body, properties };
        self.publish_surely(&session, &[message]).await?;
        self.ack(receipt).await;
        Ok(())
    }

    async fn bury(
        &self,
        delivery: &Delivery,
        receipt: &AmqpReceipt,
        (label, error): (&str, &str),
        kept: DeadBody,
    ) -> Result<(), QueueError> {
        let session = self.shared.session()?;
        let names = &self.shared.plan.names;
        let origin = names.queue(delivery.queue);
        let body = kept.of(&delivery.body);
        let death = Death {
            attempts: delivery.attempts.saturating_add(1),
            label,
            error,
            origin,
            original_bytes: (body.len() < delivery.body.len()).then_some(delivery.body.len()),
        };
        let properties = headers::for_dead(&receipt.properties, &death, self.clocks.own.now());
        let message = OutgoingMessage { exchange: &names.dead_exchange, routing_key: origin, body, properties };
        self.publish_surely(&session, &[message]).await?;
        self.ack(receipt).await;
        Ok(())
    }

    /// A failed acknowledgement is no error: the broker delivers the message again.
    async fn ack(&self, receipt: &AmqpReceipt) {
        match timeout(self.confirm_timeout, receipt.acker.ack(BasicAckOptions::default())).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => tracing::debug!("acknowledgement sent on a lost connection; expecting redelivery"),
            Ok(Err(error)) => tracing::debug!(%error, "acknowledgement lost; expecting redelivery"),
            Err(_elapsed) => tracing::debug!("acknowledgement timed out; expecting redelivery"),
        }
    }

    async fn hand_back(&self, receipt: &AmqpReceipt) {
        let options = BasicNackOptions { requeue: true, multiple: false };
        match timeout(self.confirm_timeout, receipt.acker.nack(options)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "returning messages failed because the connection closed"),
            Err(_elapsed) => tracing::debug!("returning messages timed out"),
        }
    }

    async fn end(&self, delivery: &Delivery, how: Settlement) -> Result<(), QueueError> {
        let Receipt::Amqp(receipt) = &delivery.receipt else {
            return Err(QueueError::Failed {
                action: "settling",
                detail: "the delivery is of another queue".to_owned(),
            });
        };
        if receipt.acker.poisoned() {
            return Ok(());
        }
        match how {
            Settlement::Ack => self.ack(receipt).await,
            Settlement::Requeue => self.hand_back(receipt).await,
            Settlement::Retry { error_label, error, delay } => {
                self.retry(delivery, receipt, delay, Some((error_label, &error))).await?;
            }
            Settlement::Defer { delay } => self.retry(delivery, receipt, delay, None).await?,
            Settlement::Dead { label, error, body } => self.bury(delivery, receipt, (&label, &error), body).await?,
        }
        Ok(())
    }

    async fn enqueue(&self, queue: QueueName, items: &[Vec<u8>]) -> Result<(), QueueError> {
        let session = self.shared.session()?;
        // The default exchange routes by queue name, so no binding has to match.
        let target = self.shared.plan.names.queue(queue);
        for window in items.chunks(WINDOW) {
            let now = u64::try_from(self.clocks.own.now().timestamp()).unwrap_or(0);
            let messages: Vec<OutgoingMessage<'_>> = window
                .iter()
                .map(|body| OutgoingMessage {
                    exchange: "",
                    routing_key: target,
                    body,
                    properties: json(&format!("{:032x}", rand::random::<u128>()).into()).with_timestamp(now),
                })
                .collect();
            let channel = session.careful.lock().await;
            let sent = publish(&channel, &messages, true, self.confirm_timeout).await;
            all_sent(sent, || target.to_owned())?;
        }
        Ok(())
    }

    async fn count(&self) -> Result<QueueDepth, QueueError> {
        let session = self.shared.session()?;
        let names = &self.shared.plan.names;
        let channel = session.side_channel(self.confirm_timeout).await?;
        let ready = |queue: &str| {
            let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
            let asked = channel.queue_declare(checked_name(queue), options, FieldTable::default());
            let action = "counting what waits";
            async move {
                match timeout(self.confirm_timeout, asked).await {
                    Ok(Ok(queue)) => Ok(u64::from(queue.message_count())),
                    Ok(Err(error)) => Err(QueueError::Failed { action, detail: error.to_string() }),
                    Err(_elapsed) => Err(QueueError::Failed { action, detail: "no answer from the broker".to_owned() }),
                }
            }
        };
        let consumed = QueueName::ALL.map(|queue| ready(names.queue(queue)));
        let (consumed, dead) = join(join_all(consumed), ready(&names.dead_queue)).await;
        let mut counts = consumed.into_iter().collect::<Result<Vec<u64>, QueueError>>()?.into_iter();
        let mut next = || counts.next().unwrap_or(0);
        Ok(QueueDepth { important: next(), enrichment: next(), factcheck: next(), dead: dead?, oldest: None })
    }
}

/// Waits for the first session until `patience` is over. A refusal ends the wait at once.
async fn first_session(plan: &Plan, patience: Duration, consume: bool) -> Result<Session, QueueError> {
    let deadline = Instant::now() + patience;
    let mut failures = 0;
    loop {
        match Session::open(plan, consume).await {
            Ok(session) => return Ok(session),
            Err(error) => {
                let delay = driver::reconnect_delay(failures, plan.reconnect_max, rand::random());
                if !error.is_transient() || Instant::now() + delay >= deadline {
                    return Err(error);
                }
                tracing::info!(%error, "waiting for the broker");
                sleep(delay).await;
                failures += 1;
            }
        }
    }
}

/// Returns the next delivery; `None` if consuming stopped or paused, or the session was lost.
async fn next_of(
    session: &Session,
    stopping: &CancellationToken,
    pauses: &mut watch::Receiver<bool>,
) -> Option<(QueueName, lapin::message::Delivery)> {
    // A delivery leaves the stream only in the poll that returns it, so dropping this future loses none.
    let mut deliveries = tokio::select! {
        biased;
        () = stopping.cancelled() => return None,
        guard = session.deliveries.lock() => guard,
    };
    loop {
        let consumed = tokio::select! {
            biased;
            () = stopping.cancelled() => return None,
            () = session.lost.cancelled() => return None,
            // Releases the lock on `deliveries`, so that `pause` can return the prefetched messages.
            _ = pauses.wait_for(|paused| *paused) => return None,
            consumed = deliveries.next() => consumed,
        };
        match consumed {
            // Its channel closed after the prefetch: the broker owns the message again.
            (_, Ok(Some(message))) if message.acker.poisoned() => {}
            (queue, Ok(Some(message))) => return Some((queue, message)),
            (queue, Ok(None)) => session.lose(|| format!("the broker ended the consumer of {queue}")),
            (queue, Err(error)) => session.lose(|| format!("consuming {queue} failed: {error}")),
        }
    }
}

impl Queue for AmqpQueue {
    fn receive(&self) -> BoxFuture<'_, Result<Delivery, QueueError>> {
        self.next_delivery().boxed()
    }

    fn settle<'a>(&'a self, delivery: &'a Delivery, how: Settlement) -> BoxFuture<'a, Result<(), QueueError>> {
        self.end(delivery, how).boxed()
    }

    fn publish_items<'a>(&'a self, queue: QueueName, items: &'a [Vec<u8>]) -> BoxFuture<'a, Result<(), QueueError>> {
        self.enqueue(queue, items).boxed()
    }

    fn publish_results<'a>(
        &'a self,
        messages: &'a [OutboxMessage],
    ) -> BoxFuture<'a, Result<PublishReport, QueueError>> {
        self.send_results(messages).boxed()
    }

    fn depth(&self) -> BoxFuture<'_, Result<QueueDepth, QueueError>> {
        self.count().boxed()
    }

    fn ready(&self) -> Result<(), String> {
        let session = self.shared.session().map_err(|error| error.to_string())?;
        if session.is_blocked() {
            return Err("the broker takes no messages (memory or disk alarm); free some or raise its limits".to_owned());
        }
        Ok(())
    }

    fn dead_list(&self, limit: usize) -> BoxFuture<'_, Result<Vec<DeadLetter>, QueueError>> {
        self.list_dead(limit).boxed()
    }

    fn dead_get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<OpenDeadLetter>, QueueError>> {
        self.get_dead(id).boxed()
    }

    fn dead_requeue<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        self.requeue_dead(which).boxed()
    }

    fn dead_drop<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        self.drop_dead(which).boxed()
    }

    fn pause_receiving(&self, paused: bool) -> BoxFuture<'_, ()> {
        async move {
            if paused {
                self.pause().await;
            } else {
                self.shared.paused.send_replace(false);
            }
        }
        .boxed()
    }

    fn stop_receiving(&self) {
        self.shared.stopping.cancel();
    }
}
