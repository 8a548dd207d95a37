//! Reads sent items: one object, an array, or NDJSON. All are checked before any is queued.
//!
//! Items of an array are cut out as text and parsed one by one, because a tree of values would take much memory.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::domain::{Item, RejectReason};
use crate::http::extract::BodyKind;

/// Maximum number of listed rejections; all are counted.
const MAX_REJECTIONS: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rejection {
    position: ItemPosition,
    reject: RejectReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemPosition {
    /// In an array, from 0.
    Index(usize),
    /// From 1.
    Line(usize),
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Intake {
    pub(crate) messages: Vec<Vec<u8>>,
    /// The first [`MAX_REJECTIONS`].
    rejected: Vec<Rejection>,
    rejected_count: usize,
}

impl Intake {
    pub(crate) fn read(kind: BodyKind, bytes: &[u8]) -> Self {
        if kind == BodyKind::JsonLines {
            return Self::of_lines(bytes);
        }
        let first = bytes.trim_ascii_start().first();
        if first == Some(&b'[') {
            return Self::of_array(bytes).unwrap_or_else(|error| {
                let mut intake = Self::default();
                intake.reject(ItemPosition::Index(0), RejectReason::NotJson { detail: error.to_string() });
                intake
            });
        }
        // NDJSON that was sent as a single document.
        if first == Some(&b'{') && starts_with_a_whole_line(bytes) {
            return Self::of_lines(bytes);
        }
        // The item's own checks word the error.
        let mut intake = Self::default();
        intake.take(ItemPosition::Index(0), bytes);
        intake
    }

    fn of_lines(bytes: &[u8]) -> Self {
        let mut intake = Self::default();
        for (position, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if !line.is_empty() {
                intake.take(ItemPosition::Line(position + 1), line);
            }
        }
        intake
    }

    /// Reads an array; an error if the whole body is not an array, and then no item counts.
    fn of_array(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let intake = ArrayOfItems.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(intake)
    }

    fn take(&mut self, position: ItemPosition, message: &[u8]) {
        match Item::parse(message) {
            Ok(_item) => self.messages.push(message.to_vec()),
            Err(reject) => self.reject(position, reject),
        }
    }

    fn reject(&mut self, position: ItemPosition, reject: RejectReason) {
        self.rejected_count += 1;
        if self.rejected.len() < MAX_REJECTIONS {
            self.rejected.push(Rejection { position, reject });
        }
    }

    /// `[{"index"|"line", "error", "label"}]`, the first hundred.
    pub(crate) fn rejections(&self) -> Vec<Value> {
        let shown = self.rejected.iter().map(|Rejection { position, reject }| {
            let (key, number) = match position {
                ItemPosition::Index(index) => ("index", index),
                ItemPosition::Line(line) => ("line", line),
            };
            json!({key: number, "error": reject.to_string(), "label": reject.label()})
        });
        shown.collect()
    }

    pub(crate) const fn rejected(&self) -> usize {
        self.rejected_count
    }
}

struct ArrayOfItems;

impl<'de> DeserializeSeed<'de> for ArrayOfItems {
    type Value = Intake;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Intake, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ArrayOfItems {
    type Value = Intake;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Intake, A::Error> {
        let mut intake = Intake::default();
        let mut position = 0;
        while let Some(item) = items.next_element::<&RawValue>()? {
            intake.take(ItemPosition::Index(position), item.get().as_bytes());
            position += 1;
        }
        Ok(intake)
    }
}

/// Whether the first line is a whole object and more follows.
fn starts_with_a_whole_line(bytes: &[u8]) -> bool {
    let body = bytes.trim_ascii();
    let Some(end) = body.iter().position(|byte| *byte == b'\n') else { return false };
    body.get(..end).is_some_and(|line| line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"{"schema":1,"item_id":"a","text":"Water boils.","later":[1.50]}"#;

    fn read(kind: BodyKind, body: &str) -> (usize, Vec<Value>) {
        let intake = Intake::read(kind, body.as_bytes());
        (intake.messages.len(), intake.rejections())
    }

    #[test]
    fn one_object_is_queued_as_it_was_sent() {
        let body = format!(" {GOOD} ");
        let intake = Intake::read(BodyKind::Json, body.as_bytes());
        assert_eq!(intake.messages, [body.into_bytes()]);
        assert_eq!(intake.rejected(), 0);
    }

    #[test]
    fn an_array_names_the_bad_ones_by_index_and_keeps_unknown_fields() {
        let body = format!("[{GOOD}, 7, {{\"schema\":2,\"item_id\":\"b\",\"text\":\"x\"}}, {GOOD}]");
        let intake = Intake::read(BodyKind::Json, body.as_bytes());
        assert_eq!(intake.messages.len(), 2);
        let kept: Value = serde_json::from_slice(&intake.messages[0]).unwrap();
        assert_eq!(kept["later"], json!([1.5]));
        let rejections = intake.rejections();
        assert_eq!((&rejections[0]["index"], &rejections[0]["label"]), (&json!(1), &json!("wrong_schema")));
        assert_eq!((&rejections[1]["index"], &rejections[1]["label"]), (&json!(2), &json!("unknown_schema")));
    }

    #[test]
    fn lines_are_counted_from_one_blank_ones_included() {
        let body = format!("{GOOD}\r\n\n{{bad\n{GOOD}");
        let (taken, rejections) = read(BodyKind::JsonLines, &body);
        assert_eq!(taken, 2);
        assert_eq!(rejections.len(), 1);
        assert_eq!((&rejections[0]["line"], &rejections[0]["label"]), (&json!(3), &json!("not_json")));
        assert!(rejections[0]["error"].as_str().unwrap().starts_with("the message is not JSON"));
        assert_eq!(read(BodyKind::Json, &body), (taken, rejections), "lines under the plain type are lines");
    }

    #[test]
    fn array_that_is_cut_off_is_no_array() {
        for body in [format!("[{GOOD},{GOOD}"), format!("[{GOOD},]"), format!("[{GOOD}] x"), format!("[{GOOD}]]")] {
            let (taken, rejections) = read(BodyKind::Json, &body);
            assert_eq!((taken, rejections.len(), &rejections[0]["label"]), (0, 1, &json!("not_json")), "{body}");
        }
        assert_eq!(read(BodyKind::Json, &format!(" [ {GOOD} , {GOOD} ]\n")), (2, Vec::new()));
    }

    #[test]
    fn object_over_several_lines_is_one_message() {
        let body = GOOD.replace(',', ",\n");
        assert_eq!(read(BodyKind::Json, &format!("{body}\n")), (1, Vec::new()));
    }

    #[test]
    fn a_line_that_is_not_utf8_is_rejected_alone() {
        let mut body = GOOD.as_bytes().to_vec();
        body.extend_from_slice(b"\n{\"\xff\":1}\n");
        let intake = Intake::read(BodyKind::JsonLines, &body);
        assert_eq!((intake.messages.len(), intake.rejected()), (1, 1));
        assert_eq!(intake.rejections()[0]["label"], "not_utf8");
    }

    #[test]
    fn a_body_that_is_nothing_is_rejected_with_words() {
        assert_eq!(read(BodyKind::Json, "").1[0]["label"], "empty");
        assert_eq!(read(BodyKind::Json, "{").1[0]["label"], "not_json");
        assert_eq!(read(BodyKind::Json, "7").1[0]["label"], "wrong_schema");
        assert_eq!(read(BodyKind::Json, "[]"), (0, Vec::new()));
        assert_eq!(read(BodyKind::JsonLines, "\n\n"), (0, Vec::new()));
        let large = format!("{{\"schema\":1,\"item_id\":\"a\",\"text\":\"{}\"}}", "x".repeat(1 << 20));
        assert_eq!(read(BodyKind::Json, &large).1[0]["label"], "too_large");
    }

    #[test]
    fn intake_counts_all_and_lists_some_rejections_when_they_are_many() {
        let intake = Intake::read(BodyKind::JsonLines, "x\n".repeat(5000).as_bytes());
        assert_eq!((intake.rejections().len(), intake.rejected()), (MAX_REJECTIONS, 5000));
    }

    proptest! {
        #[test]
        fn no_body_breaks_it_and_no_line_is_lost(body in proptest::collection::vec(any::<u8>(), 0..400)) {
            let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
            let intake = Intake::read(BodyKind::JsonLines, &body);
            prop_assert_eq!(intake.messages.len() + intake.rejected(), lines);
            let _ = Intake::read(BodyKind::Json, &body);
        }
    }
}
