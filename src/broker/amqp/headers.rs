//! Translates message properties between AMQP and [`Delivery`], and builds those of retries and dead letters. Pure.
//!
//! Upstream's headers are kept except those that would reroute the message. To add a header of ours, add a constant
//! here and list it in `carried`, so that a retry does not copy an old value.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use lapin::types::{AMQPValue, FieldArray, FieldTable, ShortString};
use lapin::{Acker, BasicProperties};

use super::names::checked_name;
use crate::broker::{Delivery, QueueName, Receipt};
use crate::domain::Clock;

/// Number of failed attempts.
pub(super) const ATTEMPTS: &str = "x-attempts";
/// A word from a closed set.
pub(super) const ERROR_LABEL: &str = "x-error-label";
pub(super) const ERROR: &str = "x-error";
/// The broker's name of the queue that a dead letter came from.
pub(super) const ORIGIN_QUEUE: &str = "x-origin-queue";
/// Length of the original message in bytes, if the dead letter keeps only an excerpt.
pub(super) const ORIGINAL_BYTES: &str = "x-original-bytes";
/// Time at which the message became a dead letter, RFC 3339.
pub(super) const FAILED_AT: &str = "x-failed-at";
/// When a retry is due, milliseconds since 1970. The queue's lag counts from here.
pub(super) const DUE_AT: &str = "x-due-at";
/// The broker's own record of dead-lettering.
pub(super) const DEATHS: &str = "x-death";
/// The producer's trace (W3C Trace Context).
const TRACE_PARENT: &str = "traceparent";
/// Milliseconds, from the broker's interceptor plugin; the property has seconds.
const TIMESTAMP_IN_MS: &str = "timestamp_in_ms";

/// Longest `x-error`, characters: all headers must fit into one frame.
const MAX_ERROR_CHARS: usize = 1_000;

/// Maximum bytes of copied upstream headers. A frame (128 KiB by default) must also hold ours. The broker closes the
/// connection after a larger one.
const MAX_CARRIED_HEADER_BYTES: usize = 32 * 1024;

/// Larger timestamps are milliseconds, which many producers send: in seconds this value is the year 5138.
const SURELY_MILLIS: u64 = 100_000_000_000;

/// How far a producer's clock may be ahead. A later time would block newer texts of the item until then.
const AHEAD: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug)]
pub struct AmqpReceipt {
    pub(super) acker: Acker,
    pub(super) properties: BasicProperties,
}

#[derive(Debug, Clone)]
pub struct Clocks {
    pub own: Arc<dyn Clock>,
    /// The latest known clock, to detect send times in the future. If this machine's clock were set back, all new
    /// messages would seem to be from the future, and edits older than the texts they replace.
    pub latest: Arc<dyn Clock>,
}

impl Clocks {
    pub fn one(own: Arc<dyn Clock>) -> Self {
        Self { latest: Arc::clone(&own), own }
    }
}

pub(super) fn delivery(queue: QueueName, message: lapin::message::Delivery, clocks: &Clocks) -> Delivery {
    // Read before `dated`: the waiting time of a message without a timestamp is unknown.
    let enqueued_at = enqueued_at(&message.properties);
    let properties = dated(message.properties, clocks.own.now(), clocks.latest.now());
    let text = |value: &Option<ShortString>| {
        value.as_ref().map(|value| value.as_str().to_owned()).filter(|value| !value.is_empty())
    };
    Delivery {
        queue,
        body: message.data,
        attempts: attempts(&properties).unwrap_or(0),
        redelivered: message.redelivered,
        message_id: text(properties.message_id()),
        reply_to: text(properties.reply_to()),
        reply_refused: false,
        correlation_id: text(properties.correlation_id()),
        traceparent: text_header(&properties, TRACE_PARENT),
        enqueued_at,
        sent_at: sent_at(&properties),
        receipt: Receipt::Amqp(Box::new(AmqpReceipt { acker: message.acker, properties })),
    }
}

pub(super) fn header<'a>(properties: &'a BasicProperties, name: &str) -> Option<&'a AMQPValue> {
    properties.headers().as_ref()?.inner().get(name)
}

pub(super) fn text_header(properties: &BasicProperties, name: &str) -> Option<String> {
    text(header(properties, name)?)
}

pub(super) fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => String::from_utf8(text.as_bytes().to_vec()).ok(),
        AMQPValue::ShortString(text) => Some(text.as_str().to_owned()),
        _ => None,
    }
}

/// Returns the integer of any width, because client libraries choose different widths.
fn integer(value: &AMQPValue) -> Option<i64> {
    match value {
        AMQPValue::ShortShortInt(number) => Some(i64::from(*number)),
        AMQPValue::ShortShortUInt(number) => Some(i64::from(*number)),
        AMQPValue::ShortInt(number) => Some(i64::from(*number)),
        AMQPValue::ShortUInt(number) => Some(i64::from(*number)),
        AMQPValue::LongInt(number) => Some(i64::from(*number)),
        AMQPValue::LongUInt(number) => Some(i64::from(*number)),
        AMQPValue::LongLongInt(number) => Some(*number),
        AMQPValue::Timestamp(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

pub(super) fn attempts(properties: &BasicProperties) -> Option<u32> {
    u32::try_from(integer(header(properties, ATTEMPTS)?)?).ok()
}

/// Returns when the message became a dead letter: from our header, else from the broker's record.
pub(super) fn failed_at(properties: &BasicProperties) -> Option<DateTime<Utc>> {
    if let Some(text) = text_header(properties, FAILED_AT) {
        return DateTime::parse_from_rfc3339(&text).ok().map(|time| time.with_timezone(&Utc));
    }
    deaths(properties).find_map(|death| DateTime::from_timestamp(integer(death.inner().get("time")?)?, 0))
}

/// Returns the broker's records of dead-lettering, latest first.
pub(super) fn deaths(properties: &BasicProperties) -> impl Iterator<Item = &FieldTable> {
    header(properties, DEATHS)
        .and_then(AMQPValue::as_array)
        .map(FieldArray::as_slice)
        .unwrap_or_default()
        .iter()
        .filter_map(AMQPValue::as_field_table)
}

fn enqueued_at(properties: &BasicProperties) -> Option<DateTime<Utc>> {
    let millis = [DUE_AT, TIMESTAMP_IN_MS].iter().find_map(|name| integer(header(properties, name)?));
    if let Some(millis) = millis {
        return DateTime::from_timestamp_millis(millis);
    }
    sent_at(properties)
}

/// Returns upstream's send time. A retry keeps it.
fn sent_at(properties: &BasicProperties) -> Option<DateTime<Utc>> {
    let timestamp = (*properties.timestamp()).filter(|timestamp| *timestamp > 0)?;
    let number = i64::try_from(timestamp).ok()?;
    if timestamp >= SURELY_MILLIS {
        DateTime::from_timestamp_millis(number)
    } else {
        DateTime::from_timestamp(number, 0)
    }
}

/// Sets the timestamp to `now` (seconds) if it is unusable. A retry then keeps the time of first receipt.
fn dated(properties: BasicProperties, now: DateTime<Utc>, latest: DateTime<Utc>) -> BasicProperties {
    if sent_at(&properties).is_some_and(|sent| sent <= latest + AHEAD) {
        return properties;
    }
    match u64::try_from(now.timestamp()) {
        Ok(seconds) => properties.with_timestamp(seconds),
        Err(_before_1970) => properties,
    }
}

type PropertySetter = fn(BasicProperties, ShortString) -> BasicProperties;

/// Returns the properties that are copied when a message is published again. Dropped, because they change its route:
///
/// - the per-message time to live
/// - `CC` and `BCC` (copies to other queues)
/// - `user-id` (the broker compares it with our user and closes the channel)
/// - the broker's records of earlier dead-lettering
fn carried(properties: &BasicProperties) -> BasicProperties {
    let mut kept = FieldTable::default();
    let mut bytes = 0;
    if let Some(headers) = properties.headers() {
        for (name, value) in headers.inner() {
            let word = name.as_str();
            let rerouting = word == "CC" || word == "BCC";
            let brokers = word == DEATHS
                || word == "x-delivery-count"
                // Since RabbitMQ 4.3: deliveries, also those that a stopping consumer gave back.
                || word == "x-acquired-count"
                || word.starts_with("x-first-death-")
                || word.starts_with("x-last-death-");
            let ours = [ATTEMPTS, ERROR_LABEL, ERROR, ORIGIN_QUEUE, FAILED_AT, DUE_AT, ORIGINAL_BYTES].contains(&word);
            if rerouting || brokers || ours {
                continue;
            }
            bytes += word.len() + size(value);
            if bytes <= MAX_CARRIED_HEADER_BYTES {
                kept.insert(name.clone(), value.clone());
            }
        }
    }
    let texts: [(&Option<ShortString>, PropertySetter); 7] = [
        (properties.content_type(), BasicProperties::with_content_type),
        (properties.content_encoding(), BasicProperties::with_content_encoding),
        (properties.correlation_id(), BasicProperties::with_correlation_id),
        (properties.reply_to(), BasicProperties::with_reply_to),
        (properties.message_id(), BasicProperties::with_message_id),
        (properties.kind(), BasicProperties::with_type),
        (properties.app_id(), BasicProperties::with_app_id),
    ];
    let mut carried = texts
        .into_iter()
        .filter_map(|(value, set)| Some((value.clone()?, set)))
        // 2: persistent.
        .fold(BasicProperties::default().with_delivery_mode(2).with_headers(kept), |carried, (value, set)| {
            set(carried, value)
        });
    if let Some(timestamp) = properties.timestamp() {
        carried = carried.with_timestamp(*timestamp);
    }
    carried
}

fn size(value: &AMQPValue) -> usize {
    match value {
        AMQPValue::LongString(text) => 5 + text.len(),
        AMQPValue::ShortString(text) => 2 + text.as_str().len(),
        AMQPValue::ByteArray(bytes) => 5 + bytes.len(),
        AMQPValue::FieldArray(values) => 5 + values.as_slice().iter().map(size).sum::<usize>(),
        AMQPValue::FieldTable(table) => {
            5 + table.inner().iter().map(|(name, value)| 1 + name.as_str().len() + size(value)).sum::<usize>()
        }
        _ => 9,
    }
}

fn with_headers(
    properties: BasicProperties,
    more: impl IntoIterator<Item = (&'static str, AMQPValue)>,
) -> BasicProperties {
    let mut headers = properties.headers().clone().unwrap_or_default();
    for (name, value) in more {
        headers.insert(checked_name(name), value);
    }
    properties.with_headers(headers)
}

fn long(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.chars().take(MAX_ERROR_CHARS).collect::<String>().into())
}

/// Returns the properties of a message that is retried after `delay`. `error` is `None` for a deferral.
pub(super) fn for_retry(
    properties: &BasicProperties,
    attempts: u32,
    error: Option<(&str, &str)>,
    now: DateTime<Utc>,
    delay: Duration,
) -> BasicProperties {
    let due = now.timestamp_millis().saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
    let mut more = vec![(ATTEMPTS, AMQPValue::LongLongInt(attempts.into())), (DUE_AT, AMQPValue::LongLongInt(due))];
    if let Some((label, detail)) = error {
        more.push((ERROR_LABEL, long(label)));
        more.push((ERROR, long(detail)));
    }
    with_headers(carried(properties), more)
}

#[derive(Debug)]
pub(super) struct Death<'a> {
    pub(super) attempts: u32,
    pub(super) label: &'a str,
    pub(super) error: &'a str,
    pub(super) origin: &'a str,
    pub(super) original_bytes: Option<usize>,
}

/// Returns the properties of a dead letter, as the contract names them.
pub(super) fn for_dead(properties: &BasicProperties, death: &Death<'_>, now: DateTime<Utc>) -> BasicProperties {
    let mut more = vec![
        (ATTEMPTS, AMQPValue::LongLongInt(death.attempts.into())),
        (ERROR_LABEL, long(death.label)),
        (ERROR, long(death.error)),
        (ORIGIN_QUEUE, long(death.origin)),
        (FAILED_AT, long(&now.to_rfc3339_opts(SecondsFormat::Millis, true))),
    ];
    if let Some(bytes) = death.original_bytes {
        more.push((ORIGINAL_BYTES, AMQPValue::LongLongInt(i64::try_from(bytes).unwrap_or(i64::MAX))));
    }
    with_headers(carried(properties), more)
}

pub(super) fn original_bytes(properties: &BasicProperties) -> Option<usize> {
    usize::try_from(integer(header(properties, ORIGINAL_BYTES)?)?).ok()
}

/// Returns the properties of a requeued dead letter: without attempts, due now.
pub(super) fn for_requeue(properties: &BasicProperties, now: DateTime<Utc>) -> BasicProperties {
    with_headers(carried(properties), [(DUE_AT, AMQPValue::LongLongInt(now.timestamp_millis()))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream() -> BasicProperties {
        let mut headers = FieldTable::default();
        headers.insert(TRACE_PARENT.into(), long("00-abc"));
        headers.insert("CC".into(), AMQPValue::FieldArray(vec![long("other.key")].into()));
        headers.insert(DEATHS.into(), AMQPValue::FieldArray(Vec::new().into()));
        headers.insert("x-first-death-queue".into(), long("somewhere"));
        headers.insert("x-acquired-count".into(), AMQPValue::LongUInt(7));
        headers.insert(ATTEMPTS.into(), AMQPValue::LongUInt(2));
        BasicProperties::default()
            .with_headers(headers)
            .with_message_id("m1".into())
            .with_reply_to("answers".into())
            .with_correlation_id("c1".into())
            .with_user_id("guest".into())
            .with_expiration("1000".into())
            .with_timestamp(1_795_000_000)
    }

    fn names(properties: &BasicProperties) -> Vec<String> {
        properties.headers().as_ref().unwrap().inner().keys().map(|name| name.as_str().to_owned()).collect()
    }

    #[test]
    fn a_retry_keeps_what_identifies_the_message_and_drops_what_would_reroute_it() {
        let now = DateTime::from_timestamp(1_795_000_100, 0).unwrap();
        let retry = for_retry(&upstream(), 3, Some(("store_away", "no route to host")), now, Duration::from_secs(30));
        assert_eq!(names(&retry), [TRACE_PARENT, ATTEMPTS, DUE_AT, ERROR, ERROR_LABEL]);
        assert_eq!(attempts(&retry), Some(3));
        assert_eq!(enqueued_at(&retry), DateTime::from_timestamp(1_795_000_130, 0));
        assert_eq!(retry.message_id().as_ref().unwrap().as_str(), "m1");
        assert_eq!(retry.reply_to().as_ref().unwrap().as_str(), "answers");
        assert_eq!(retry.correlation_id().as_ref().unwrap().as_str(), "c1");
        assert_eq!(*retry.timestamp(), Some(1_795_000_000));
        assert_eq!(*retry.delivery_mode(), Some(2));
        assert_eq!(*retry.user_id(), None);
        assert_eq!(*retry.expiration(), None);
    }

    #[test]
    fn dead_letter_has_headers_for_error_origin_and_time() {
        let now = DateTime::from_timestamp_millis(1_795_000_100_250).unwrap();
        let error = "é".repeat(3_000);
        let death = Death { attempts: 1, label: "not_json", error: &error, origin: "factcheck", original_bytes: None };
        let dead = for_dead(&upstream(), &death, now);
        assert_eq!(names(&dead), [TRACE_PARENT, ATTEMPTS, ERROR, ERROR_LABEL, FAILED_AT, ORIGIN_QUEUE]);
        assert_eq!(text_header(&dead, ERROR_LABEL).unwrap(), "not_json");
        assert_eq!(text_header(&dead, ERROR).unwrap().chars().count(), MAX_ERROR_CHARS);
        assert_eq!(text_header(&dead, ORIGIN_QUEUE).unwrap(), "factcheck");
        assert_eq!(failed_at(&dead), Some(now));
        let back = for_requeue(&dead, now);
        assert_eq!(names(&back), [TRACE_PARENT, DUE_AT]);
    }

    #[test]
    fn headers_that_would_not_fit_a_frame_are_left_behind() {
        let mut headers = FieldTable::default();
        headers.insert("huge".into(), AMQPValue::LongString(vec![b'a'; 120_000].into()));
        headers.insert("abc".into(), long("small"));
        let retry = for_retry(
            &BasicProperties::default().with_headers(headers),
            1,
            None,
            DateTime::UNIX_EPOCH,
            Duration::from_secs(5),
        );
        assert_eq!(names(&retry), ["abc", ATTEMPTS, DUE_AT]);
    }

    #[test]
    fn attempts_are_read_whatever_their_width() {
        let with = |value| {
            let mut headers = FieldTable::default();
            headers.insert(ATTEMPTS.into(), value);
            attempts(&BasicProperties::default().with_headers(headers))
        };
        assert_eq!(with(AMQPValue::ShortShortInt(4)), Some(4));
        assert_eq!(with(AMQPValue::LongUInt(4)), Some(4));
        assert_eq!(with(AMQPValue::LongLongInt(4)), Some(4));
        assert_eq!(with(AMQPValue::LongLongInt(-1)), None);
        assert_eq!(with(long("many")), None);
        assert_eq!(attempts(&BasicProperties::default()), None);
    }

    #[test]
    fn a_timestamp_is_understood_in_seconds_and_in_milliseconds() {
        let at = |timestamp| enqueued_at(&BasicProperties::default().with_timestamp(timestamp));
        assert_eq!(at(1_795_000_000), DateTime::from_timestamp(1_795_000_000, 0));
        assert_eq!(at(1_795_000_000_500), DateTime::from_timestamp_millis(1_795_000_000_500));
        assert_eq!(at(0), None);
        assert_eq!(at(u64::MAX), None);
        assert_eq!(enqueued_at(&BasicProperties::default()), None);
    }

    #[test]
    fn a_message_that_is_put_off_keeps_the_time_it_was_sent_or_first_seen() {
        let first = DateTime::from_timestamp(1_795_000_100, 0).unwrap();
        let later = first + TimeDelta::minutes(10);
        for (timestamp, kept) in [
            (Some(1_795_000_000), DateTime::from_timestamp(1_795_000_000, 0)),
            (None, Some(first)),
            (Some(0), Some(first)),
            (Some(1_895_000_000), Some(first)),
        ] {
            let received = timestamp.into_iter().fold(BasicProperties::default(), BasicProperties::with_timestamp);
            let received = dated(received, first, first);
            assert_eq!(sent_at(&received), kept);
            let retry = for_retry(&received, 1, None, first, Duration::from_secs(30));
            assert_eq!(sent_at(&dated(retry, later, later)), kept);
        }
    }

    #[test]
    fn the_brokers_own_record_dates_a_letter_it_gave_up() {
        let mut record = FieldTable::default();
        record.insert("queue".into(), long("factcheck"));
        record.insert("time".into(), AMQPValue::Timestamp(1_795_000_000));
        let mut headers = FieldTable::default();
        headers.insert(DEATHS.into(), AMQPValue::FieldArray(vec![AMQPValue::FieldTable(record)].into()));
        let properties = BasicProperties::default().with_headers(headers);
        assert_eq!(failed_at(&properties), DateTime::from_timestamp(1_795_000_000, 0));
        assert_eq!(deaths(&properties).count(), 1);
    }
}
