//! Builds short, distinct search queries for a claim, in its own words (core document, query generation v2).
//!
//! 1. The claim, with its lead sentence or the names of it.
//! 2. Entity, verb and object; entity, place and date; topic, entity and keyword.
//! 3. Without a name: the strongest words and the channel.
//!
//! To add a combination: [`wordings`].

use std::collections::HashSet;

use chrono::{Datelike, NaiveDate};

use super::dates::DateMention;
use super::dates::names::is_calendar_word;
use super::entities::kind::EntityKind;
use super::entities::{Entity, entities};
use super::numbers::is_unit_or_scale;
use super::sentences::sentences;
use super::statements::clean;
use super::{cut, dates, keywords, tokens};

/// Characters; half of the shortest documented limit (Brave: 400).
const MAX_CHARS: usize = 200;
/// Queries that share more words return the same pages.
const MAX_OVERLAP: f64 = 0.8;
/// Minimum, even if queries share more (but not all) words.
const MIN_QUERIES: usize = 2;
/// Words of verb, object and predicate.
const MAX_ACTION_WORDS: usize = 4;
/// Words that replace missing names (core document).
const MAX_FALLBACK_WORDS: usize = 6;

#[derive(Debug, Clone, Copy)]
pub struct QuerySubject<'a> {
    pub text: &'a str,
    /// The sentence before a claim without a name ([`super::statements::Statement::lead`]).
    pub lead: Option<&'a str>,
    pub language: Option<&'a str>,
    pub entities: &'a [Entity],
    pub dates: &'a [DateMention],
    /// Names in tags; see [`identifying_tags`].
    pub tags: &'a [Entity],
    /// Events are near this day unless the claim names another.
    pub published: Option<NaiveDate>,
    /// Written by upstream.
    pub summary: Option<&'a str>,
    pub channel: Option<&'a str>,
}

impl<'a> QuerySubject<'a> {
    /// Names of the claim and its lead, not of the rest of the item.
    fn names(&self) -> impl Iterator<Item = &'a Entity> {
        let lower = format!("{} {}", self.lead.unwrap_or_default(), self.text).to_lowercase();
        self.entities.iter().filter(move |name| lower.contains(&name.text.to_lowercase()))
    }

    /// Returns the first person or organisation, else place, else name.
    fn primary(&self) -> Option<&'a Entity> {
        let actor = |name: &&Entity| matches!(name.kind, EntityKind::Person | EntityKind::Org);
        let place = |name: &&Entity| name.kind == EntityKind::Loc;
        self.names().find(actor).or_else(|| self.names().find(place)).or_else(|| self.names().next())
    }

    /// Tags that the claim does not contain.
    fn other_tags(&self) -> impl Iterator<Item = &'a Entity> {
        let own_stems = tokens::content_stems(self.text, self.language);
        let language = self.language;
        let is_in_claim =
            move |tag: &Entity| tokens::content_stems(&tag.text, language).iter().all(|stem| own_stems.contains(stem));
        self.tags.iter().filter(move |tag| !is_in_claim(tag))
    }

    fn keywords(&self) -> Vec<String> {
        keywords::keywords(self.text, self.language, MAX_FALLBACK_WORDS)
    }

    /// Returns day, month or year in the claim's language, because "yesterday" finds nothing.
    fn date(&self) -> Option<String> {
        let stated = self.dates.first().and_then(|date| in_words(date.start, date.end, self.language));
        stated.or_else(|| {
            let day = self.published?;
            let month = |day: NaiveDate| day.with_day(1);
            in_words(month(day)?, day.with_day(2)?, self.language)
        })
    }
}

/// Names of the lead that identify the story.
const MAX_LEAD_NAMES: usize = 2;

/// Returns the claim with its lead, or with the lead's names if that is too long.
fn itself(about: &QuerySubject<'_>) -> String {
    let Some(lead) = about.lead else { return about.text.to_owned() };
    let whole = format!("{lead} {}", about.text);
    if whole.chars().count() <= MAX_CHARS {
        return whole;
    }
    behind_names(about.text, lead, about.entities)
}

/// Returns a claim after the names of its lead, for sentence search.
pub fn behind_names(own: &str, lead: &str, entities: &[Entity]) -> String {
    let lower = lead.to_lowercase();
    let names = entities.iter().filter(|name| lower.contains(&name.text.to_lowercase())).take(MAX_LEAD_NAMES);
    names.map(|name| name.text.as_str()).chain([own]).collect::<Vec<_>>().join(" ")
}

/// Returns at most `most` queries: the claim, then those that differ enough.
pub fn wordings(about: &QuerySubject<'_>, most: usize) -> Vec<String> {
    let mut texts: Vec<String> = vec![itself(about)];
    let summary = about.summary.map(clean);
    texts.extend(summary.iter().flat_map(|summary| sentences(summary)).next().map(str::to_owned));
    let words = about.keywords();
    let date = about.date();
    let tag = about.other_tags().next().map(|tag| tag.text.as_str());
    if let Some(primary) = about.primary() {
        texts.extend(action(about, primary));
        let own = || about.names().filter(|name| name.text != primary.text);
        let place = own()
            .chain(about.other_tags())
            .find(|name| name.kind == EntityKind::Loc)
            .or_else(|| own().next())
            .map(|name| name.text.as_str());
        texts.push(joined([Some(primary.text.as_str()), place, date.as_deref()]));
        let mut topics = words.iter().filter_map(|words| without(words, &primary.text, about.language));
        let (topic, keyword) = (topics.next(), topics.next());
        texts.push(joined([topic.as_deref(), Some(primary.text.as_str()), keyword.as_deref()]));
    } else {
        // No names: the strongest words, and the channel or tagged place.
        let strongest = words.join(" ");
        let channel = about.channel.map(|channel| channel.trim_start_matches('@'));
        texts.push(joined([Some(strongest.as_str()), tag.or(channel)]));
        texts.extend(tag.map(|tag| joined([Some(tag), words.first().map(String::as_str), date.as_deref()])));
    }
    distinct(&texts, most, about.language)
}

/// Returns names, then keywords, for providers without sentence search.
pub fn terms(about: &QuerySubject<'_>) -> Vec<String> {
    let mut terms: Vec<String> =
        about.entities.iter().chain(about.other_tags()).map(|name| name.text.clone()).collect();
    for word in about.keywords() {
        if !terms.iter().any(|term| term.to_lowercase().contains(&word.to_lowercase())) {
            terms.push(word);
        }
    }
    terms
}

/// Returns the names among hashtags: "#Київ", not "#новини".
pub fn identifying_tags(text: &str) -> Vec<Entity> {
    let tags = text.split_whitespace().filter_map(|word| word.trim_start_matches(['(', '"', '«']).strip_prefix('#'));
    let mut found: Vec<Entity> = Vec::new();
    for tag in tags {
        let word = tag.trim_end_matches(|c: char| !c.is_alphanumeric()).replace('_', " ");
        let named = entities(&word, None, &[]).into_iter().filter(|name| name.kind != EntityKind::Misc);
        for name in named {
            if !found.iter().any(|known| known.key == name.key) {
                found.push(name);
            }
        }
    }
    found
}

fn joined<const N: usize>(parts: [Option<&str>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the entity with verb and object after it, or with the words before it. If only the lead names it, the words
/// of the claim follow.
fn action(about: &QuerySubject<'_>, primary: &Entity) -> Option<String> {
    let words = |part: &str| -> Vec<String> {
        tokens::spans(part)
            .into_iter()
            .map(|(start, end)| cut(part, start, end))
            .filter(|word| {
                let token = tokens::tokens(word, about.language).into_iter().next();
                // "15-й", "$95 million": the rest of a number finds nothing.
                let is_scrap = word.chars().count() < 2 || is_unit_or_scale(&word.to_lowercase());
                !is_scrap && token.is_some_and(|token| !token.stop && !token.number && !is_calendar_word(&token.text))
            })
            .map(str::to_owned)
            .collect()
    };
    let mut all = vec![primary.text.clone()];
    let Some(at) = about.text.find(&primary.text) else {
        all.extend(words(about.text).into_iter().take(MAX_ACTION_WORDS));
        return (all.len() > 2).then(|| all.join(" "));
    };
    let behind = words(about.text.get(at + primary.text.len()..)?);
    if behind.len() < 2 {
        all.extend(words(about.text.get(..at)?).into_iter().take(MAX_ACTION_WORDS));
    }
    all.extend(behind.into_iter().take(MAX_ACTION_WORDS));
    (all.len() > 2).then(|| all.join(" "))
}

fn without(phrase: &str, name: &str, language: Option<&str>) -> Option<String> {
    let own = tokens::content_stems(name, language);
    let other = |word: &&str| !tokens::content_stems(word, language).iter().any(|stem| own.contains(stem));
    let rest = phrase.split(' ').filter(other).collect::<Vec<_>>().join(" ");
    (!rest.is_empty()).then_some(rest)
}

/// Returns a day, month or year in words; `None` for longer periods. Other languages get the year.
fn in_words(start: NaiveDate, end: NaiveDate, language: Option<&str>) -> Option<String> {
    if start.year() != end.year() {
        return None;
    }
    let year = start.year();
    let (month, language) = (start.month(), language.unwrap_or("en"));
    let Some(alone) = dates::names::month_alone(month, language).filter(|_| month == end.month()) else {
        return Some(year.to_string());
    };
    Some(if start == end {
        format!("{} {} {year}", start.day(), dates::names::month_behind_a_day(month, language)?)
    } else {
        format!("{alone} {year}")
    })
}

/// Returns the first and then the most different ones, in order.
fn distinct(texts: &[String], most: usize, language: Option<&str>) -> Vec<String> {
    let mut rest: Vec<(usize, String, HashSet<String>)> = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        let text = plain(text);
        let words: HashSet<String> = tokens::tokens(&text, language).into_iter().map(|token| token.stem).collect();
        if !words.is_empty() {
            rest.push((place, text, words));
        }
    }
    let mut kept: Vec<(usize, String, HashSet<String>)> = Vec::new();
    while kept.len() < most && !rest.is_empty() {
        let overlap =
            |words: &HashSet<String>| kept.iter().map(|(_, _, known)| shared(words, known)).fold(0.0, f64::max);
        let next =
            rest.iter().enumerate().map(|(at, (_, _, words))| (at, overlap(words))).min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((at, overlap)) = next else { break };
        if overlap > MAX_OVERLAP && (kept.len() >= MIN_QUERIES || overlap >= 1.0) {
            break;
        }
        kept.push(rest.remove(at));
    }
    kept.sort_by_key(|(place, ..)| *place);
    kept.into_iter().map(|(_, text, _)| text).collect()
}

/// Returns the common words as a share of the longer query.
fn shared(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    a.intersection(b).count() as f64 / a.len().max(b.len()).max(1) as f64
}

/// Removes search operators: quotes, a minus before a word, a name with a colon.
fn plain(text: &str) -> String {
    let without_quotes: String =
        text.chars().map(|c| if matches!(c, '"' | '“' | '”' | '„' | '«' | '»') { ' ' } else { c }).collect();
    let words = without_quotes.split_whitespace().map(|word| word.trim_start_matches(['-', '+', '~']));
    let words = words.filter(|word| word.chars().any(char::is_alphanumeric));
    let line = words.map(|word| word.trim_end_matches(':')).collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
#[path = "queries/tests.rs"]
mod tests;
