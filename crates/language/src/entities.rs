//! Finds names: people, organisations, places and others.
//!
//! 1. The gazetteer has priority.
//! 2. A small network reads Russian and Ukrainian ([`tagger`]).
//! 3. Rules read other languages: capitals, titles, first names, legal forms.
//!
//! A capital at the beginning of a sentence needs other signs. Months and weekdays are no names. To add a name:
//! `gazetteer.txt`; a marker: `entities/markers.rs`.

mod cyrillic;
pub mod kind;
mod markers;
mod tagger;

use std::collections::HashSet;

use self::kind::EntityKind;
use super::dates::names::{self, is_calendar_word};
use super::gazetteer::{self, GazetteerEntry};
use super::lexicon::Words;
use super::names::{name_key, same_key};
use super::sentences::sentences;
use super::{cut, stopwords, tokens};
use corroborate_domain::item::EntityHint;

/// "Bank of America", "Ursula von der Leyen"
static NAME_PARTICLES: Words = Words::of("entities.particle");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// As written.
    pub text: String,
    /// Key for comparison: [`name_key`].
    pub key: String,
    pub kind: EntityKind,
}

struct Word<'a> {
    surface: &'a str,
    /// Normalised, without `'s`.
    text: String,
    start: usize,
    end: usize,
    capital: bool,
    /// At least two letters, all capitals.
    acronym: bool,
}

/// Returns each name once, in order. `hints` from upstream are added unchecked.
pub fn entities(text: &str, language: Option<&str>, hints: &[EntityHint]) -> Vec<Entity> {
    let mut found: Vec<Entity> = Vec::new();
    for hint in hints {
        let kind = EntityKind::from_label(hint.kind.as_deref().unwrap_or_default());
        add(&mut found, Entity { key: name_key(&hint.text), text: hint.text.trim().to_owned(), kind });
    }
    let parts: Vec<Vec<Word<'_>>> = sentences(text).into_iter().map(words_of).collect();
    // Lower case elsewhere excludes a first word; a capital inside a sentence confirms it.
    let small: HashSet<&str> =
        parts.iter().flatten().filter(|word| !word.capital).map(|word| word.text.as_str()).collect();
    let inner: HashSet<&str> = parts
        .iter()
        .flat_map(|words| words.iter().skip(1))
        .filter(|word| word.capital)
        .map(|word| word.text.as_str())
        .collect();
    for (words, sentence) in parts.iter().zip(sentences(text)) {
        if cyrillic::is_read(language) && cyrillic::is_mostly(sentence) && !is_headline(words) {
            cyrillic::in_sentence(words, sentence, language, &mut found);
        } else {
            in_sentence(words, sentence, &small, &inner, &mut found);
        }
    }
    found
}

fn words_of(sentence: &str) -> Vec<Word<'_>> {
    tokens::spans(sentence)
        .into_iter()
        .map(|(start, end)| {
            let surface = cut(sentence, start, end);
            let text = tokens::normalise_word(surface);
            let text = text.strip_suffix("'s").map_or(text.clone(), str::to_owned);
            let letters: Vec<char> = surface.chars().filter(|c| c.is_alphabetic()).collect();
            let capital = letters.first().is_some_and(|c| c.is_uppercase());
            let acronym =
                letters.len() >= 2 && letters.iter().filter(|c| c.is_uppercase()).count() * 3 >= letters.len() * 2;
            Word { surface, text, start, end, capital, acronym }
        })
        .collect()
}

/// Whether capitals mean nothing: "Man Bites Dog in London". Cyrillic headlines use full capitals.
fn is_headline(words: &[Word<'_>]) -> bool {
    static SMALL_WORDS: Words = Words::of("entities.small");
    let (mut capitals, mut others) = (0, 0);
    for word in words.iter().filter(|word| word.surface.chars().all(char::is_alphabetic)) {
        let cyrillic = super::has_cyrillic(word.surface);
        if word.capital && (!cyrillic || word.acronym) {
            capitals += 1;
        } else if cyrillic || !SMALL_WORDS.has(&word.text) {
            others += 1;
        }
    }
    capitals >= 4 && others * 10 <= capitals
}

fn in_sentence(
    words: &[Word<'_>],
    sentence: &str,
    small: &HashSet<&str>,
    inner: &HashSet<&str>,
    found: &mut Vec<Entity>,
) {
    let shouting = is_headline(words);
    let normalised: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        if let Some((known, taken)) = known_at(words, &normalised, index, sentence) {
            let longer = if known.demonym { None } else { institution(words, index, taken, sentence) };
            let (taken, entity) = match longer {
                Some((taken, kind)) => (taken, entity_of(words, index, taken, sentence, kind)),
                None => (
                    taken,
                    Entity { key: known.key.to_owned(), ..entity_of(words, index, taken, sentence, known.kind) },
                ),
            };
            add(found, entity);
            index += taken;
            continue;
        }
        let taken = match (word.capital, shouting) {
            (true, false) => run_length(words, &normalised, index, sentence),
            (true, true) if markers::is_first_name(&word.text) => {
                run_length(words, &normalised, index, sentence).min(2)
            }
            _ => 0,
        };
        if taken == 0 {
            index += 1;
            continue;
        }
        let opener = usize::from(index == 0 && only_opens(words, taken, small));
        let (skip, taken) = trimmed(words, index + opener, taken - opener);
        let skip = skip + opener;
        if taken > 0
            && let Some(kind) = kind_of(words, index + skip, taken, sentence, small, inner)
        {
            add(found, entity_of(words, index + skip, taken, sentence, kind));
        }
        index += (skip + taken).max(1);
    }
}

/// Returns a gazetteer name. It needs a capital, except Cyrillic adjectives of countries.
fn known_at(
    words: &[Word<'_>],
    normalised: &[String],
    index: usize,
    sentence: &str,
) -> Option<(GazetteerEntry, usize)> {
    let word = words.get(index)?;
    let cyrillic = super::has_cyrillic(&word.text);
    if !word.capital && !cyrillic {
        return None;
    }
    if !word.capital {
        return gazetteer::lookup(normalised.get(index..=index)?).filter(|known| known.demonym).map(|known| (known, 1));
    }
    // "U.S." is two one-letter words.
    if let Some(dotted) = dotted_acronym(words, index, sentence) {
        return Some(dotted);
    }
    let ahead = normalised.get(index..(index + 8).min(normalised.len()))?;
    let together =
        (1..ahead.len()).take_while(|step| adjacent(words, index + step - 1, index + step, sentence)).count() + 1;
    let mut matched = gazetteer::longest_match(ahead.get(..together)?)?;
    let lone = matched.words == 1;
    let ambiguous =
        lone && !word.acronym && (stopwords::is_stop_word(&word.text, None) || markers::is_everyday(&word.text));
    // "us", "it" are words; "US", "IT" are names.
    if ambiguous || (lone && markers::needs_capitals(&word.text) && !word.acronym) {
        return None;
    }
    // "Paris Hilton", "Jack London"
    if lone
        && !matched.known.demonym
        && index > 0
        && words.get(index - 1).is_some_and(|before| before.capital && markers::is_first_name(&before.text))
    {
        return None;
    }
    matched.words = matched.words.max(1);
    Some((matched.known, matched.words))
}

fn dotted_acronym(words: &[Word<'_>], index: usize, sentence: &str) -> Option<(GazetteerEntry, usize)> {
    let mut letters = String::new();
    let mut taken = 0;
    while let Some(word) = words.get(index + taken) {
        let single = word.surface.chars().count() == 1 && word.capital;
        let dotted = taken == 0
            || words.get(index + taken - 1).is_some_and(|before| cut(sentence, before.end, word.start) == ".");
        if !single || !dotted {
            break;
        }
        letters.push_str(&word.text);
        taken += 1;
    }
    (taken >= 2).then(|| gazetteer::lookup(&[letters])).flatten().map(|known| (known, taken))
}

fn adjacent(words: &[Word<'_>], first: usize, second: usize, sentence: &str) -> bool {
    words.get(first).zip(words.get(second)).is_some_and(|(a, b)| {
        let between = cut(sentence, a.end, b.start);
        !between.is_empty() && between.chars().all(|c| c == ' ' || c == '\u{a0}' || c == '-' || c == '‑')
            || between == ". "
    })
}

/// Extends a place to "Kyiv School of Economics", but not "Ukraine's Ministry of Defence".
fn institution(words: &[Word<'_>], index: usize, taken: usize, sentence: &str) -> Option<(usize, EntityKind)> {
    let last = index + taken - 1;
    let possessive = words.get(last)?.surface.ends_with(['s', 'S']) && words.get(last)?.surface.contains(['\'', '’']);
    let next =
        words.get(last + 1).filter(|word| word.capital && !possessive && adjacent(words, last, last + 1, sentence))?;
    markers::institution(&next.text).map(|kind| (taken + 1, kind))
}

/// Counts adjacent capitalised words, with connectors only between two.
fn run_length(words: &[Word<'_>], normalised: &[String], index: usize, sentence: &str) -> usize {
    let mut taken = 1;
    while let Some(next) = words.get(index + taken) {
        if !adjacent(words, index + taken - 1, index + taken, sentence) {
            break;
        }
        let possessive = words
            .get(index + taken - 1)
            .is_some_and(|word| word.surface.ends_with("'s") || word.surface.ends_with("’s"));
        if possessive {
            break;
        }
        // "Boeing 73", but not the day in "Зеленский 23 февраля".
        let is_day = || words.get(index + taken + 1).is_some_and(|after| names::month(&after.text).is_some());
        let number = next.surface.chars().all(|c| c.is_ascii_digit()) && next.surface.len() <= 2 && !is_day();
        if next.capital || number {
            // A country is another name: "президент США Джо Байден".
            let known = normalised.get(index + taken..).and_then(gazetteer::longest_match);
            let organisation = words.get(index).is_some_and(|word| markers::institution(&word.text).is_some());
            if known.is_some() && !organisation && taken >= 1 && !number {
                break;
            }
            taken += 1;
            continue;
        }
        let connector = NAME_PARTICLES.has(&next.text);
        let after =
            words.get(index + taken + 1).filter(|_| adjacent(words, index + taken, index + taken + 1, sentence));
        let after_the =
            words.get(index + taken + 2).filter(|_| next.text == "of" && after.is_some_and(|word| word.text == "the"));
        if connector && after.is_some_and(|word| word.capital) {
            taken += 2;
        } else if after_the.is_some_and(|word| word.capital) {
            taken += 3;
        } else {
            break;
        }
    }
    taken
}

/// Whether only the position explains the capital: "Shares of Acme", "Former President Trump".
fn only_opens(words: &[Word<'_>], taken: usize, small: &HashSet<&str>) -> bool {
    let (Some(first), Some(second)) = (words.first(), words.get(1)) else { return false };
    let of_something = taken > 1 && !second.capital && markers::institution(&first.text).is_none();
    taken > 1
        && (of_something || markers::is_opener(&first.text) || (small.contains(first.text.as_str()) && !first.acronym))
}

/// Removes function words, titles and calendar words at both ends.
fn trimmed(words: &[Word<'_>], index: usize, taken: usize) -> (usize, usize) {
    let plain = |at: usize| {
        words.get(at).is_none_or(|word| {
            is_calendar_word(&word.text)
                || (!word.acronym && stopwords::is_stop_word(&word.text, None))
                || word.text == "i"
        })
    };
    let title = |at: usize| words.get(at).is_some_and(|word| markers::is_title(&word.text));
    let mut skip = 0;
    while skip < taken
        && (plain(index + skip)
            || !words.get(index + skip).is_some_and(|word| word.capital)
            || (title(index + skip) && skip + 1 < taken))
    {
        skip += 1;
    }
    let mut end = taken;
    while end > skip
        && (plain(index + end - 1)
            || words
                .get(index + end - 1)
                .is_some_and(|word| word.surface.starts_with(|c: char| c.is_ascii_digit()) && end - skip == 1))
    {
        end -= 1;
    }
    (skip, end - skip)
}

/// Returns the kind; `None` if the capital may be the sentence's.
fn kind_of(
    words: &[Word<'_>],
    index: usize,
    taken: usize,
    sentence: &str,
    small: &HashSet<&str>,
    inner: &HashSet<&str>,
) -> Option<EntityKind> {
    let run = words.get(index..index + taken)?;
    let first = run.first()?;
    let before = index.checked_sub(1).and_then(|at| words.get(at));
    let opens = before.is_none()
        || cut(sentence, before.map_or(0, |word| word.end), first.start).contains(['«', '"', '“', ':', '—']);
    let quoted = cut(sentence, 0, first.start).ends_with(['«', '"', '“', '„']);
    let marked = markers::run_kind(&run.iter().map(|word| word.text.as_str()).collect::<Vec<_>>());
    let titled = before
        .is_some_and(|word| markers::is_title(&word.text) || (word.capital && markers::is_first_name(&word.text)));
    let company = before.is_some_and(|word| markers::precedes_organisation(&word.text));
    let place = before.is_some_and(|word| markers::precedes_place(&word.text));
    if taken == 1 && opens && !titled && !company && !place {
        let sure = first.acronym
            || inner.contains(first.text.as_str())
            || markers::is_first_name(&first.text)
            || markers::is_surname(&first.text)
            || mixed_case(first.surface);
        if !sure || (small.contains(first.text.as_str()) && !first.acronym) {
            return None;
        }
        if first.acronym && markers::is_shouted(&first.text) {
            return None;
        }
    }
    if first.acronym && taken == 1 && cyrillic::names_nothing(first.surface) {
        return None;
    }
    if let Some(kind) = marked {
        return Some(kind);
    }
    let given = taken > 1 && run.iter().any(|word| markers::is_first_name(&word.text));
    if company && !given {
        return Some(EntityKind::Org);
    }
    if place {
        return Some(EntityKind::Loc);
    }
    if titled
        || run.iter().any(|word| markers::is_first_name(&word.text))
        || run.last().is_some_and(|word| markers::is_surname(&word.text))
    {
        return Some(EntityKind::Person);
    }
    if taken == 1 && first.acronym && first.surface.chars().count() <= 6 {
        return Some(EntityKind::Org);
    }
    let words_only = run
        .iter()
        .all(|word| word.surface.chars().all(|c| c.is_alphabetic() || tokens::is_apostrophe(c)) && !word.acronym);
    let hyphenated = taken == 2 && cut(sentence, first.end, run.last().map_or(0, |word| word.start)).contains('-');
    if words_only && !quoted && !hyphenated && (taken == 2 || (taken == 3 && !opens)) {
        return Some(EntityKind::Person);
    }
    Some(EntityKind::Misc)
}

/// Whether inner capitals make it a name.
fn mixed_case(surface: &str) -> bool {
    surface.chars().skip(1).any(char::is_uppercase) && surface.chars().any(char::is_lowercase)
}

fn entity_of(words: &[Word<'_>], index: usize, taken: usize, sentence: &str, kind: EntityKind) -> Entity {
    let start = words.get(index).map_or(0, |word| word.start);
    let end = words.get(index + taken - 1).map_or(start, |word| word.end);
    let text = cut(sentence, start, end);
    let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text);
    Entity { text: text.to_owned(), key: name_key(text), kind }
}

/// Adds a name; a surname is merged with its full name.
fn add(found: &mut Vec<Entity>, entity: Entity) {
    if entity.key.is_empty() || entity.key.chars().count() < 2 {
        return;
    }
    for present in found.iter_mut() {
        if same_key(&present.key, &entity.key) {
            let fuller = entity.key.split(' ').count() > present.key.split(' ').count();
            if fuller && !gazetteer::is_key(&present.key) {
                present.text = entity.text;
                present.key = entity.key;
            }
            if present.kind == EntityKind::Misc {
                present.kind = entity.kind;
            }
            return;
        }
    }
    found.push(entity);
}

/// Returns the weighted Jaccard similarity of the names of claim (`a`) and passage (`b`), 0–1. People, organisations
/// and places weigh 2, others 1. `None` without names in the claim.
pub fn overlap(a: &[Entity], b: &[Entity]) -> Option<f64> {
    if a.is_empty() {
        return None;
    }
    let mut taken = vec![false; b.len()];
    let (mut shared, mut all) = (0.0, 0.0);
    for entity in a {
        let twin = b.iter().zip(&taken).position(|(other, taken)| !taken && same_key(&entity.key, &other.key));
        let weight = entity.kind.weight();
        all += weight;
        if let Some(slot) = twin.and_then(|index| taken.get_mut(index)) {
            *slot = true;
            shared += weight;
        }
    }
    all += b.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(other, _)| other.kind.weight()).sum::<f64>();
    Some(shared / all)
}

#[cfg(test)]
#[path = "entities/tests.rs"]
mod tests;
