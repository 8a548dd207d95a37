//! Compares dates of a claim and a passage that date the same event.
//!
//! [`recurrence`] decides whether another date is another occasion.

use std::collections::HashSet;
use std::sync::LazyLock;

use chrono::Datelike as _;

use crate::out_of_context::is_of_an_older_time;
use crate::profile::{SentenceProfile, SentenceWord, TextProfile};
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Quantity, Unit};
use corroborate_language::{has_cyrillic, stemming, verbs};

use super::FigureMatch;
use super::periods::{DatedMention, periods};
use super::subject::Subject;

/// Minimum share of the claim's words in the sentence of a differing date.
const MIN_EVENT_SHARE: f64 = 0.6;

/// A date in a sentence about the same subject that agrees decides. The only date of such a sentence differs if the claim
/// has one date, and its event happens once or both dates are near.
pub(super) fn date<'a>(
    ours: &DatedMention<'_>,
    claim: &TextProfile,
    passage: &TextProfile,
    theirs: &[DatedMention<'a>],
    subject: &Subject<'_>,
) -> Option<FigureMatch<'a>> {
    let mut differing = None;
    // "On Monday" of a much older page is another event.
    let is_old = is_of_an_older_time(claim, passage.reference);
    let is_comparable = claim.dates.len() == 1 && !is_old;
    let is_of = recurrence(claim);
    for sentence in &passage.sentences {
        let inside: Vec<&DatedMention<'a>> = theirs.iter().filter(|date| date.is_in(sentence)).collect();
        if inside.is_empty() || !subject.is_of(sentence) {
            continue;
        }
        if inside.iter().any(|date| ours.period.is_supported_by(&date.period) == Some(true)) {
            return Some(FigureMatch::Agreement);
        }
        if let [only] = inside.as_slice()
            && is_comparable
            && sentence.denials % 2 == claim.negations % 2
            && ours.period.is_supported_by(&only.period) == Some(false)
            && (is_of == Recurrence::Once
                || is_of == Recurrence::Unknown
                    && ours.period.may_be_of_one_occasion(&only.period)
                    && !has_other_day(sentence, only))
            && crate::coverage::sentence_coverage(claim, sentence) >= MIN_EVENT_SHARE
        {
            differing = differing.or(Some(FigureMatch::Difference(only.mention.text.as_str())));
        }
    }
    differing
}

/// Whether the sentence may have another day without its month: "on 9 and 12 May".
fn has_other_day(sentence: &SentenceProfile, date: &DatedMention<'_>) -> bool {
    let day = date.mention.start.day();
    sentence
        .words
        .iter()
        .filter_map(|word| word.text.parse::<u32>().ok())
        .any(|number| (1..=31).contains(&number) && number != day)
}

/// The dates of a claim about an event that may recur, and those of a passage.
#[derive(Debug)]
pub(crate) struct Occasions<'a> {
    ours: Vec<DatedMention<'a>>,
    theirs: Vec<DatedMention<'a>>,
    is_of: Recurrence,
}

/// Whether another time is another occasion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recurrence {
    /// Recurs, like an annual profit: another year neither supports nor refutes.
    Again,
    /// Another year contradicts, but may be another occasion.
    Unknown,
    /// Happens once, like a birth.
    Once,
}

impl<'a> Occasions<'a> {
    pub(crate) fn new(claim: &'a TextProfile, passage: &'a TextProfile) -> Self {
        let is_dated = !claim.dates.is_empty() && !passage.dates.is_empty();
        let is_of = if is_dated { recurrence(claim) } else { Recurrence::Once };
        let of = |text: &'a TextProfile| if is_of == Recurrence::Once { Vec::new() } else { periods(text) };
        Self { ours: of(claim), theirs: of(passage), is_of }
    }

    /// Whether the sentence's dates are of another occasion. `None` for the same time or a unique event.
    pub(crate) fn another(&self, sentence: &SentenceProfile) -> Option<Recurrence> {
        // "Its best year since 2018" dates no event.
        let mut inside = self.theirs.iter().filter(|date| date.is_in(sentence) && date.period.is_on()).peekable();
        let is_other = |date: &DatedMention<'_>| {
            self.ours.iter().all(|own| {
                own.period.is_supported_by(&date.period) == Some(false)
                    && (self.is_of == Recurrence::Again || !own.period.may_be_of_one_occasion(&date.period))
            })
        };
        let is_another = inside.peek().is_some() && inside.all(is_other);
        is_another.then_some(self.is_of)
    }
}

/// Stems, or their beginnings, of unique events.
static UNIQUE_STEMS: Words = Words::of("recurrence.once");

/// Minimum letters of a stem that may be shorter than such a beginning.
const MIN_STEM_LETTERS: usize = 4;

/// Whole words of unique events.
static UNIQUE_WORDS: Words = Words::of("recurrence.once.whole");

/// Words of recurring events, such as meetings. English by stem, Russian and Ukrainian by beginning, up to
/// [`MAX_ENDING_LETTERS`] letters.
static RECURRENCE_WORDS: Words = Words::of("recurrence.again");
static RECURRENCE_STEMS: LazyLock<HashSet<String>> =
    LazyLock::new(|| RECURRENCE_WORDS.words().map(|word| stemming::stem(word, Some("en"))).collect());
const MAX_ENDING_LETTERS: usize = 3;

struct ClaimWords<'a> {
    all: Vec<&'a SentenceWord>,
    words: Vec<&'a SentenceWord>,
}

impl<'a> ClaimWords<'a> {
    fn of(claim: &'a TextProfile) -> Self {
        let is_name = |stem: &String| claim.name_stems.iter().flatten().any(|name| name == stem);
        let all: Vec<&SentenceWord> = claim.sentences.iter().flat_map(|own| &own.words).collect();
        let words = all.iter().copied().filter(|word| word.content && !is_name(&word.stem)).collect();
        Self { all, words }
    }

    /// Whether a word (or only a verb) means a unique event. "Родился" and "родина" share the stem "род", so whole
    /// words decide too.
    fn are_once(&self, verbs_only: bool) -> bool {
        let begins = |stem: &str| {
            UNIQUE_STEMS.has(stem) || stem.chars().count() >= MIN_STEM_LETTERS && UNIQUE_STEMS.is_cut_short(stem)
        };
        let is_once = |word: &&&SentenceWord| {
            begins(&word.stem) || has_cyrillic(&word.text) && begins(&word.text) || UNIQUE_WORDS.has(&word.text)
        };
        self.words.iter().filter(|word| !verbs_only || verbs::is_past(&word.text)).any(|word| is_once(&word))
    }

    /// Whether the object is any of its kind ("a ferry sank"); another year may be about another one.
    fn are_of_any(&self) -> bool {
        static INDEFINITE_WORDS: Words = Words::of("recurrence.of_any");
        let is_any = |word: &str| INDEFINITE_WORDS.has(word);
        let is_once = |word: &SentenceWord| UNIQUE_STEMS.has(&word.stem);
        self.all.first().is_some_and(|first| is_any(&first.text))
            || self.all.windows(2).any(
                |pair| matches!(pair, [verb, any] if verbs::is_past(&verb.text) && is_once(verb) && is_any(&any.text)),
            )
    }

    fn recur(&self) -> bool {
        self.words.iter().any(|word| {
            if has_cyrillic(&word.text) {
                return RECURRENCE_WORDS.has_form(&word.text, MAX_ENDING_LETTERS);
            }
            RECURRENCE_STEMS.contains(&word.stem)
        })
    }
}

/// Decides by the claim's words, verbs first. A figure counts as recurring, because every year has one.
pub(crate) fn recurrence(claim: &TextProfile) -> Recurrence {
    let is_figure = |quantity: &Quantity| !matches!(quantity.unit, Unit::Year | Unit::Ordinal | Unit::Identifier);
    let words = ClaimWords::of(claim);
    let is_any = words.are_of_any();
    if !is_any && (is_first(claim) || words.are_once(true)) {
        Recurrence::Once
    } else if words.recur() {
        Recurrence::Again
    } else if !is_any && words.are_once(false) {
        Recurrence::Once
    } else if claim.quantities.iter().any(is_figure) {
        Recurrence::Again
    } else {
        Recurrence::Unknown
    }
}

/// "Was first elected", "впервые": a first time happens once.
fn is_first(claim: &TextProfile) -> bool {
    let words: Vec<&str> = claim.sentences.iter().flat_map(|own| &own.words).map(|word| word.text.as_str()).collect();
    words.windows(2).any(|pair| match pair {
        ["first", verb] => verbs::is_past(verb),
        ["his" | "her" | "its" | "their", "first"] => true,
        _ => false,
    }) || words.iter().any(|word| matches!(*word, "впервые" | "вперше"))
}

#[cfg(test)]
mod tests;
