//! A span that has ended.

/// Longest attribute text, in characters. Item ids are short, and other texts are single words.
const LONGEST: usize = 200;

/// The span kind, with the numbers of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    #[default]
    Internal = 1,
    Client = 3,
    Consumer = 5,
}

impl Kind {
    pub(super) fn parse(word: &str) -> Self {
        match word {
            "client" => Self::Client,
            _ => Self::Internal,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Flag(bool),
    Integer(i64),
    Number(f64),
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.chars().take(LONGEST).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanContext {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) span_id: [u8; 8],
    /// The parent is in the producer's process.
    pub(super) is_remote: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FinishedSpan {
    pub(super) context: SpanContext,
    pub(super) parent: Option<Parent>,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Nanoseconds since 1970, UTC.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Vec<(&'static str, Value)>,
    pub(super) failed: bool,
}

#[cfg(test)]
impl FinishedSpan {
    pub(super) fn bare(name: &str) -> Self {
        Self {
            context: SpanContext { trace_id: [1; 16], span_id: [2; 8] },
            parent: None,
            name: name.to_owned(),
            kind: Kind::Internal,
            start: 1_000,
            end: 2_000,
            attributes: Vec::new(),
            failed: false,
        }
    }
}
