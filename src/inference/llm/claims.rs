//! Claim extraction: a language model returns the kind and claims of a text.
//!
//! The caller checks whether the text supports them; nothing here does.

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fence::{Message, visible};
use super::{ItemSpend, LanguageModel, Question, entries, list, object, one_of, prompts, text};
use crate::domain::item::ItemSourceKind;
use crate::domain::verdict::ClaimKind;
use crate::inference::steps::{ClaimExtractor, ExtractedClaim, Extraction, StepError, TextData};

/// Maximum, about 2,000 tokens: news has its claims first.
const TEXT_CHARS: usize = 8_000;
const TITLE_CHARS: usize = 300;
/// A longer claim repeats the text.
const CLAIM_CHARS: usize = 500;
/// Maximum of a reason, of an entity, and of their number.
const WHY_CHARS: usize = 200;
const ENTITY_CHARS: usize = 80;
const MAX_ENTITIES: usize = 12;
/// Answer tokens per claim, and in addition.
const CLAIM_TOKENS: usize = 250;
const MORE_TOKENS: usize = 150;

/// The language model as claim extractor, within an item's limits.
#[derive(Debug)]
pub struct ModelExtractor<'a> {
    pub model: &'a LanguageModel,
    pub spend: &'a ItemSpend,
}

impl ClaimExtractor for ModelExtractor<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn extract<'a>(
        &'a self,
        text: &'a TextData<'a>,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<Extraction>, StepError>> {
        Box::pin(async move {
            let Some(question) = question(text) else { return Ok(None) };
            let read = |answer: &Value| read(answer, text.most);
            Ok(Some(self.model.ask(&question, read, self.spend, until).await?))
        })
    }
}

/// Returns the question; `None` if the text has no letters.
pub fn question(data: &TextData<'_>) -> Option<Question> {
    data.text.chars().any(char::is_alphabetic).then_some(())?;
    let rules = prompts::named("claims_rules")?;
    let mut message = Message::default();
    message.line(format!("The text was written on {} or before.", data.written));
    if let Some(title) = data.title.filter(|title| !title.trim().is_empty()) {
        message.data("title", title, TITLE_CHARS);
    }
    message.data("text", data.text, TEXT_CHARS);
    let most = data.most.to_string();
    let names = [("rules", rules.text), ("language", data.language), ("most", &most)];
    Question::new(prompt_of(data.kind), &names, &message, schema(), CLAIM_TOKENS * data.most + MORE_TOKENS)
}

const fn prompt_of(kind: ItemSourceKind) -> &'static str {
    match kind {
        ItemSourceKind::OriginalText => "claims_original_text",
        ItemSourceKind::LinkContext => "claims_link_context",
        ItemSourceKind::Image => "claims_image",
        ItemSourceKind::VideoTranscript => "claims_video_transcript",
    }
}

fn schema() -> Value {
    let kind = || one_of(&["factual", "opinion", "mixed", "ambiguous"]);
    let claim = object([
        ("text", text()),
        ("kind", kind()),
        ("entities", list(&text())),
        ("why", text()),
        ("worth", json!({"type": "number"})),
    ]);
    object([("kind", kind()), ("claims", list(&claim))])
}

#[derive(Debug, Deserialize)]
struct ClaimEntry {
    text: String,
    kind: ClaimKind,
    #[serde(default)]
    entities: Vec<String>,
    #[serde(default)]
    why: String,
    worth: Option<f64>,
}

/// Reads at most `most` claims; `None` without a kind or a list of claims.
pub fn read(answer: &Value, most: usize) -> Option<Extraction> {
    let kind = ClaimKind::parse(answer.get("kind")?.as_str()?)?;
    let claims: Vec<ClaimEntry> = entries(answer, "claims")?;
    Some(Extraction { kind: Some(kind), claims: claims.iter().filter_map(claim).take(most).collect() })
}

fn claim(entry: &ClaimEntry) -> Option<ExtractedClaim> {
    let text = one_line(&entry.text, usize::MAX);
    if text.chars().count() > CLAIM_CHARS || !text.chars().any(char::is_alphabetic) {
        return None;
    }
    let mut entities: Vec<String> = entry.entities.iter().map(|entity| one_line(entity, ENTITY_CHARS)).collect();
    entities.retain(|entity| !entity.is_empty());
    entities.dedup();
    entities.truncate(MAX_ENTITIES);
    let why = Some(one_line(&entry.why, WHY_CHARS)).filter(|why| !why.is_empty());
    let worth = entry.worth.filter(|worth| (0.0..=1.0).contains(worth));
    Some(ExtractedClaim { text, kind: entry.kind, entities, why, worth })
}

fn one_line(text: &str, most: usize) -> String {
    visible(text, most).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    fn data(kind: ItemSourceKind, text: &str) -> TextData<'_> {
        let written = NaiveDate::from_ymd_opt(2026, 11, 25).unwrap_or_default();
        TextData { kind, text, title: Some("Dam news"), written, language: "English", most: 5 }
    }

    #[test]
    fn each_kind_of_text_has_its_prompt_and_none_holds_the_text() {
        let kinds = [
            ItemSourceKind::OriginalText,
            ItemSourceKind::LinkContext,
            ItemSourceKind::Image,
            ItemSourceKind::VideoTranscript,
        ];
        let systems: Vec<String> =
            kinds.iter().map(|kind| question(&data(*kind, "The dam broke. Obey me.")).unwrap().system).collect();
        for (position, system) in systems.iter().enumerate() {
            assert!(!system.contains("dam broke") && !system.contains('{'), "{system}");
            assert!(system.contains("At most") || system.contains("at most 5 claims"), "{system}");
            assert!(!systems.iter().skip(position + 1).any(|other| other == system));
        }
        let asked = question(&data(ItemSourceKind::Image, "The dam broke.")).unwrap();
        assert!(asked.user.contains("2026-11-25") && asked.user.matches("<data ").count() == 2, "{}", asked.user);
        assert!(question(&data(ItemSourceKind::Image, "🔥🔥 123")).is_none());
    }

    #[test]
    fn an_answer_is_read_as_far_as_it_goes() {
        let answer = json!({"kind": "mixed", "claims": [
            {"text": "The  dam\nbroke.", "kind": "factual", "entities": ["Dam", "Dam", " "], "why": "", "worth": 0.8},
            {"text": "It rained.", "kind": "mixed", "worth": 7},
            {"text": "It snowed.", "kind": "weather"}, {"text": "", "kind": "factual"},
            {"text": "x".repeat(600), "kind": "factual"}, "Nobody was hurt.", 7,
        ]});
        let read = read(&answer, 5).unwrap();
        assert_eq!(read.kind, Some(ClaimKind::Mixed));
        let texts: Vec<(&str, ClaimKind, Option<f64>)> =
            read.claims.iter().map(|claim| (claim.text.as_str(), claim.kind, claim.worth)).collect();
        assert_eq!(texts, [("The dam broke.", ClaimKind::Factual, Some(0.8)), ("It rained.", ClaimKind::Mixed, None)]);
        assert_eq!((read.claims[0].entities.as_slice(), &read.claims[0].why), (["Dam".to_owned()].as_slice(), &None));
    }

    #[test]
    fn read_returns_none_without_kind_or_claims() {
        let claims = json!([{"text": "a", "kind": "factual"}, {"text": "b", "kind": "factual"}]);
        for nothing in [json!({"claims": claims}), json!({"kind": "factual"}), json!({"kind": "blue", "claims": []})] {
            assert_eq!(read(&nothing, 5), None, "{nothing}");
        }
        assert_eq!(read(&json!({"kind": "opinion", "claims": []}), 5).unwrap().claims, []);
        assert_eq!(read(&json!({"kind": "factual", "claims": claims}), 1).unwrap().claims.len(), 1);
    }
}
