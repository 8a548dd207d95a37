//! Translation for judging. The stance model that ships reads English, Russian and Ukrainian; where a translator is
//! configured, a claim and the few best passages in another language are put into one the model reads, judged there, and said
//! so (`model:…+translated`). What is stored and cited stays the original text, and figures and dates are compared in it.
//!
//! Bounded: so many passages a claim, so many characters an item ([`super::Settings`]); what was translated is kept by the
//! translator itself, so a retry and the next item of the same story cost nothing. What cannot be translated is compared by
//! words, and the item says that the translator failed.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::{BoxFuture, join_all};
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;

use super::claims::{Claim, Rendering};
use super::read::ReadPage;
use super::{Journal, Services};
use crate::domain::Degradation;
use crate::inference::Pair;
use crate::inference::translation::{Translated, Translator};
use crate::judging::profile::TextProfile;
use crate::language::sentences;
use crate::outbound::AskError;

/// What a judge's name ends in where a translation stands between the texts and the judgement.
pub(super) const TRANSLATED: &str = "translated";

/// Passages of an item that are translated at the same time: a small server has few threads.
const AT_ONCE: usize = 4;

/// Characters put to the translator at once. A sentence takes a small server a second or two, and it is given four; a model
/// stops after some four hundred tokens.
const LONGEST: usize = 320;

/// The question that a translator is asked for judging, which a claim's own text is no part of.
#[derive(Debug, Clone, Copy)]
struct Wish<'a> {
    from: Option<&'a str>,
    into: &'a str,
    until: Instant,
}

/// A pair as it is put to the judge.
#[derive(Debug, Clone)]
pub(super) struct Readable {
    /// In the language that the judge reads; `None` where it stays as it is.
    pub(super) pair: Option<Pair>,
    /// Whether a text in it is a translation, of ours or the claim's own for its queries.
    pub(super) translated: bool,
}

/// The claim in the languages of these pages, where it is known or worth asking for: known from the queries, or the one
/// language that the judge reads while it does not read the claim's own. Where it reads both as they stand, nothing is
/// lost in translation.
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

/// The claim in that language, asked for once; `None` where no translator is configured or it fails, which the item says.
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

/// The same, for whom a translation is a help and no more: what keeps it from being had is the caller's to tell.
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

/// Keeps the claim in another language, with the vector it is compared by.
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

/// A pair that the judge does not read both texts of, and where it stands among those asked about.
struct Unread<'a> {
    at: usize,
    claim: &'a Claim,
    passage: &'a Arc<TextProfile>,
}

/// The pairs as the judge is asked about them, in order: of those it does not read, the best few of each claim (pairs stand
/// best first) in the language it reads.
pub(super) async fn readable(services: &Services, asked: &[(&Claim, &Pair)], journal: &Journal) -> Vec<Readable> {
    let mut readable: Vec<Readable> = asked
        .iter()
        .map(|(claim, pair)| Readable { pair: None, translated: pair.claim.text != claim.profile.text })
        .collect();
    let stance = &services.models.stance;
    let (Some(_), Some(pivot)) = (&services.translator, stance.pivot()) else { return readable };
    let reads = |pair: &Pair| stance.reads(&pair.claim.text) && stance.reads(&pair.passage.text);
    let unread: Vec<Unread<'_>> = asked
        .iter()
        .enumerate()
        .filter(|(_, (_, pair))| !reads(pair))
        .map(|(at, (claim, pair))| Unread { at, claim, passage: &pair.passage })
        .collect();
    let chosen = within_bounds(services, &unread, journal);
    let told = passages(services, &chosen, pivot, journal).await;
    let texts: Vec<&str> = told.iter().flatten().map(String::as_str).collect();
    let mut embeddings = services.embed(&texts, journal).await.into_iter();
    let mut done = 0;
    for (one, text) in chosen.iter().zip(told) {
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
            *place = Readable { pair: Some(pair), translated: true };
            done += 1;
        }
    }
    if !unread.is_empty() {
        journal
            .trace(format!("translate: {done} of {} passage(s) that no model reads judged in {pivot}", unread.len()));
    }
    readable
}

/// The first of each claim, as many as are allowed, while the item's characters last. What the judge reads itself costs none.
fn within_bounds<'a, 'b>(services: &Services, unread: &'b [Unread<'a>], journal: &Journal) -> Vec<&'b Unread<'a>> {
    let settings = &services.settings;
    let mut chosen: Vec<&Unread<'_>> = Vec::new();
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

/// The passages in that language, in order; `None` for what the judge reads as it is, and for what could not be translated.
async fn passages(services: &Services, chosen: &[&Unread<'_>], into: &str, journal: &Journal) -> Vec<Option<String>> {
    let one = |unread: &&Unread<'_>| passage(services, Arc::clone(unread.passage), into, journal).boxed();
    let asked: Vec<BoxFuture<'_, Option<String>>> = chosen.iter().map(one).collect();
    futures::stream::iter(asked).buffered(AT_ONCE).collect().await
}

async fn passage(services: &Services, own: Arc<TextProfile>, into: &str, journal: &Journal) -> Option<String> {
    let translator = services.translator.as_ref()?;
    if services.models.stance.reads(&own.text) || is_too_dear(translator.as_ref(), journal) {
        return None;
    }
    let wish = Wish { from: own.language.as_deref(), into, until: journal.ask_until };
    match whole(translator.as_ref(), &own.text, wish, journal).await {
        Ok(text) => text,
        Err(error) => {
            failed(services, "a passage", &error, journal);
            None
        }
    }
}

/// The whole text in the other language; `None` where any of it has no translation, for half a passage may say the opposite.
async fn whole(
    translator: &dyn Translator,
    text: &str,
    wish: Wish<'_>,
    journal: &Journal,
) -> Result<Option<String>, AskError> {
    let pieces = pieces(text);
    let asked = pieces.iter().map(|piece| translator.translate(piece, wish.from, wish.into, wish.until));
    let mut told: Vec<String> = Vec::with_capacity(pieces.len());
    let mut outcome = Ok(true);
    for translated in join_all(asked).await {
        count(translator, &translated, journal);
        match translated.outcome {
            Ok(Some(piece)) => told.push(piece),
            Ok(None) => outcome = outcome.map(|_| false),
            Err(error) => outcome = Err(error),
        }
    }
    outcome.map(|is_whole| (is_whole && !told.is_empty()).then(|| told.join(" ")))
}

/// The text in lines of whole sentences, none much longer than [`LONGEST`] unless a sentence is.
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
        tracing::warn!(%error, translator = name, "{what} could not be translated; it is compared by words");
        journal.degrade(cause);
    }
    journal.trace(format!("translate: {what} is compared by words: {name} failed: {error}"));
}

/// Whether the item has used up what it may spend on the language model, or its tenant its share, and this is one.
fn is_too_dear(translator: &dyn Translator, journal: &Journal) -> bool {
    if translator.is_language_model() && journal.is_out_of_money() {
        journal.degrade(Degradation::Budget);
        journal.trace("translate: the tenant's share of the month's cap is used up");
        return true;
    }
    let is_too_dear = translator.is_language_model() && journal.llm.is_used_up();
    if is_too_dear {
        journal.trace("translate: this item has used up what it may spend on the language model (llm.usd_per_item)");
    }
    is_too_dear
}

/// Counts the calls to a language model for the item; an answer that was known is none, and neither is one of a translation
/// server.
pub(super) fn count(translator: &dyn Translator, translated: &Translated, journal: &Journal) {
    let Translated { attempts, tokens: (read, written), usd, .. } = translated;
    if *attempts > 0 && translator.is_language_model() {
        journal.asked_language_model(*attempts, read + written, *usd);
    }
}

#[cfg(test)]
pub(super) mod tests;
