//! Normalisation: the item's language, its text without ornaments, its meaning as a vector.

use chrono::{DateTime, Utc};

use super::embedding::Embedding;
use super::{Journal, PipelineError, Services};
use crate::domain::Item;
use crate::language::detect::{self, Detection};
use crate::language::entities::Entity;
use crate::language::queries::identifying_tags;
use crate::language::statements;

/// The item as later stages see it.
#[derive(Debug, Clone)]
pub(crate) struct Normal {
    /// ISO 639-1 of the main text, where it could be told.
    pub(crate) language: Option<String>,
    /// Two languages in one text, or a guess too weak to act on alone: queries go out in the text's own words only.
    pub(crate) mixed: bool,
    /// All texts, cleaned, with the position a claim's `source` names.
    pub(crate) texts: Vec<(usize, String)>,
    /// Where each of them stands, parallel to `texts`: what has no address of its own, where the item does.
    pub(crate) urls: Vec<Option<String>>,
    /// The channel that published it.
    pub(crate) channel: Option<String>,
    /// Names that stand in the item's hashtags: often the only place that is named.
    pub(crate) tags: Vec<Entity>,
    pub(crate) embedding: Vec<f32>,
    /// The embedder that made it; what it is stored under.
    pub(crate) embedder: String,
    /// The date the item speaks from.
    pub(crate) reference: DateTime<Utc>,
}

impl Normal {
    pub(crate) fn main_text(&self) -> &str {
        self.texts.first().map_or("", |(_, text)| text.as_str())
    }
}

/// Below this confidence a detected language is treated as mixed.
const MIN_LANGUAGE_CONFIDENCE: f64 = 0.7;

/// The share of a long text that goes into its vector: the lead says what an item is about.
const EMBEDDED_CHARS: usize = 600;

/// What the texts of an item are made into.
struct Cleaned {
    texts: Vec<(usize, String)>,
    /// The language of the main text.
    detected: Detection,
    tags: Vec<Entity>,
}

impl Cleaned {
    fn new(item: &Item) -> Self {
        let texts: Vec<(usize, String)> =
            item.texts().map(|(position, text)| (position, statements::clean(text))).collect();
        let detected = detect::detect(texts.first().map_or("", |(_, text)| text.as_str()));
        Self { texts, detected, tags: item.texts().flat_map(|(_, text)| identifying_tags(text)).collect() }
    }
}

pub(super) async fn normalise(services: &Services, item: &Item, journal: &Journal) -> Result<Normal, PipelineError> {
    let own = item.clone();
    let Cleaned { texts, detected, tags } = services.on_thread(move || Cleaned::new(&own)).await?;
    let main = texts.first().map_or("", |(_, text)| text.as_str());
    let given = item.language.as_deref().map(str::to_lowercase);
    let mixed = given.is_none() && (detected.mixed || detected.confidence < MIN_LANGUAGE_CONFIDENCE);
    let language =
        given.as_deref().and_then(|code| code.split(['-', '_']).next()).map(str::to_owned).or(detected.language);
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
    Ok(Normal {
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
