//! Chooses further languages for the search, and translates the claims into them.
//!
//! Pages in a local language contain facts that English pages lack. The operator's policy names languages per item,
//! channel and keyword; English is added for texts in neither English nor Russian, and uncertain ones.
//! Pages are also compared and judged with the translations. A failed translation leaves out only its language.

use std::cell::LazyCell;
use std::fmt;

use futures::future::join_all;
use tokio::time::Instant;

use super::claims::Claim;
use super::normalise::NormalisedItem;
use super::queries::{ForeignQuery, room_for_others, translated};
use super::run_context::{Journal, RunContext};
use super::services::{LanguagePolicy, PipelineError, Services, plain};
use super::translate;
use crate::config::LanguageRule;
use crate::domain::{Degradation, Item};
use crate::judging::profile::TextProfile;
use crate::language::tokens;

/// Translation gets a quarter of the search time, because a slow model must not use it up.
const SHARE: u32 = 4;

const WIDELY_WRITTEN: [&str; 2] = ["en", "ru"];

impl LanguageRule {
    /// Whether the rule is for the channel or a text (lists of stems). Words match in all forms, several only in
    /// sequence.
    fn is_for<'a>(&self, channel: Option<&str>, texts: impl Fn() -> &'a [Vec<String>], language: Option<&str>) -> bool {
        let of_channel = channel.is_some_and(|channel| self.channels.iter().any(|own| plain(own) == plain(channel)));
        let is_mentioned = |keyword: &String| {
            // Stop words match every text.
            let wanted =
                if tokens::content_stems(keyword, language).is_empty() { Vec::new() } else { stems(keyword, language) };
            !wanted.is_empty() && texts().iter().any(|text| text.windows(wanted.len()).any(|next| next == wanted))
        };
        of_channel || self.keywords.iter().any(is_mentioned)
    }
}

fn stems(text: &str, language: Option<&str>) -> Vec<String> {
    tokens::tokens(text, language).into_iter().map(|token| token.stem).collect()
}

/// A language to search in; `rule` is `None` if it is for every item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchLanguage {
    language: String,
    rule: Option<String>,
}

impl fmt::Display for SearchLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.language)?;
        self.rule.as_ref().map_or(Ok(()), |rule| write!(f, " (rule {rule})"))
    }
}

impl LanguagePolicy {
    /// Returns each language once: of rules, of every item, English.
    fn languages(&self, item: &Item, normal: &NormalisedItem) -> Vec<SearchLanguage> {
        let own = normal.language.as_deref();
        let texts = item.title.iter().map(String::as_str).chain(normal.texts.iter().map(|(_, text)| text.as_str()));
        let tags = normal.tags.iter().map(|tag| tag.text.as_str());
        let texts = LazyCell::new(|| texts.chain(tags).map(|text| stems(text, own)).collect::<Vec<_>>());
        let in_doubt = normal.mixed || own.is_none_or(|own| !WIDELY_WRITTEN.contains(&own));
        let english = (self.into_english && in_doubt).then(|| "en".to_owned());
        let rules = self.rules.iter().filter(|rule| rule.is_for(item.channel.as_deref(), || texts.as_slice(), own));
        let of_rules = rules.flat_map(|rule| rule.languages.iter().map(|language| (language, Some(&rule.name))));
        let wanted = of_rules.chain(self.always.iter().chain(&english).map(|language| (language, None)));
        let mut kept: Vec<SearchLanguage> = Vec::new();
        for (language, rule) in wanted {
            // An uncertain text still gets English.
            let is_own = own == Some(language.as_str()) && !(normal.mixed && language == "en");
            if !is_own && kept.iter().all(|known| known.language != *language) {
                kept.push(SearchLanguage { language: language.clone(), rule: rule.cloned() });
            }
        }
        kept
    }
}

/// Returns the policy's languages that a provider supports, within the query limit. Others are traced.
pub(super) async fn languages_of(
    services: &Services,
    item: &Item,
    normal: &NormalisedItem,
    is_searched: impl Fn(&str) -> bool,
    journal: &Journal,
) -> Result<Vec<SearchLanguage>, PipelineError> {
    let settings = &services.settings;
    let room = room_for_others(settings.queries_per_claim);
    let wanted = if settings.languages.rules.is_empty() {
        settings.languages.languages(item, normal)
    } else {
        // Keyword rules read all texts.
        let (policy, item, normal) = (settings.languages.clone(), item.clone(), normal.clone());
        services.on_thread(move || policy.languages(&item, &normal)).await?
    };
    Ok(possible(wanted, services.translator.is_some(), is_searched, room, journal))
}

fn possible(
    wanted: Vec<SearchLanguage>,
    has_translator: bool,
    is_searched: impl Fn(&str) -> bool,
    room: usize,
    journal: &Journal,
) -> Vec<SearchLanguage> {
    let mut kept: Vec<SearchLanguage> = Vec::new();
    for wanted in wanted {
        let hindered = if !has_translator {
            Some("no translator is configured")
        } else if !is_searched(&wanted.language) {
            Some("nobody who is to be asked searches in it")
        } else {
            (kept.len() >= room).then_some("enrichment.queries_max leaves no room for it")
        };
        match hindered {
            Some(why) => journal.trace(format!("queries: not asked in {wanted}: {why}")),
            None => kept.push(wanted),
        }
    }
    kept
}

/// Translates the claim: one query per language.
pub(super) async fn in_other_languages(
    run: RunContext<'_>,
    normal: &NormalisedItem,
    claim: &Claim,
    languages: &[SearchLanguage],
    until: Instant,
) -> Vec<ForeignQuery> {
    let RunContext { services, request, journal, .. } = run;
    let Some(translator) = services.translator.as_ref().filter(|_| !languages.is_empty()) else {
        return Vec::new();
    };
    let from = normal.language.as_deref().filter(|_| !normal.mixed);
    let now = Instant::now();
    let until = now + until.saturating_duration_since(now) / SHARE;
    let asking = languages.iter().map(|wanted| translator.translate(&claim.text, from, &wanted.language, until));
    let mut searched: Vec<String> = Vec::with_capacity(languages.len());
    let mut queries = Vec::with_capacity(languages.len());
    for (wanted, translation) in languages.iter().zip(join_all(asking).await) {
        translate::count(translator.as_ref(), &translation, journal);
        let (language, name) = (wanted.language.as_str(), translator.name());
        match translation.outcome {
            Ok(Some(text)) => {
                let Some(foreign) =
                    translated(&text, language, claim, &request.item, services.settings.search_results())
                else {
                    continue;
                };
                searched.push(wanted.to_string());
                // Pages are also judged with this translation.
                translate::keep(services, claim, language, TextProfile::clone(&foreign.profile), journal).await;
                queries.push(foreign);
            }
            Ok(None) => journal.trace(format!("queries: not asked in {wanted}: {name} gave no translation")),
            Err(error) => {
                tracing::warn!(%error, translator = name, language, "query translation failed; searching without it");
                journal.trace(format!("queries: not asked in {wanted}: {name} failed: {error}"));
                journal.degrade(Degradation::ModelFailed("translator".to_owned()));
            }
        }
    }
    if !searched.is_empty() {
        journal.trace(format!("queries: also in {}, by {}", searched.join(", "), translator.name()));
    }
    queries
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::{DateTime, Utc};

    use super::*;
    use crate::language::queries::identifying_tags;

    fn languages(policy: &LanguagePolicy, text: &str, language: Option<&str>, channel: Option<&str>) -> Vec<String> {
        let item = Item { channel: channel.map(str::to_owned), ..Item::from_claim("id".to_owned(), text) };
        let normal = NormalisedItem {
            language: language.map(str::to_owned),
            mixed: language.is_none(),
            texts: vec![(0, text.to_owned())],
            urls: vec![None],
            channel: None,
            tags: identifying_tags(text),
            embedding: Vec::new(),
            embedder: String::new(),
            reference: DateTime::<Utc>::UNIX_EPOCH,
        };
        policy.languages(&item, &normal).iter().map(ToString::to_string).collect()
    }

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn policy() -> LanguagePolicy {
        let rule = |name: &str, channels: &[&str], keywords: &[&str], languages: &[&str]| LanguageRule {
            name: name.to_owned(),
            channels: words(channels),
            keywords: words(keywords),
            languages: words(languages),
        };
        LanguagePolicy {
            always: Vec::new(),
            rules: vec![
                rule("cy", &[], &["Cyprus", "Кипр", "Кіпр"], &["el"]),
                rule("pl", &["@polska"], &["Warsaw", "Варшава"], &["pl", "el"]),
                rule("far", &[], &["North Korea", "Саудовская Аравия", "it", "The Hague"], &["ko"]),
            ],
            into_english: true,
        }
    }

    #[test]
    fn news_of_cyprus_are_searched_in_greek_whatever_they_are_written_in() {
        let policy = policy();
        for (text, language, wanted) in [
            ("Cyprus opened a gas terminal.", "en", &["el (rule cy)"][..]),
            ("На Кипре открыли газовый терминал.", "ru", &["el (rule cy)"]),
            ("Власти Кипра закрыли порт.", "ru", &["el (rule cy)"]),
            ("На Кіпрі відкрили газовий термінал.", "uk", &["el (rule cy)", "en"]),
            ("Открыли газовый терминал #Кипр", "ru", &["el (rule cy)"]),
            ("Η Κύπρος άνοιξε τερματικό.", "el", &["en"]),
            ("Berlin opened a museum.", "en", &[]),
            ("В Берлине открыли музей.", "ru", &[]),
            ("У Берліні відкрили музей.", "uk", &["en"]),
            ("В Варшаве открыли музей о Кипре.", "ru", &["el (rule cy)", "pl (rule pl)"]),
            ("North Korea opened a port.", "en", &["ko (rule far)"]),
            ("В Саудовской Аравии открыли порт.", "ru", &["ko (rule far)"]),
            ("South Korea opened a port north of Seoul; it is new.", "en", &[]),
            ("A port north of Korea opened.", "en", &[]),
            ("A court in The Hague ruled.", "en", &["ko (rule far)"]),
        ] {
            assert_eq!(languages(&policy, text, Some(language), None), wanted, "{text}");
        }
    }

    #[test]
    fn a_language_that_cannot_be_asked_in_is_left_out_and_named() {
        let wanted =
            || ["el", "ko", "de", "pl"].map(|code| SearchLanguage { language: code.to_owned(), rule: None }).to_vec();
        let asked = |has_translator, room| {
            let journal = Journal::new(Instant::now(), Duration::from_secs(1), DateTime::UNIX_EPOCH);
            let kept = possible(wanted(), has_translator, |language| language != "ko", room, &journal);
            (kept.into_iter().map(|one| one.language).collect::<Vec<_>>(), journal.finish().0)
        };
        let (kept, trace) = asked(true, 2);
        assert_eq!(kept, ["el", "de"]);
        assert_eq!(
            trace,
            [
                "queries: not asked in ko: nobody who is to be asked searches in it",
                "queries: not asked in pl: enrichment.queries_max leaves no room for it",
            ]
        );
        assert!(asked(true, 0).0.is_empty());
        let (kept, trace) = asked(false, 2);
        assert!(kept.is_empty() && trace.len() == 4, "{trace:?}");
        assert_eq!(trace[0], "queries: not asked in el: no translator is configured");
    }

    #[test]
    fn a_channel_has_its_languages_and_a_text_in_doubt_is_asked_in_english() {
        let mut policy = policy();
        assert_eq!(
            languages(&policy, "A museum opened.", Some("en"), Some("@POLSKA")),
            ["pl (rule pl)", "el (rule pl)"]
        );
        assert_eq!(languages(&policy, "Музей museum открыт opened", None, None), ["en"]);
        policy.always = words(&["de", "el", "en"]);
        assert_eq!(languages(&policy, "Cyprus opened a museum.", Some("en"), None), ["el (rule cy)", "de"]);
        policy.into_english = false;
        assert_eq!(languages(&policy, "У Берліні відкрили музей.", Some("uk"), None), ["de", "el", "en"]);
        assert!(languages(&LanguagePolicy::default(), "У Берліні відкрили музей.", Some("uk"), None).is_empty());
    }
}
