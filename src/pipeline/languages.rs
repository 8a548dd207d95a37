//! In which languages an item is searched beside its own, and the claim in their words.
//!
//! Whoever writes of Cyprus in Greek knows what English pages leave out. The policy is the operator's: languages for every
//! item, for those of a channel, for those with a word in their text; and English for what is in neither English nor Russian,
//! or in doubt (core document, language handling). Only the query is translated; pages are read in their own language.

use futures::future::join_all;
use tokio::time::Instant;

use super::claims::Claim;
use super::normalise::Normal;
use super::queries::translated;
use super::services::plain;
use super::{Journal, Services};
use crate::domain::{Degradation, Item};
use crate::inference::translation::Translated;
use crate::language::tokens;
use crate::outbound::AskError;
use crate::providers::Query;
use crate::telemetry::metrics;

/// Of the time left for searching, what translation may take: a slow model must not cost the search.
const SHARE: u32 = 4;

/// English finds the most; Russian is the other language the core document asks for.
const WIDELY_WRITTEN: [&str; 2] = ["en", "ru"];

/// The operator's word on languages, ISO 639-1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanguagePolicy {
    /// For every item.
    pub always: Vec<String>,
    pub rules: Vec<LanguageRule>,
    /// What is in neither English nor Russian, or in doubt, is asked in English as well.
    pub into_english: bool,
}

/// Languages for the items of some channels, or with some words in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanguageRule {
    pub channels: Vec<String>,
    pub keywords: Vec<String>,
    pub languages: Vec<String>,
}

impl LanguageRule {
    /// Whether it is for that channel, or for a text of those stems. A word counts in all its forms.
    fn is_for(&self, channel: Option<&str>, stems: &[String], language: Option<&str>) -> bool {
        let of_channel = channel.is_some_and(|channel| self.channels.iter().any(|own| plain(own) == plain(channel)));
        let says = |keyword: &String| {
            let wanted = tokens::content_stems(keyword, language);
            !wanted.is_empty() && wanted.iter().all(|stem| stems.contains(stem))
        };
        of_channel || self.keywords.iter().any(says)
    }
}

impl LanguagePolicy {
    /// The languages to search in beside the item's own, each once: those of its rules, those of every item, English.
    pub(crate) fn languages(&self, item: &Item, normal: &Normal) -> Vec<String> {
        let own = normal.language.as_deref();
        let texts = item.title.iter().map(String::as_str).chain(normal.texts.iter().map(|(_, text)| text.as_str()));
        let tags = normal.tags.iter().map(|tag| tag.text.as_str());
        let stems: Vec<String> = texts.chain(tags).flat_map(|text| tokens::content_stems(text, own)).collect();
        let rules = self.rules.iter().filter(|rule| rule.is_for(item.channel.as_deref(), &stems, own));
        let mut wanted: Vec<String> =
            rules.flat_map(|rule| rule.languages.clone()).chain(self.always.clone()).collect();
        let in_doubt = normal.mixed || own.is_none_or(|own| !WIDELY_WRITTEN.contains(&own));
        wanted.extend((self.into_english && in_doubt).then(|| "en".to_owned()));
        let mut kept: Vec<String> = Vec::new();
        for language in wanted {
            // Of a text in doubt nobody knows that it is in its own language already, unless there is nothing else in it.
            let is_own = own == Some(language.as_str()) && !(normal.mixed && language == "en");
            if !is_own && !kept.contains(&language) {
                kept.push(language);
            }
        }
        kept
    }
}

/// The claim in each further language, one query a language. Where there is no translator there are none, and a translation
/// that fails leaves out its language.
pub(super) async fn in_other_languages(
    services: &Services,
    item: &Item,
    normal: &Normal,
    claim: &Claim,
    until: Instant,
    journal: &Journal,
) -> Vec<Query> {
    let languages = services.settings.languages.languages(item, normal);
    let Some(translator) = services.translator.as_ref().filter(|_| !languages.is_empty()) else {
        return Vec::new();
    };
    let from = normal.language.as_deref().filter(|_| !normal.mixed);
    let now = Instant::now();
    let until = now + until.saturating_duration_since(now) / SHARE;
    let asking = languages.iter().map(|language| translator.translate(&claim.text, from, language, until));
    let mut queries = Vec::with_capacity(languages.len());
    for (language, outcome) in languages.iter().zip(join_all(asking).await) {
        if translator.is_language_model() {
            count(&outcome, journal);
        }
        let name = translator.name();
        match outcome.outcome {
            Ok(Some(text)) => {
                let limit = services.settings.search_results;
                queries.extend(translated(&text, language, claim, item, limit));
            }
            Ok(None) => journal.trace(format!("queries: not asked in {language}, {name} gave no translation")),
            Err(error) => {
                tracing::warn!(%error, translator = name, language, "a query could not be translated; searched without it");
                journal.trace(format!("queries: not asked in {language}, {name} failed: {error}"));
                journal.degrade(Degradation::ModelFailed("translator".to_owned()));
            }
        }
    }
    if !queries.is_empty() {
        let told: Vec<&str> = queries.iter().filter_map(|query| query.language.as_deref()).collect();
        journal.trace(format!("queries: also in {}, by {}", told.join(", "), translator.name()));
    }
    queries
}

/// Counts the calls to a language model, for the item and for the metrics; an answer that was known is none.
fn count(translated: &Translated, journal: &Journal) {
    let Translated { outcome, attempts, tokens: (read, written) } = translated;
    if *attempts == 0 {
        return;
    }
    journal.asked_language_model(*attempts, read + written);
    metrics::llm_tokens("translate", *read, *written);
    metrics::llm_call(
        "translate",
        match outcome {
            Ok(Some(_)) => "ok",
            Ok(None) | Err(AskError::Malformed { .. }) => "malformed",
            Err(AskError::Timeout | AskError::Deadline) => "timeout",
            Err(_) => "failed",
        },
    );
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::language::queries::identifying_tags;

    fn languages(policy: &LanguagePolicy, text: &str, language: Option<&str>, channel: Option<&str>) -> Vec<String> {
        let item = Item { channel: channel.map(str::to_owned), ..Item::from_claim("id".to_owned(), text) };
        let normal = Normal {
            language: language.map(str::to_owned),
            mixed: language.is_none(),
            texts: vec![(0, text.to_owned())],
            url: None,
            tags: identifying_tags(text),
            embedding: Vec::new(),
            embedder: String::new(),
            reference: DateTime::<Utc>::UNIX_EPOCH,
        };
        policy.languages(&item, &normal)
    }

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn policy() -> LanguagePolicy {
        let rule = |channels: &[&str], keywords: &[&str], languages: &[&str]| LanguageRule {
            channels: words(channels),
            keywords: words(keywords),
            languages: words(languages),
        };
        LanguagePolicy {
            always: Vec::new(),
            rules: vec![
                rule(&[], &["Cyprus", "Кипр", "Кіпр"], &["el"]),
                rule(&["@polska"], &["Warsaw", "Варшава"], &["pl", "el"]),
            ],
            into_english: true,
        }
    }

    #[test]
    fn news_of_cyprus_are_searched_in_greek_whatever_they_are_written_in() {
        let policy = policy();
        for (text, language, wanted) in [
            ("Cyprus opened a gas terminal.", "en", &["el"][..]),
            ("На Кипре открыли газовый терминал.", "ru", &["el"]),
            ("Власти Кипра закрыли порт.", "ru", &["el"]),
            ("На Кіпрі відкрили газовий термінал.", "uk", &["el", "en"]),
            ("Открыли газовый терминал #Кипр", "ru", &["el"]),
            ("Η Κύπρος άνοιξε τερματικό.", "el", &["en"]),
            ("Berlin opened a museum.", "en", &[]),
            ("В Берлине открыли музей.", "ru", &[]),
            ("У Берліні відкрили музей.", "uk", &["en"]),
            ("В Варшаве открыли музей о Кипре.", "ru", &["el", "pl"]),
        ] {
            assert_eq!(languages(&policy, text, Some(language), None), wanted, "{text}");
        }
    }

    #[test]
    fn a_channel_has_its_languages_and_a_text_in_doubt_is_asked_in_english() {
        let mut policy = policy();
        assert_eq!(languages(&policy, "A museum opened.", Some("en"), Some("@POLSKA")), ["pl", "el"]);
        assert_eq!(languages(&policy, "Музей museum открыт opened", None, None), ["en"]);
        policy.always = words(&["de", "el", "en"]);
        assert_eq!(languages(&policy, "Cyprus opened a museum.", Some("en"), None), ["el", "de"]);
        policy.into_english = false;
        assert_eq!(languages(&policy, "У Берліні відкрили музей.", Some("uk"), None), ["de", "el", "en"]);
        assert!(languages(&LanguagePolicy::default(), "У Берліні відкрили музей.", Some("uk"), None).is_empty());
    }
}
