//! What to ask a search engine about a claim: a few short queries in its own words, the most distinct of them. Entity, verb
//! and object; entity, place and date; topic, entity and keyword; without a name the strongest words and the channel (core
//! document, query generation v2).

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

/// Search engines cut or reject longer queries; this is the shortest documented limit (Brave's 400) halved for safety.
const MAX_CHARS: usize = 200;
/// Two queries that share more than this part of their words would bring the same pages.
const MAX_OVERLAP: f64 = 0.8;
/// So many are asked even where they share more, unless they share all: a short claim leaves no room for other words.
const LEAST: usize = 2;
/// Words for what the primary entity does: a verb, its object and what is said of it.
const ACTION_WORDS: usize = 4;
/// Strongest words that stand in for names (core document).
const FALLBACK_WORDS: usize = 6;

/// A claim, and what is known around it.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub text: &'a str,
    /// The sentence it leans on, where it names nobody itself ([`super::statements::Statement::lead`]).
    pub lead: Option<&'a str>,
    pub language: Option<&'a str>,
    pub entities: &'a [Entity],
    pub dates: &'a [DateMention],
    /// Names that stand in tags of the item; see [`identifying_tags`].
    pub tags: &'a [Entity],
    /// When it was published: what it tells of is near that day, unless it names another.
    pub published: Option<NaiveDate>,
    /// Upstream's own words for the item.
    pub summary: Option<&'a str>,
    pub channel: Option<&'a str>,
}

impl<'a> About<'a> {
    /// The names the claim holds, or the sentence it leans on; what upstream found elsewhere in the item is not in it.
    fn names(&self) -> impl Iterator<Item = &'a Entity> {
        let lower = format!("{} {}", self.lead.unwrap_or_default(), self.text).to_lowercase();
        self.entities.iter().filter(move |name| lower.contains(&name.text.to_lowercase()))
    }

    /// Whom or what it is about: the first person or organisation, else the first place, else the first name of any kind.
    fn primary(&self) -> Option<&'a Entity> {
        let actor = |name: &&Entity| matches!(name.kind, EntityKind::Person | EntityKind::Org);
        let place = |name: &&Entity| name.kind == EntityKind::Loc;
        self.names().find(actor).or_else(|| self.names().find(place)).or_else(|| self.names().next())
    }

    /// The tags that say what the claim itself does not.
    fn other_tags(&self) -> impl Iterator<Item = &'a Entity> {
        let said = tokens::content_stems(self.text, self.language);
        let language = self.language;
        let is_said =
            move |tag: &Entity| tokens::content_stems(&tag.text, language).iter().all(|stem| said.contains(stem));
        self.tags.iter().filter(move |tag| !is_said(tag))
    }

    fn keywords(&self) -> Vec<String> {
        keywords::keywords(self.text, self.language, FALLBACK_WORDS)
    }

    /// The day, month or year it speaks of, in words of its language: "yesterday" finds nothing.
    fn date(&self) -> Option<String> {
        let stated = self.dates.first().and_then(|date| in_words(date.start, date.end, self.language));
        stated.or_else(|| {
            let day = self.published?;
            let month = |day: NaiveDate| day.with_day(1);
            in_words(month(day)?, day.with_day(2)?, self.language)
        })
    }
}

/// Names of the sentence it leans on that are set before a claim: enough to tell which story it is.
const LEAD_NAMES: usize = 2;

/// The claim as it is asked first: with the sentence it leans on, or, where that is too long for a search, with its names.
fn itself(about: &About<'_>) -> String {
    let Some(lead) = about.lead else { return about.text.to_owned() };
    let whole = format!("{lead} {}", about.text);
    if whole.chars().count() <= MAX_CHARS {
        return whole;
    }
    behind_names(about.text, lead, about.entities)
}

/// A claim behind the names of the sentence it leans on: for whoever looks for one sentence.
pub fn behind_names(own: &str, lead: &str, entities: &[Entity]) -> String {
    let lower = lead.to_lowercase();
    let names = entities.iter().filter(|name| lower.contains(&name.text.to_lowercase())).take(LEAD_NAMES);
    names.map(|name| name.text.as_str()).chain([own]).collect::<Vec<_>>().join(" ")
}

/// The claim itself first, then as many others as differ enough from it and from each other; `most` at most.
pub fn wordings(about: &About<'_>, most: usize) -> Vec<String> {
    let mut texts: Vec<String> = vec![itself(about)];
    // The summary says in other words what the item is about.
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
        // Too informal for names: the strongest words, and the channel that said them, or the place its tags name.
        let strongest = words.join(" ");
        let channel = about.channel.map(|channel| channel.trim_start_matches('@'));
        texts.push(joined([Some(strongest.as_str()), tag.or(channel)]));
        texts.extend(tag.map(|tag| joined([Some(tag), words.first().map(String::as_str), date.as_deref()])));
    }
    distinct(&texts, most, about.language)
}

/// Names first, then what the claim is about: for providers that cannot take a sentence.
pub fn terms(about: &About<'_>) -> Vec<String> {
    let mut terms: Vec<String> =
        about.entities.iter().chain(about.other_tags()).map(|name| name.text.clone()).collect();
    for word in about.keywords() {
        if !terms.iter().any(|term| term.to_lowercase().contains(&word.to_lowercase())) {
            terms.push(word);
        }
    }
    terms
}

/// The names among a text's hashtags: "#Київ" says where, "#новини" nothing.
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

/// The entity with the verb and the object behind it, or, where it stands last, with what stands before it. Where only the
/// sentence that the claim leans on names it, with what the claim says.
fn action(about: &About<'_>, primary: &Entity) -> Option<String> {
    let words = |part: &str| -> Vec<String> {
        tokens::spans(part)
            .into_iter()
            .map(|(start, end)| cut(part, start, end))
            .filter(|word| {
                let token = tokens::tokens(word, about.language).into_iter().next();
                // What is left of "15-й", and the "million" of "$95 million", find nothing.
                let is_scrap = word.chars().count() < 2 || is_unit_or_scale(&word.to_lowercase());
                !is_scrap && token.is_some_and(|token| !token.stop && !token.number && !is_calendar_word(&token.text))
            })
            .map(str::to_owned)
            .collect()
    };
    let mut all = vec![primary.text.clone()];
    let Some(at) = about.text.find(&primary.text) else {
        all.extend(words(about.text).into_iter().take(ACTION_WORDS));
        return (all.len() > 2).then(|| all.join(" "));
    };
    let behind = words(about.text.get(at + primary.text.len()..)?);
    if behind.len() < 2 {
        all.extend(words(about.text.get(..at)?).into_iter().take(ACTION_WORDS));
    }
    all.extend(behind.into_iter().take(ACTION_WORDS));
    (all.len() > 2).then(|| all.join(" "))
}

/// A phrase without the words of a name; `None` where nothing is left.
fn without(phrase: &str, name: &str, language: Option<&str>) -> Option<String> {
    let own = tokens::content_stems(name, language);
    let other = |word: &&str| !tokens::content_stems(word, language).iter().any(|stem| own.contains(stem));
    let rest = phrase.split(' ').filter(other).collect::<Vec<_>>().join(" ");
    (!rest.is_empty()).then_some(rest)
}

/// A span of days as people write it: a day, a month, a year. `None` for longer ones. In other languages than three the year
/// alone.
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

/// The first, then those that differ most from all that are kept, in the order they came.
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
        if overlap > MAX_OVERLAP && (kept.len() >= LEAST || overlap >= 1.0) {
            break;
        }
        kept.push(rest.remove(at));
    }
    kept.sort_by_key(|(place, ..)| *place);
    kept.into_iter().map(|(_, text, _)| text).collect()
}

/// Part of the words of the longer one that both have.
fn shared(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    a.intersection(b).count() as f64 / a.len().max(b.len()).max(1) as f64
}

/// One line without what engines take for operators: quotation marks, a minus before a word, a name with a colon.
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
