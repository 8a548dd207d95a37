//! Claim extraction: a language model returns the kind and claims of a text.
//!
//! The caller checks whether the text supports them; nothing here does.

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fence::{Fence, visible};
use super::{ItemSpend, LanguageModel, LlmError, Purpose, Question, prompts};
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
const ENTITIES: usize = 12;
/// Answer tokens per claim, and in addition.
const TOKENS_CLAIM: u32 = 250;
const TOKENS_OVERHEAD: u32 = 150;
/// Combines the version of the common rules with the prompt's.
const VERSIONS: u32 = 1_000;

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
            let is_read = |answer: &Value| read(answer, text.most).is_some();
            let answer = self.model.ask_believing(&question, self.spend, until, &is_read).await?;
            let unreadable =
                || LlmError::Unreadable { detail: "it speaks of no claim and of no kind of text".to_owned() };
            let read = read(&answer.value, text.most).ok_or_else(unreadable)?;
            Ok(Some(Extraction { is_part: answer.is_part, ..read }))
        })
    }
}

/// Returns the question; `None` if the text has no letters.
pub fn question(data: &TextData<'_>) -> Option<Question> {
    if !data.text.chars().any(char::is_alphabetic) {
        return None;
    }
    let (rules, prompt) = (prompts::named("claims_rules")?, prompts::named(prompt_of(data.kind))?);
    let title = data.title.filter(|title| !title.trim().is_empty());
    let fence = Fence::around([data.text].into_iter().chain(title));
    let mut user = format!("The text was written on {} or before.\n", data.written);
    if let Some(title) = title {
        user.push_str(&fence.data("title", title, TITLE_CHARS));
        user.push('\n');
    }
    user.push_str(&fence.data("text", data.text, TEXT_CHARS));
    let system = prompt.text.replace("{rules}", rules.text).replace("{nonce}", fence.nonce());
    let system = system.replace("{language}", data.language).replace("{most}", &data.most.to_string());
    Some(Question {
        purpose: Purpose::Claims,
        version: prompt.version * VERSIONS + rules.version,
        system,
        user,
        schema: schema(),
        max_tokens: TOKENS_CLAIM * u32::try_from(data.most).unwrap_or(u32::MAX / TOKENS_CLAIM / 2) + TOKENS_OVERHEAD,
    })
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
    let kinds = ["factual", "opinion", "mixed", "ambiguous"];
    let claim = json!({
        "type": "object", "additionalProperties": false, "required": ["text", "kind", "entities", "why", "worth"],
        "properties": {
            "text": {"type": "string"},
            "kind": {"type": "string", "enum": kinds},
            "entities": {"type": "array", "items": {"type": "string"}},
            "why": {"type": "string"},
            "worth": {"type": "number"},
        },
    });
    json!({
        "type": "object", "additionalProperties": false, "required": ["kind", "claims"],
        "properties": {
            "kind": {"type": "string", "enum": kinds},
            "claims": {"type": "array", "items": claim},
        },
    })
}

/// Reads at most `most` claims; `None` if the answer has neither kind nor claims.
pub fn read(answer: &Value, most: usize) -> Option<Extraction> {
    let kind = answer.get("kind").and_then(Value::as_str).and_then(kind);
    let list = answer.get("claims").and_then(Value::as_array);
    if kind.is_none() && list.is_none() {
        return None;
    }
    let claims = list.into_iter().flatten().filter_map(|one| claim(one, kind)).take(most).collect();
    Some(Extraction { kind, claims, is_part: false })
}

/// Reads a claim, by default of the text's kind. Some models return strings, not objects.
fn claim(entry: &Value, of_text: Option<ClaimKind>) -> Option<ExtractedClaim> {
    let words = entry.as_str().or_else(|| ["text", "claim"].iter().find_map(|key| entry.get(key)?.as_str()))?;
    let text = one_line(words, usize::MAX);
    if text.chars().count() > CLAIM_CHARS || !text.chars().any(char::is_alphabetic) {
        return None;
    }
    let strings = |key: &str| entry.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut entities: Vec<String> = Vec::new();
    for entity in strings("entities").map(|entity| one_line(entity, ENTITY_CHARS)).filter(|entity| !entity.is_empty()) {
        if entities.len() < ENTITIES && !entities.contains(&entity) {
            entities.push(entity);
        }
    }
    let own = entry.get("kind").and_then(Value::as_str).and_then(kind);
    Some(ExtractedClaim {
        text,
        kind: own.or(of_text).unwrap_or(ClaimKind::Factual),
        entities,
        why: entry.get("why").and_then(Value::as_str).map(|why| one_line(why, WHY_CHARS)).filter(|why| !why.is_empty()),
        worth: entry.get("worth").and_then(Value::as_f64).filter(|worth| (0.0..=1.0).contains(worth)),
    })
}

fn one_line(text: &str, most: usize) -> String {
    visible(text, most).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Accepts spellings that models use.
fn kind(word: &str) -> Option<ClaimKind> {
    match word.trim().to_lowercase().as_str() {
        "factual" | "fact" => Some(ClaimKind::Factual),
        "opinion" | "subjective" => Some(ClaimKind::Opinion),
        "mixed" => Some(ClaimKind::Mixed),
        "ambiguous" | "vague" | "unclear" => Some(ClaimKind::Ambiguous),
        _ => None,
    }
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
        let answer = json!({"kind": "Mixed", "claims": [
            {"text": "The  dam\nbroke.", "kind": "fact", "entities": ["Dam", "Dam", " "], "why": "", "worth": 0.8},
            "Nobody was hurt.",
            {"claim": "It rained.", "worth": 7, "kind": "weather"},
            {"text": ""}, {"text": "x".repeat(600)}, 7,
        ]});
        let read = read(&answer, 5).unwrap();
        assert_eq!(read.kind, Some(ClaimKind::Mixed));
        let texts: Vec<(&str, ClaimKind, Option<f64>)> =
            read.claims.iter().map(|claim| (claim.text.as_str(), claim.kind, claim.worth)).collect();
        assert_eq!(
            texts,
            [
                ("The dam broke.", ClaimKind::Factual, Some(0.8)),
                ("Nobody was hurt.", ClaimKind::Mixed, None),
                ("It rained.", ClaimKind::Mixed, None),
            ]
        );
        assert_eq!((read.claims[0].entities.as_slice(), &read.claims[0].why), (["Dam".to_owned()].as_slice(), &None));
    }

    #[test]
    fn read_returns_none_when_answer_has_neither_kind_nor_claims() {
        for nothing in [json!({}), json!({"claims": "none"}), json!({"kind": "blue"}), json!([])] {
            assert_eq!(read(&nothing, 5), None, "{nothing}");
        }
        assert_eq!(read(&json!({"claims": []}), 5), Some(Extraction::default()));
        assert_eq!(read(&json!({"claims": ["a", "b", "c"]}), 2).unwrap().claims.len(), 2);
    }
}
