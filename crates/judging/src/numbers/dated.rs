//! Compares dates of a claim and a passage that date the same event.
//!
//! [`date`] finds the claim's dated event, then its date in the passage. [`recurrence`] decides whether another date is
//! another occasion.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::out_of_context::is_of_an_older_time;
use crate::profile::{SentenceProfile, SentenceWord, TextProfile};
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Quantity, Unit};
use corroborate_language::{has_cyrillic, stemming, tokens, verbs};

use super::FigureMatch;
use super::periods::{DatedMention, periods};
use super::subject::Subject;

/// Minimum share of the claim's words near a differing date, besides the event and its object.
const MIN_EVENT_SHARE: f64 = 0.6;

/// Words that begin a new clause without a comma.
static CLAUSE_JOINTS: Words = Words::of("figures.clause_joint");

/// A date about the same thing that agrees decides; otherwise the one date of the same event differs.
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
    let event = if claim.dates.len() == 1 { event(ours, claim) } else { None };
    for sentence in &passage.sentences {
        let inside: Vec<&DatedMention<'a>> = theirs.iter().filter(|date| date.is_in(sentence)).collect();
        if inside.is_empty() || !subject.is_of(sentence) {
            continue;
        }
        let may_differ = crate::polarity::agree_in_denial(claim, sentence);
        if inside.iter().any(|date| ours.period.is_supported_by(&date.period) == Some(true)) {
            return Some(FigureMatch::Agreement);
        }
        if may_differ
            && let Some(event) = &event
            && let Some(date) = date_of(event, &inside, sentence, passage)
            && ours.period.is_supported_by(&date.period) == Some(false)
            && (other_date_contradicts(event, claim)
                || ours.period.may_be_of_one_occasion(&date.period) && recurrence(claim) != Recurrence::Again)
            && !is_old
            && crate::coverage::sentence_coverage(claim, sentence) >= MIN_EVENT_SHARE
        {
            differing = differing.or(Some(FigureMatch::Difference(date.mention.text.as_str())));
        }
    }
    differing
}

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
        if claim.dates.is_empty() || passage.dates.is_empty() {
            return Self { ours: Vec::new(), theirs: Vec::new(), is_of: Recurrence::Once };
        }
        let ours = periods(claim);
        let is_adjective = |own: &DatedMention<'_>| matches!(event(own, claim), Some(Event::Adjective));
        let is_of = if ours.iter().any(is_adjective) { Recurrence::Once } else { recurrence(claim) };
        Self { theirs: if is_of == Recurrence::Once { Vec::new() } else { periods(passage) }, ours, is_of }
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
        let is_another = self.is_of != Recurrence::Once && inside.peek().is_some() && inside.all(is_other);
        is_another.then_some(self.is_of)
    }
}

enum Event {
    /// The event's stem, and the name stems on its far side from the date.
    Stem { word: String, names: Vec<String> },
    /// "Is a 1969 film": only an adjective can contradict it.
    Adjective,
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

/// Whether another date contradicts: an adjective ("a 1969 film") or a unique event. In Russian and Ukrainian, which no
/// model reads, also an unknown one; another step keeps it from refuting.
fn other_date_contradicts(event: &Event, claim: &TextProfile) -> bool {
    matches!(event, Event::Adjective)
        || match recurrence(claim) {
            Recurrence::Once => true,
            Recurrence::Unknown => has_cyrillic(&claim.text),
            Recurrence::Again => false,
        }
}

/// The nearest word before the date that is neither name nor figure, or after a leading date. `None` without a
/// comparable event.
fn event(date: &DatedMention<'_>, claim: &TextProfile) -> Option<Event> {
    let sentence = claim.sentences.iter().find(|own| date.is_in(own))?;
    let before = claim.text.get(sentence.start..date.start())?;
    let is_name = |stem: &String| claim.name_stems.iter().flatten().any(|name| name == stem);
    if is_adjective(before) {
        return Some(Event::Adjective);
    }
    // "Blade Runner 2049": a year right after a name belongs to the name.
    let is_year = date.mention.text.chars().all(|digit| digit.is_ascii_digit());
    if is_year && last_word(before).is_some_and(|last| content(last, claim).iter().any(is_name)) {
        return None;
    }
    let own = content(before, claim);
    if let Some(at) = own.iter().rposition(|stem| !is_name(stem)) {
        return Some(Event::Stem { word: own.get(at)?.clone(), names: own.get(at + 1..)?.to_vec() });
    }
    // "On 24 February Vladimir Putin announced": names before the word are the actor.
    let after = claim.text.get(date.end()..sentence.end)?.trim_start_matches([',', ' ']);
    let follows = content(clause(after), claim);
    let at = follows.iter().position(|stem| !is_name(stem))?;
    let names = follows.get(at + 1..)?.iter().filter(|stem| is_name(stem)).cloned().collect();
    Some(Event::Stem { word: follows.get(at)?.clone(), names })
}

/// The event's only date in the sentence; "founded in 1994, and sold in 2002" has two events. `None` if unclear, or if
/// the event is apart from its date.
fn date_of<'d, 'a>(
    event: &Event,
    inside: &[&'d DatedMention<'a>],
    sentence: &SentenceProfile,
    passage: &TextProfile,
) -> Option<&'d DatedMention<'a>> {
    let is_of = |position: usize| {
        let to = inside.get(position + 1).map_or(sentence.end, |next| next.start());
        let date = inside.get(position)?;
        let after = passage.text.get(date.end()..to)?;
        let before = match position.checked_sub(1).and_then(|last| inside.get(last)) {
            Some(last) => behind_clause(passage.text.get(last.end()..date.start())?),
            None => passage.text.get(sentence.start..date.start())?,
        };
        let is_same = match event {
            Event::Adjective => is_adjective(before),
            Event::Stem { word, names } => {
                let context = date_context(before, after, passage);
                context.event.contains(word) && names.iter().all(|name| context.names.contains(name))
            }
        };
        is_same.then_some(*date)
    };
    let mut found = (0..inside.len()).filter_map(is_of);
    found.next().filter(|_| found.next().is_none())
}

struct DateContext {
    /// Possible events.
    event: Vec<String>,
    /// Possible objects, of the whole clause.
    names: Vec<String>,
}

fn date_context(before: &str, after: &str, passage: &TextProfile) -> DateContext {
    let first = content(before, passage);
    let follows = || content(after, passage);
    let both = |rest: Vec<String>| first.iter().cloned().chain(rest).collect::<Vec<_>>();
    match last_word(before) {
        // "Is a 1994 film directed by", "the 1994 flood": the event follows.
        Some("a" | "an") => DateContext { event: follows(), names: both(follows()) },
        Some("the") => DateContext { event: both(follows()), names: both(follows()) },
        // "In 1994 it was founded".
        _ if first.is_empty() => DateContext { event: follows(), names: follows() },
        _ => {
            let clause = both(content(clause(after), passage));
            // With free word order the whole clause counts: "Компания в 1994 году основана".
            let is_free = passage.language.as_deref() != Some("en");
            DateContext { event: if is_free { clause.clone() } else { first }, names: clause }
        }
    }
}

fn clause(words: &str) -> &str {
    let stop = words.find([',', ';', ':', '(', ')', '—', '–']).unwrap_or(words.len());
    let words = words.get(..stop).unwrap_or(words);
    let joined = words.split_inclusive(char::is_whitespace).take_while(|word| !CLAUSE_JOINTS.has(word.trim_end()));
    words.get(..joined.map(str::len).sum()).unwrap_or(words)
}

/// The words between two dates, without the first one's clause if that ends.
fn behind_clause(between: &str) -> &str {
    between.get(clause(between).len()..).filter(|rest| !rest.is_empty()).unwrap_or(between)
}

fn is_adjective(before: &str) -> bool {
    matches!(last_word(before), Some("a" | "an"))
}

fn last_word(words: &str) -> Option<&str> {
    words.split_whitespace().next_back()
}

fn content(words: &str, text: &TextProfile) -> Vec<String> {
    let tokens = tokens::tokens(words, text.language.as_deref()).into_iter();
    tokens.filter(|token| !token.stop && !token.number).map(|token| token.stem).collect()
}

#[cfg(test)]
mod tests;
