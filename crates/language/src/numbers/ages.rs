//! Reads durations in centuries and millennia: "over 4 centuries", "три века".
//!
//! A ranked century is none, often without an ending: "в 19 веке", "the 18 and 19 centuries".

use super::{Reader, Unit, Value, comparators, units, words};
use crate::lexer::Lexeme;
use crate::lexicon::Words;

static CENTURIES: Words = Words::of("numbers.ages.centuries");
static MILLENNIA: Words = Words::of("numbers.ages.millennia");

/// Words after 2–4, and after more.
static FEW: Words = Words::of("numbers.ages.few");
static MANY: Words = Words::of("numbers.ages.many");

/// Before a count; a rank has another case ("за 3 века").
const FOR: &[&str] = &["за", "через", "спустя"];
/// Words before a genitive plural: "на протяжении 5 веков".
static DURING: Words = Words::of("numbers.ages.during");

/// Cricket: verbs before 100 runs, and words before their count.
static SCORED: Words = Words::of("numbers.ages.scored");
static HELD: Words = Words::of("numbers.ages.held");
/// Words after past centuries.
static PASSED: Words = Words::of("numbers.ages.passed");
/// Cricket: nouns after "century", and competitions.
static OF_A_HUNDRED: Words = Words::of("numbers.ages.of_a_hundred");
static PLAYED: Words = Words::of("numbers.ages.played");
/// A name may follow the duration: "for two centuries from London".
static LASTED: Words = Words::of("numbers.ages.lasted");
/// "centuries-old"
const OF_AGE: &[&str] = &["decades", "centuries", "millennia"];
/// Lexemes searched for a batsman.
const BATSMAN: usize = 4;

/// Returns the months of a unit.
fn months(word: &str) -> Option<f64> {
    CENTURIES.has(word).then_some(1_200.0).or_else(|| MILLENNIA.has(word).then_some(12_000.0))
}

impl Reader<'_> {
    pub(super) fn is_an_age(&self, index: usize) -> bool {
        self.word_at(Some(index)).is_some_and(|word| months(word).is_some())
    }

    /// Reads centuries after a count.
    pub(super) fn age_after(&self, value: Value) -> Option<units::Found> {
        let last = value.next.checked_sub(1)?;
        let joined = self.lexemes.get(value.next).is_some_and(|sign| sign.is_sign('-'))
            && self.glued(last, value.next)
            && self.glued(value.next, value.next + 1);
        let at = value.next + usize::from(joined);
        let word = self.word_at(Some(at))?;
        let factor = months(word)?;
        let digits = self.lexemes.get(last).is_some_and(Lexeme::is_number);
        let in_words = self.word_at(Some(last)).is_some_and(|number| {
            words::cardinal(number).is_some() || words::scale(number).is_some() || is_a_half(number)
        });
        let one = value.amount <= 1.0 && !digits;
        let lasts = if word.is_ascii() {
            let several = value.amount > 1.0 && (!word.ends_with(['y', 'm']) || (joined && in_words));
            let listed = digits && self.stands_behind_another(last);
            (one || several) && !listed && !self.is_batted(last)
        } else {
            !joined && (one || in_words || (digits && self.lasts_so_many(last, word, value.amount)))
        };
        (lasts && !value.ordinal && !self.is_of_an_old_thing(value.next)).then_some(units::Found {
            unit: Unit::Measure("month"),
            factor,
            offset: 0.0,
            taken: 1 + usize::from(joined),
        })
    }

    /// Whether another rank precedes: "the 18 and 19 centuries".
    fn stands_behind_another(&self, number: usize) -> bool {
        let joint = number.checked_sub(1).and_then(|at| self.lexemes.get(at));
        joint.is_some_and(|joint| {
            joint.is_sign('-') || joint.is_sign('–') || matches!(joint.word(), Some("and" | "or" | "to" | "the"))
        })
    }

    /// Whether it is a cricket score: "scored two centuries". "Made two centuries ago" is none.
    pub(super) fn is_batted(&self, number: usize) -> bool {
        let before = self.lexemes.get(number.saturating_sub(BATSMAN)..number).unwrap_or_default();
        let scored = before.iter().filter_map(Lexeme::word).any(|word| SCORED.has(word));
        let held = self.word_at(number.checked_sub(1)).is_some_and(|word| HELD.has(word));
        let passed = self.word_at(Some(number + 2)).is_some_and(|word| PASSED.has(word));
        (scored || held || self.is_a_batsmans(number)) && !passed
    }

    /// Whether cricket is meant: "Two centuries from Root", "a century stand", "Kohli's three centuries".
    fn is_a_batsmans(&self, number: usize) -> bool {
        let word = |at: usize| self.word_at(Some(at));
        let capital = |at: Option<usize>| {
            at.and_then(|at| self.lexemes.get(at)).is_some_and(|name| name.text.starts_with(char::is_uppercase))
        };
        let lasted = self.word_at(number.checked_sub(1)).is_some_and(|word| LASTED.has(word));
        let made_by = matches!(word(number + 2), Some("from" | "by")) && capital(Some(number + 3)) && !lasted;
        let made_in = word(number + 2) == Some("in")
            && (number + 3..=number + 5).any(|at| word(at).is_some_and(|word| PLAYED.has(word)));
        let whose = number.checked_sub(1);
        let of_someone = capital(whose) && self.word_at(whose).is_some_and(|word| word.ends_with("'s"));
        made_by || made_in || of_someone || word(number + 2).is_some_and(|word| OF_A_HUNDRED.has(word))
    }

    /// Whether the figure counts things: "12 centuries-old manuscripts".
    pub(super) fn is_of_an_old_thing(&self, span: usize) -> bool {
        self.word_at(Some(span)).is_some_and(|word| OF_AGE.contains(&word))
            && self.lexemes.get(span + 1).is_some_and(|sign| sign.is_sign('-'))
            && self.glued(span, span + 1)
            && self.word_at(Some(span + 2)) == Some("old")
    }

    /// Whether digits count: "за 3 века", "более 5 веков", but not "Начало 18 века".
    fn lasts_so_many(&self, number: usize, word: &str, amount: f64) -> bool {
        let before = self.word_at(number.checked_sub(1)).unwrap_or_default();
        let back = matches!(self.word_at(Some(number + 2)), Some("назад" | "тому" | "спустя"));
        let passed = back || FOR.contains(&before);
        let told = || DURING.has(before) || comparators::before(&self.lexemes, number).is_some();
        (FEW.has(word) && amount < 5.0 && passed) || (MANY.has(word) && (passed || told()))
    }
}

/// Whether it ends "two and a half".
fn is_a_half(word: &str) -> bool {
    matches!(word, "half" | "половиной" | "половиною")
}
