//! OTLP's `ExportTraceServiceRequest` as protobuf.
//!
//! Written by hand, because these eight small messages have stable numbers and a generated encoder would need more
//! code. Source: opentelemetry-proto 1.x, `trace/v1/trace.proto`, `common/v1/common.proto`,
//! `resource/v1/resource.proto`.

use super::span::{FinishedSpan, Value};

/// Bits of `Span.flags`: whether the parent is remote is known, and it is remote.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;
/// The trace flag "recorded", which all sent spans have.
const SAMPLED: u32 = 1;
const STATUS_ERROR: u64 = 2;

/// The sender: attributes of all spans.
#[derive(Debug, Clone)]
pub struct Resource {
    pub service: String,
    /// `service.instance.id`: distinguishes processes of one service.
    pub instance: String,
}

#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        // Seven bits per byte, lowest first; the eighth bit marks that more follow.
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u64) {
        self.varint(u64::from(field) << 3 | wire);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.varint(value);
    }

    fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn fixed32(&mut self, field: u32, value: u32) {
        self.tag(field, 5);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn attribute(&mut self, field: u32, name: &str, value: &Value) {
        self.message(field, |pair| {
            pair.bytes(1, name.as_bytes());
            pair.message(2, |any| match value {
                Value::Text(text) => any.bytes(1, text.as_bytes()),
                Value::Flag(flag) => any.number(2, u64::from(*flag)),
                Value::Integer(number) => any.number(3, number.cast_unsigned()),
                Value::Number(number) => any.fixed64(4, number.to_bits()),
            });
        });
    }

    fn span(&mut self, span: &FinishedSpan) {
        self.bytes(1, &span.context.trace_id);
        self.bytes(2, &span.context.span_id);
        if let Some(parent) = &span.parent {
            self.bytes(4, &parent.span_id);
        }
        self.bytes(5, span.name.as_bytes());
        self.number(6, span.kind as u64);
        self.fixed64(7, span.start);
        self.fixed64(8, span.end);
        for (name, value) in &span.attributes {
            self.attribute(9, name, value);
        }
        if span.failed {
            self.message(15, |status| status.number(3, STATUS_ERROR));
        }
        let is_remote = span.parent.is_some_and(|parent| parent.is_remote);
        self.fixed32(16, SAMPLED | HAS_IS_REMOTE | if is_remote { IS_REMOTE } else { 0 });
    }
}

pub fn export_request(resource: &Resource, spans: &[FinishedSpan]) -> Vec<u8> {
    let mut request = Message::default();
    request.message(1, |of_resource| {
        of_resource.message(1, |about| {
            about.attribute(1, "service.name", &Value::text(&resource.service));
            about.attribute(1, "service.version", &Value::text(env!("CARGO_PKG_VERSION")));
            about.attribute(1, "service.instance.id", &Value::text(&resource.instance));
        });
        of_resource.message(2, |of_scope| {
            of_scope.message(1, |scope| {
                scope.bytes(1, b"corroborate");
                scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
            });
            for span in spans {
                of_scope.message(2, |message| message.span(span));
            }
        });
    });
    request.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_encoding_has_them() {
        let written = |write: fn(&mut Message)| {
            let mut message = Message::default();
            write(&mut message);
            message.0
        };
        // The example of the encoding's specification: 150 in field 1.
        assert_eq!(written(|message| message.number(1, 150)), [0x08, 0x96, 0x01]);
        assert_eq!(written(|message| message.bytes(2, b"testing")), *b"\x12\x07testing");
        assert_eq!(written(|message| message.fixed32(16, 0x101)), [0x85, 0x01, 0x01, 0x01, 0, 0]);
        let negative = written(|message| message.number(3, (-1_i64).cast_unsigned()));
        assert_eq!(negative.len(), 11, "a negative number takes ten bytes");
    }

    #[test]
    fn a_request_holds_its_spans_and_who_sent_them() {
        let resource = Resource { service: "corroborate".to_owned(), instance: "one".to_owned() };
        let bare = export_request(&resource, &[]).len();
        let mut span = FinishedSpan::bare("stage.read");
        span.attributes.push(("stage.name", Value::text("read")));
        span.failed = true;
        let body = export_request(&resource, &[span]);
        assert!(body.len() > bare);
        let has = |words: &str| body.windows(words.len()).any(|window| window == words.as_bytes());
        assert!(has("service.name") && has("stage.read") && has("stage.name") && has("service.instance.id"));
    }
}
