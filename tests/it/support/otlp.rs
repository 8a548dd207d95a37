//! A collector that takes OTLP over HTTP and reads what it is given, by the protocol's own numbers and with code of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;

/// A field of a protobuf message.
#[derive(Debug, Clone)]
enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let (first, rest) = bytes.split_first().expect("a number ends within its message");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * place);
        if first & 0x80 == 0 {
            return value;
        }
    }
    unreachable!("a message ends")
}

/// The fields of a message, in order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                found.push((tag >> 3, Field::Varint(varint(&mut bytes))));
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).unwrap(),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        bytes = rest;
        let field = match tag & 7 {
            1 => Field::Fixed64(u64::from_le_bytes(value.try_into().unwrap())),
            5 => Field::Fixed32(u32::from_le_bytes(value.try_into().unwrap())),
            _ => Field::Bytes(value),
        };
        found.push((tag >> 3, field));
    }
    found
}

/// The messages, texts or ids in a field.
fn all<'a>(message: &'a [u8], number: u64) -> Vec<&'a [u8]> {
    let bytes = |(field, value): (u64, Field<'a>)| match value {
        Field::Bytes(bytes) if field == number => Some(bytes),
        _ => None,
    };
    fields(message).into_iter().filter_map(bytes).collect()
}

fn one(message: &[u8], number: u64) -> &[u8] {
    all(message, number).first().copied().unwrap_or_default()
}

fn text(message: &[u8], number: u64) -> String {
    String::from_utf8(one(message, number).to_vec()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn number(message: &[u8], number: u64) -> u64 {
    let found = fields(message).into_iter().find(|(field, _)| *field == number);
    match found {
        Some((_, Field::Varint(value) | Field::Fixed64(value))) => value,
        Some((_, Field::Fixed32(value))) => value.into(),
        _ => 0,
    }
}

/// `KeyValue`s, each value as people would write it.
fn attributes(message: &[u8], field: u64) -> BTreeMap<String, String> {
    let value = |any: &[u8]| match fields(any).first() {
        Some((1, Field::Bytes(text))) => String::from_utf8(text.to_vec()).unwrap(),
        Some((2, Field::Varint(flag))) => (*flag == 1).to_string(),
        Some((3, Field::Varint(number))) => number.cast_signed().to_string(),
        Some((4, Field::Fixed64(bits))) => f64::from_bits(*bits).to_string(),
        other => panic!("a value of no kind: {other:?}"),
    };
    all(message, field).into_iter().map(|pair| (text(pair, 1), value(one(pair, 2)))).collect()
}

/// A span as it came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedSpan {
    /// Hex digits, as in a `traceparent`.
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    /// Empty for the first of a trace.
    pub(crate) parent_id: String,
    pub(crate) name: String,
    pub(crate) kind: u64,
    pub(crate) nanos: (u64, u64),
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) failed: bool,
    pub(crate) flags: u64,
    /// Of the process that sent it.
    pub(crate) resource: BTreeMap<String, String>,
}

fn spans(request: &[u8]) -> Vec<ReceivedSpan> {
    let mut found = Vec::new();
    for of_resource in all(request, 1) {
        let resource = attributes(one(of_resource, 1), 1);
        for of_scope in all(of_resource, 2) {
            assert_eq!(text(one(of_scope, 1), 1), "corroborate");
            found.extend(all(of_scope, 2).into_iter().map(|span| ReceivedSpan {
                trace_id: hex(one(span, 1)),
                span_id: hex(one(span, 2)),
                parent_id: hex(one(span, 4)),
                name: text(span, 5),
                kind: number(span, 6),
                nanos: (number(span, 7), number(span, 8)),
                attributes: attributes(span, 9),
                failed: number(one(span, 15), 3) == 2,
                flags: number(span, 16),
                resource: resource.clone(),
            }));
        }
    }
    found
}

/// The collector; it ends with the test's runtime.
#[derive(Debug)]
pub(crate) struct Collector {
    spans: Mutex<Vec<ReceivedSpan>>,
    /// All bodies one after the other, to look for what must not be in them.
    bytes: Mutex<Vec<u8>>,
    headers: Mutex<HeaderMap>,
    status: Mutex<StatusCode>,
}

impl Collector {
    #[expect(clippy::disallowed_methods, reason = "a server of this test, which ends with its runtime")]
    pub(crate) async fn start() -> (Arc<Self>, SocketAddr) {
        let collector = Arc::new(Self {
            spans: Mutex::default(),
            bytes: Mutex::default(),
            headers: Mutex::default(),
            status: Mutex::new(StatusCode::OK),
        });
        let router = axum::Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&collector));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn(async move { axum::serve(listener, router).await });
        (collector, address)
    }

    pub(crate) fn answers(&self, status: u16) {
        *self.status.lock().unwrap() = StatusCode::from_u16(status).unwrap();
    }

    /// What was taken so far.
    pub(crate) fn spans(&self) -> Vec<ReceivedSpan> {
        self.spans.lock().unwrap().clone()
    }

    /// Whether these words stood anywhere in what came.
    pub(crate) fn has_seen(&self, words: &str) -> bool {
        self.bytes.lock().unwrap().windows(words.len()).any(|window| window == words.as_bytes())
    }

    /// A header of the last request.
    pub(crate) fn header(&self, name: &str) -> String {
        let headers = self.headers.lock().unwrap();
        headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }
}

async fn take(State(collector): State<Arc<Collector>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let status = *collector.status.lock().unwrap();
    let protobuf = headers.get("content-type").is_some_and(|kind| kind == "application/x-protobuf");
    *collector.headers.lock().unwrap() = headers;
    if !protobuf {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE;
    }
    collector.bytes.lock().unwrap().extend_from_slice(&body);
    if status.is_success() {
        collector.spans.lock().unwrap().extend(spans(&body));
    }
    status
}
