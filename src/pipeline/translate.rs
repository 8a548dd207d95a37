//! Translates claims and passages for the NLI model.
//!
//! The shipped model reads English, Russian and Ukrainian. With a translator, a claim and its best passages in other
//! languages are judged in translation (`model:…+translated`). The original is stored and cited, and its figures and
//! dates are compared.
//!
//! Limits: passages per claim and characters per item ([`super::Settings`]). The translator caches its answers. After
//! a failure, texts are compared by words and the result is degraded.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::{BoxFuture, join_all};
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;

use super::claims::{Claim, Rendering};
use super::read::ReadPage;
use super::run_context::Journal;
use super::services::Services;
use crate::domain::Degradation;
use crate::inference::Pair;
use crate::inference::translation::{Translation, Translator};
use crate::judging::profile::TextProfile;
use crate::language::sentences;
use crate::outbound::AskError;

/// Suffix of a judge's name.
pub(super) const TRANSLATED: &str = "translated";

/// Parallel translations: a small server has few threads.
const AT_ONCE: usize = 4;

/// Characters per request: a small server takes one or two of four seconds per sentence, and a model stops after
/// about 400 tokens.
const LONGEST: usize = 320;

#[derive(Debug, Clone, Copy)]
struct TranslationRequest<'a> {
    from: Option<&'a str>,
    into: &'a str,
    until: Instant,
}

#[derive(Debug, Clone)]
pub(super) struct ReadablePair {
    /// `None` if it stays as it is.
    pub(super) pair: Option<Pair>,
    pub(super) translated: bool,
}

/// Returns translations of the claim into the pages' languages: existing ones, and one for the NLI model if it does
/// not read the claim. None if it reads both.
pub(super) async fn in_languages_of(
    services: &Services,
    claim: &Claim,
    pages: &[&ReadPage],
    journal: &Journal,
) -> Vec<(String, Arc<Rendering>)> {
    let stance = &services.models.stance;
    let own = claim.profile.language.as_deref();
    let reads_claim = stance.reads(&claim.profile.text);
    let languages: BTreeSet<&str> = pages
        .iter()
        .filter_map(|read| read.page.language.as_deref())
        .filter(|language| Some(*language) != own)
        .collect();
    let mut found = Vec::new();
    for language in languages {
        let mut texts = pages.iter().filter(|read| read.page.language.as_deref() == Some(language));
        let reads_pages = texts.any(|read| read.page.passages.first().is_some_and(|one| stance.reads(&one.text)));
        if reads_claim && reads_pages {
            continue;
        }
        let known = claim.renderings.get(language);
        let rendering = match known {
            Some(rendering) => Some(rendering),
            None if !reads_claim && stance.pivot() == Some(language) => {
                of_claim(services, claim, language, journal).await
            }
            None => None,
        };
        found.extend(rendering.map(|rendering| (language.to_owned(), rendering)));
    }
    found
}

/// Translates the claim once; `None` without a translator, or if it fails.
pub(super) async fn of_claim(
    services: &Services,
    claim: &Claim,
    into: &str,
    journal: &Journal,
) -> Option<Arc<Rendering>> {
    match try_claim(services, claim, into, journal).await {
        Ok(rendering) => rendering,
        Err(error) => {
            failed(services, "a claim", &error, journal);
            None
        }
    }
}

/// Translates as [`of_claim`], but returns the error.
pub(super) async fn try_claim(
    services: &Services,
    claim: &Claim,
    into: &str,
    journal: &Journal,
) -> Result<Option<Arc<Rendering>>, AskError> {
    if let Some(known) = claim.renderings.get(into) {
        return Ok(Some(known));
    }
    let Some(translator) = &services.translator else { return Ok(None) };
    let from = claim.profile.language.as_deref();
    if is_too_dear(translator.as_ref(), journal) {
        return Ok(None);
    }
    let translated = translator.translate(&claim.text, from, into, journal.ask_until).await;
    count(translator.as_ref(), &translated, journal);
    let Some(text) = translated.outcome? else { return Ok(None) };
    let profile = TextProfile::new(&text, Some(into), claim.profile.reference, &[]);
    Ok(Some(keep(services, claim, into, profile, journal).await))
}

pub(super) async fn keep(
    services: &Services,
    claim: &Claim,
    language: &str,
    profile: TextProfile,
    journal: &Journal,
) -> Arc<Rendering> {
    let embedding = services.embed(&[&profile.text], journal).await.pop().unwrap_or_default();
    claim.renderings.keep(language, profile.embedded(embedding.vector, embedding.space))
}

struct UnreadPair<'a> {
    at: usize,
    claim: &'a Claim,
    passage: &'a Arc<TextProfile>,
}

/// Returns the pairs in order. Of those that the NLI model cannot read, each claim's first, best ones are translated.
pub(super) async fn readable(services: &Services, asked: &[(&Claim, &Pair)], journal: &Journal) -> Vec<ReadablePair> {
    let mut readable: Vec<ReadablePair> = asked
        .iter()
        .map(|(claim, pair)| ReadablePair { pair: None, translated: pair.claim.text != claim.profile.text })
        .collect();
    let stance = &services.models.stance;
    let (Some(_), Some(pivot)) = (&services.translator, stance.pivot()) else { return readable };
    let reads = |pair: &Pair| stance.reads(&pair.claim.text) && stance.reads(&pair.passage.text);
    let unread: Vec<UnreadPair<'_>> = asked
        .iter()
        .enumerate()
        .filter(|(_, (_, pair))| !reads(pair))
        .map(|(at, (claim, pair))| UnreadPair { at, claim, passage: &pair.passage })
        .collect();
    let chosen = within_bounds(services, &unread, journal);
    let translations = passages(services, &chosen, pivot, journal).await;
    let texts: Vec<&str> = translations.iter().flatten().map(String::as_str).collect();
    let mut embeddings = services.embed(&texts, journal).await.into_iter();
    let mut done = 0;
    for (one, text) in chosen.iter().zip(translations) {
        let embedding = text.as_ref().and_then(|_| embeddings.next()).unwrap_or_default();
        let passage = match text {
            Some(text) => Arc::new(
                TextProfile::new(&text, Some(pivot), one.passage.reference, &[])
                    .embedded(embedding.vector, embedding.space),
            ),
            None if stance.reads(&one.passage.text) => Arc::clone(one.passage),
            None => continue,
        };
        let pair = if stance.reads(&one.claim.profile.text) {
            services.comparable(one.claim, &passage)
        } else {
            let Some(rendering) = of_claim(services, one.claim, pivot, journal).await else { continue };
            services.compared(&rendering.profile, &rendering.forms, &passage)
        };
        if let Some(place) = readable.get_mut(one.at) {
            *place = ReadablePair { pair: Some(pair), translated: true };
            done += 1;
        }
    }
    if !unread.is_empty() {
        journal
            .trace(format!("translate: {done} of {} passage(s) that no model reads judged in {pivot}", unread.len()));
    }
    readable
}

/// Selects each claim's first pairs within the limits.
fn within_bounds<'a, 'b>(
    services: &Services,
    unread: &'b [UnreadPair<'a>],
    journal: &Journal,
) -> Vec<&'b UnreadPair<'a>> {
    let settings = &services.settings;
    let mut chosen: Vec<&UnreadPair<'_>> = Vec::new();
    for one in unread {
        let of_claim = chosen.iter().filter(|other| std::ptr::eq(other.claim, one.claim)).count();
        let has_room = of_claim < settings.translated_passages;
        let is_read = services.models.stance.reads(&one.passage.text);
        let characters = if is_read { 0 } else { one.passage.text.chars().count() };
        if has_room && journal.may_translate(characters, settings.translated_chars) {
            chosen.push(one);
        }
    }
    chosen
}

/// Returns `None` for passages that the model reads, and for failures.
async fn passages(
    services: &Services,
    chosen: &[&UnreadPair<'_>],
    into: &str,
    journal: &Journal,
) -> Vec<Option<String>> {
    let one = |unread: &&UnreadPair<'_>| passage(services, Arc::clone(unread.passage), into, journal).boxed();
    let asked: Vec<BoxFuture<'_, Option<String>>> = chosen.iter().map(one).collect();
    futures::stream::iter(asked).buffered(AT_ONCE).collect().await
}

async fn passage(services: &Services, own: Arc<TextProfile>, into: &str, journal: &Journal) -> Option<String> {
    let translator = services.translator.as_ref()?;
    if services.models.stance.reads(&own.text) || is_too_dear(translator.as_ref(), journal) {
        return None;
    }
    let request = TranslationRequest { from: own.language.as_deref(), into, until: journal.ask_until };
    match whole(translator.as_ref(), &own.text, request, journal).await {
        Ok(text) => text,
        Err(error) => {
            failed(services, "a passage", &error, journal);
            None
        }
    }
}

/// Translates a text; `None` if any part fails: half a passage may say the opposite.
async fn whole(
    translator: &dyn Translator,
    text: &str,
    request: TranslationRequest<'_>,
    journal: &Journal,
) -> Result<Option<String>, AskError> {
    let pieces = pieces(text);
    let asked = pieces.iter().map(|piece| translator.translate(piece, request.from, request.into, request.until));
    let mut parts: Vec<String> = Vec::with_capacity(pieces.len());
    let mut outcome = Ok(true);
    for translated in join_all(asked).await {
        count(translator, &translated, journal);
        match translated.outcome {
            Ok(Some(piece)) => parts.push(piece),
            Ok(None) => outcome = outcome.map(|_| false),
            Err(error) => outcome = Err(error),
        }
    }
    outcome.map(|is_whole| (is_whole && !parts.is_empty()).then(|| parts.join(" ")))
}

/// Splits into whole sentences, up to [`LONGEST`] or one sentence.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for sentence in sentences::sentences(text) {
        let line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        match pieces.last_mut() {
            Some(last) if last.chars().count() + line.chars().count() < LONGEST => {
                last.push(' ');
                last.push_str(&line);
            }
            _ if line.is_empty() => {}
            _ => pieces.push(line),
        }
    }
    pieces
}

fn failed(services: &Services, what: &str, error: &AskError, journal: &Journal) {
    let name = services.translator.as_ref().map_or("no translator", |translator| translator.name());
    let cause = Degradation::ModelFailed("translator".to_owned());
    if !journal.is_degraded_by(&cause) {
        tracing::warn!(%error, translator = name, "translation of {what} failed; comparing words");
        journal.degrade(cause);
    }
    journal.trace(format!("translate: {what} is compared by words: {name} failed: {error}"));
}

/// Whether the item's budget is used up.
fn is_too_dear(translator: &dyn Translator, journal: &Journal) -> bool {
    let is_too_dear = translator.is_language_model() && journal.llm.is_used_up();
    if is_too_dear {
        journal.trace("translate: this item has used up what it may spend on the language model (llm.usd_per_item)");
    }
    is_too_dear
}

/// Counts calls; cached answers and translation servers are free.
pub(super) fn count(translator: &dyn Translator, translated: &Translation, journal: &Journal) {
    let Translation { attempts, tokens: (read, written), usd, .. } = translated;
    if *attempts > 0 && translator.is_language_model() {
        journal.asked_language_model(*attempts, read + written, *usd);
    }
}

#[cfg(test)]
pub(super) mod tests;
