//! The item that upstream sends, and the checks of its message: size, encoding, JSON, schema and limits.

use std::fmt;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{ids, limits};

/// Largest accepted message, bytes. The contract with upstream fixes 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// A news item to check. Unknown fields are ignored.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[schemars(title = "corroborate item", extend("additionalProperties" = true))]
pub struct Item {
    /// Version of this shape; 1.
    #[schemars(range(min = 1, max = 1))]
    pub schema: u32,
    /// Upstream's identifier, e.g. `tg:channel1:48211`.
    #[schemars(length(min = 1, max = 512))]
    pub item_id: String,
    /// The text. Required unless `sources` is given.
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub summary: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,
    /// The publishing channel, e.g. `@channel1`.
    #[serde(default)]
    #[schemars(length(max = 512))]
    pub channel: Option<String>,
    #[serde(default)]
    pub published_at: Option<DateTime<Utc>>,
    /// ISO 639-1 code; detected if absent, or if the text is clearly in another language.
    #[serde(default)]
    #[schemars(length(max = 35))]
    pub language: Option<String>,
    /// Importance that upstream assigned, 0–1.
    #[serde(default)]
    pub importance: Option<f64>,
    #[serde(default)]
    #[schemars(length(max = 512))]
    pub cluster_id: Option<String>,
    /// Items of other channels about the same story.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(length(max = 1000))]
    pub cluster_members: Vec<ClusterMember>,
    /// Names that upstream already found.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(length(max = 256))]
    pub entities: Vec<EntityHint>,
    /// Texts of other kinds. Claims are taken from each.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(length(max = 64))]
    pub sources: Vec<ItemSource>,
    /// The kinds of source to query; empty means all.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(length(max = 64))]
    pub source_types: Vec<SourceKind>,
    #[serde(default)]
    pub category: Option<Category>,
    #[serde(default)]
    pub source_document: Option<String>,
    #[serde(default)]
    pub line_number: Option<u32>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub options: ItemOptions,
}

/// Senders write `null` for absent lists and objects.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Another channel's item about the same event.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct ClusterMember {
    #[schemars(length(max = 512))]
    pub channel: String,
    #[serde(default)]
    #[schemars(length(max = 512))]
    pub item_id: Option<String>,
}

/// A name that upstream found, with its type (PERSON, ORG, LOC, …).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct EntityHint {
    #[schemars(length(max = 512))]
    pub text: String,
    #[serde(default, rename = "type")]
    #[schemars(length(max = 64))]
    pub kind: Option<String>,
}

/// One text of an item.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct ItemSource {
    #[serde(rename = "type")]
    pub kind: ItemSourceKind,
    pub text: String,
    #[serde(default)]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,
}

/// A text of an item with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedText<'a> {
    /// The index in a claim's `source`.
    pub position: usize,
    pub kind: ItemSourceKind,
    /// For the item's own text, the URL of the item.
    pub url: Option<&'a str>,
    pub text: &'a str,
}

/// The origin of a text.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ItemSourceKind {
    OriginalText,
    LinkContext,
    Image,
    VideoTranscript,
}

/// A kind of source that can be queried.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    Factcheck,
    Web,
    Feeds,
    Knowledge,
    Corpus,
    Api,
    Database,
}

/// The subject area of the item.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    External,
    Internal,
    Codebase,
}

/// Options of one item, within the limits of the operator.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct ItemOptions {
    /// Seconds this item may take, capped by `ENRICHMENT_MAX_SECONDS`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_seconds: Option<u32>,
    /// Pages to read, capped by `ENRICHMENT_MAX_SOURCES`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_sources: Option<u32>,
    /// Lowest confidence of a decisive verdict, 0–1; 0.85 if absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence_threshold: Option<f64>,
    /// Whether to propose corrections; true if absent.
    #[serde(default)]
    pub auto_correct: Option<bool>,
    #[serde(default)]
    pub additional_context: Option<String>,
}

/// Lowest confidence of a decisive verdict, if the item has no `confidence_threshold`.
pub const DEFAULT_CONFIDENCE_THRESHOLD: f64 = 0.85;

impl ItemOptions {
    pub fn confidence_threshold(&self) -> f64 {
        self.confidence_threshold.unwrap_or(DEFAULT_CONFIDENCE_THRESHOLD)
    }

    pub fn auto_correct(&self) -> bool {
        self.auto_correct.unwrap_or(true)
    }
}

/// Why a message cannot become an item. A person reads it with the dead letter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RejectReason {
    #[error("the message is empty; send one JSON object with schema, item_id and text")]
    Empty,
    #[error("the message is {bytes} bytes, {MAX_MESSAGE_BYTES} at most; send the text without attachments")]
    TooLarge { bytes: usize },
    #[error("the message is not UTF-8 (byte {at}); encode the JSON as UTF-8")]
    NotUtf8 { at: usize },
    #[error("the message is not JSON: {detail}")]
    NotJson { detail: String },
    #[error("the message does not fit the item schema: {detail}; see `corroborate schema item`")]
    WrongSchema { detail: String },
    #[error("schema {found} is not known, only 1 is")]
    UnknownSchema { found: u64 },
    #[error("the item has no text: give `text` or at least one of `sources` with text")]
    NoText,
}

impl RejectReason {
    /// Closed set of labels for metrics and the `x-error-label` header.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLarge { .. } => "too_large",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::NotJson { .. } => "not_json",
            Self::WrongSchema { .. } => "wrong_schema",
            Self::UnknownSchema { .. } => "unknown_schema",
            Self::NoText => "no_text",
        }
    }
}

/// `schema` is `None` if it is absent or not an integer.
struct Head {
    schema: Option<u64>,
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeadVisitor)
    }
}

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Head, A::Error> {
        let mut schema = None;
        while let Some(name) = members.next_key::<String>()? {
            if name == "schema" {
                // Parsing the item rejects all other values of `schema`.
                schema = members.next_value::<&RawValue>()?.get().parse().ok();
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Head { schema })
    }
}

impl Item {
    /// Builds an item from a single claim, without channel and minimum length.
    pub fn from_claim(item_id: String, claim: &str) -> Self {
        Self {
            schema: 1,
            item_id,
            text: Some(claim.to_owned()),
            title: None,
            summary: None,
            url: None,
            channel: None,
            published_at: None,
            language: None,
            importance: None,
            cluster_id: None,
            cluster_members: Vec::new(),
            entities: Vec::new(),
            sources: Vec::new(),
            source_types: Vec::new(),
            category: None,
            source_document: None,
            line_number: None,
            options: ItemOptions::default(),
        }
    }

    /// Parses one message.
    ///
    /// # Errors
    /// [`RejectReason`] says how the sender can correct the message.
    pub fn parse(bytes: &[u8]) -> Result<Self, RejectReason> {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(RejectReason::TooLarge { bytes: bytes.len() });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| RejectReason::NotUtf8 { at: error.valid_up_to() })?;
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(RejectReason::Empty);
        }
        // Parses the text twice. A `serde_json::Value` of it would take about 100 times its size.
        let Head { schema } =
            serde_json::from_str(text).map_err(|error| match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) if error.is_data() => {
                    RejectReason::WrongSchema { detail: "a JSON object is expected".to_owned() }
                }
                Ok(_) => RejectReason::NotJson { detail: error.to_string() },
                Err(error) => RejectReason::NotJson { detail: error.to_string() },
            })?;
        if let Some(found) = schema.filter(|found| *found != 1) {
            return Err(RejectReason::UnknownSchema { found });
        }
        let item: Self =
            serde_json::from_str(text).map_err(|error| RejectReason::WrongSchema { detail: error.to_string() })?;
        item.check()?;
        Ok(item)
    }

    fn check(&self) -> Result<(), RejectReason> {
        let wrong = |detail: &str| Err(RejectReason::WrongSchema { detail: detail.to_owned() });
        if self.item_id.trim().is_empty() {
            return wrong("item_id is empty");
        }
        limits::check_item(self).map_err(|detail| RejectReason::WrongSchema { detail })?;
        if self.has_nul() {
            return wrong("a text holds the NUL character, which no database stores");
        }
        if self.importance.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            return wrong("importance is not within 0 and 1");
        }
        if self.options.confidence_threshold.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            return wrong("options.confidence_threshold is not within 0 and 1");
        }
        if self.options.max_seconds == Some(0) || self.options.max_sources == Some(0) {
            return wrong("options.max_seconds and options.max_sources must be 1 or more");
        }
        if self.texts().next().is_none() {
            return Err(RejectReason::NoText);
        }
        Ok(())
    }

    fn has_nul(&self) -> bool {
        let optional = [
            &self.text,
            &self.title,
            &self.summary,
            &self.url,
            &self.channel,
            &self.language,
            &self.cluster_id,
            &self.source_document,
            &self.options.additional_context,
        ];
        let nul = |text: &str| text.contains('\0');
        let optional_nul = |text: &Option<String>| text.as_deref().is_some_and(nul);
        nul(&self.item_id)
            || optional.into_iter().any(optional_nul)
            || self.sources.iter().any(|source| nul(&source.text) || optional_nul(&source.url))
            || self.cluster_members.iter().any(|member| nul(&member.channel) || optional_nul(&member.item_id))
            || self.entities.iter().any(|entity| nul(&entity.text) || optional_nul(&entity.kind))
    }

    /// Returns the non-blank texts with their index: the item's own text, then `sources`.
    pub fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        self.typed_texts().map(|typed| (typed.position, typed.text))
    }

    /// As [`Self::texts`], with kind and URL.
    pub fn typed_texts(&self) -> impl Iterator<Item = TypedText<'_>> {
        let own = self.text.as_deref().map(|text| (ItemSourceKind::OriginalText, self.url.as_deref(), text));
        let others = self.sources.iter().map(|source| (source.kind, source.url.as_deref(), source.text.as_str()));
        own.into_iter()
            .chain(others)
            .filter(|(.., text)| !text.trim().is_empty())
            .enumerate()
            .map(|(position, (kind, url, text))| TypedText { position, kind, url, text })
    }

    /// Returns the URLs of linked pages whose text is part of the item. They are not independent sources.
    pub fn linked(&self) -> impl Iterator<Item = &str> {
        let links = self.sources.iter().filter(|source| source.kind == ItemSourceKind::LinkContext);
        links.filter_map(|source| source.url.as_deref())
    }

    /// Hash of all inputs of the judgement. Absent and default values add nothing, so that older items keep their hash.
    pub fn content_hash(&self) -> String {
        let published = self.published_at.map(|date| date.to_rfc3339()).unwrap_or_default();
        let kinds = format!("{:?}", self.source_types);
        let mut parts: Vec<&str> = vec![
            self.text.as_deref().unwrap_or_default(),
            self.title.as_deref().unwrap_or_default(),
            self.summary.as_deref().unwrap_or_default(),
            &published,
            &kinds,
        ];
        parts.extend(self.sources.iter().map(|source| source.text.as_str()));
        let usual = ItemSourceKind::OriginalText;
        let others = self.sources.iter().enumerate().filter(|(_, source)| source.kind != usual);
        let others: Vec<String> = others.map(|(place, source)| format!("{place} {:?}", source.kind)).collect();
        parts.extend(others.iter().map(String::as_str));
        parts.extend(self.options.additional_context.as_deref().filter(|context| !context.trim().is_empty()));
        ids::content_hash(&parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimal_item_is_accepted_and_unknown_fields_are_ignored() {
        let item =
            Item::parse(br#"{"schema":1,"item_id":"a","text":"Water boils.","later":true,"sources":null}"#).unwrap();
        assert_eq!(item.texts().collect::<Vec<_>>(), vec![(0, "Water boils.")]);
    }

    #[test]
    fn every_bad_message_has_its_own_label() {
        let cases: Vec<(Vec<u8>, &str)> = vec![
            (Vec::new(), "empty"),
            (b"  \n".to_vec(), "empty"),
            (vec![b' '; MAX_MESSAGE_BYTES + 1], "too_large"),
            (vec![b'{', 0xff], "not_utf8"),
            (b"{not json".to_vec(), "not_json"),
            (b"[1]".to_vec(), "wrong_schema"),
            (br#"{"schema":1,"item_id":7,"text":"x"}"#.to_vec(), "wrong_schema"),
            (br#"{"item_id":"a","text":"x"}"#.to_vec(), "wrong_schema"),
            (br#"{"schema":1,"item_id":"","text":"x"}"#.to_vec(), "wrong_schema"),
            (br#"{"schema":1,"item_id":"a","text":"a\u0000b"}"#.to_vec(), "wrong_schema"),
            (
                br#"{"schema":1,"item_id":"a","text":"x","cluster_members":[{"channel":"b","item_id":"\u0000"}]}"#
                    .to_vec(),
                "wrong_schema",
            ),
            (br#"{"schema":2,"item_id":"a","text":"x"}"#.to_vec(), "unknown_schema"),
            (br#"{"text":"x","later":{"schema":1},"schema":2}"#.to_vec(), "unknown_schema"),
            (br#"{"schema":"1","item_id":"a","text":"x"}"#.to_vec(), "wrong_schema"),
            (b"[1".to_vec(), "not_json"),
            (br#"{"schema":2} {}"#.to_vec(), "not_json"),
            (br#"{"schema":1,"item_id":"a","text":" "}"#.to_vec(), "no_text"),
            (br#"{"schema":1,"item_id":"a"}"#.to_vec(), "no_text"),
        ];
        for (message, label) in cases {
            let error = Item::parse(&message).unwrap_err();
            assert_eq!(error.label(), label, "{error}");
        }
    }

    #[test]
    fn an_edited_text_has_another_hash() {
        let mut item = Item::from_claim("a".into(), "one");
        let before = item.content_hash();
        item.text = Some("two".into());
        assert_ne!(before, item.content_hash());
    }
}
