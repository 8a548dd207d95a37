//! Normalises an item: its language, its cleaned texts and its embedding.

use chrono::{DateTime, Utc};

use super::embedding::Embedding;
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use crate::domain::Item;
use crate::language::detect::{self, Detection};
use crate::language::entities::Entity;
use crate::language::queries::identifying_tags;
use crate::language::statements;

#[derive(Debug, Clone)]
pub(crate) struct NormalisedItem {
    /// ISO 639-1 code of the main text, if known.
    pub(crate) language: Option<String>,
    /// Two languages, or an uncertain one: queries are not restricted to a language.
    pub(crate) mixed: bool,
    /// Cleaned texts with their position, which is the `source` of claims.
    pub(crate) texts: Vec<(usize, String)>,
    /// URL of each text, or the item's; parallel to `texts`.
    pub(crate) urls: Vec<Option<String>>,
    pub(crate) channel: Option<String>,
    /// Names in the item's hashtags, often the only mention.
    pub(crate) tags: Vec<Entity>,
    pub(crate) embedding: Vec<f32>,
    /// The embedder that made the vector.
    pub(crate) embedder: String,
    /// The day from which relative dates count.
    pub(crate) reference: DateTime<Utc>,
}

impl NormalisedItem {
    pub(crate) fn main_text(&self) -> &str {
        self.texts.first().map_or("", |(_, text)| text.as_str())
    }
}

/// A language detected with less confidence counts as mixed.
const MIN_LANGUAGE_CONFIDENCE: f64 = 0.7;

/// Characters that are embedded: the start states the subject.
const EMBEDDED_CHARS: usize = 600;

struct CleanedTexts {
    texts: Vec<(usize, String)>,
    detected: Detection,
    tags: Vec<Entity>,
}

impl CleanedTexts {
    fn new(item: &Item) -> Self {
        let texts: Vec<(usize, String)> =
            item.texts().map(|(position, text)| (position, statements::clean(text))).collect();
        let main = texts.first().map_or("", |(_, text)| text.as_str());
        let detected = detect::detect_stated(main, item.language.as_deref());
        Self { texts, detected, tags: item.texts().flat_map(|(_, text)| identifying_tags(text)).collect() }
    }
}

pub(super) async fn normalise(
    services: &Services,
    item: &Item,
    journal: &Journal,
) -> Result<NormalisedItem, PipelineError> {
    let own = item.clone();
    let CleanedTexts { texts, detected, tags } = services.on_thread(move || CleanedTexts::new(&own)).await?;
    let main = texts.first().map_or("", |(_, text)| text.as_str());
    let mixed = item.language.is_none() && (detected.mixed || detected.confidence < MIN_LANGUAGE_CONFIDENCE);
    let language = detected.language;
    let lead: String = item.title.iter().map(String::as_str).chain([main]).collect::<Vec<_>>().join(". ");
    let lead: String = lead.chars().take(EMBEDDED_CHARS).collect();
    let Embedding { vector: embedding, space } =
        services.embed(&[lead.as_str()], journal).await.pop().unwrap_or_default();
    let embedder = services.embedder_of(&lead, space).to_owned();
    journal.trace(format!(
        "normalise: language {}{}, {} text(s), embedding by {}",
        language.as_deref().unwrap_or("unknown"),
        if mixed { " (mixed)" } else { "" },
        texts.len(),
        embedder,
    ));
    Ok(NormalisedItem {
        language,
        mixed,
        texts,
        urls: item.typed_texts().map(|typed| typed.url.or(item.url.as_deref()).map(str::to_owned)).collect(),
        channel: item.channel.clone(),
        tags,
        embedding,
        embedder,
        reference: item.published_at.unwrap_or(journal.evaluated_at),
    })
}
