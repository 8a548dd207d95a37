//! Centuries and millennia that something lasts: "over 4 centuries", "три века", "два століття". One with a rank is none, and
//! ranks are often written without their ending: "в 19 веке", "the 18 and 19 centuries".

use super::{Reader, Unit, Value, comparators, units, words};
use crate::lexer::Lexeme;
use crate::lexicon::Words;

static CENTURIES: Words = Words::of("numbers.ages.centuries");
static MILLENNIA: Words = Words::of("numbers.ages.millennia");

/// What stands behind two, three and four, and what stands behind more of them.
static FEW: Words = Words::of("numbers.ages.few");
static MANY: Words = Words::of("numbers.ages.many");

/// Before a count in digits, for a rank would have another case there ("за 3 века"). A closed class.
const FOR: &[&str] = &["за", "через", "спустя"];
/// The same before a genitive plural ("на протяжении 5 веков").
static DURING: Words = Words::of("numbers.ages.during");

/// Before a hundred runs at cricket: verbs, and what stands right before their count.
static SCORED: Words = Words::of("numbers.ages.scored");
static HELD: Words = Words::of("numbers.ages.held");
/// Behind centuries that passed, whatever stands before.
static PASSED: Words = Words::of("numbers.ages.passed");
/// What a hundred is part of at cricket, right behind it, and what it is made in.
static OF_A_HUNDRED: Words = Words::of("numbers.ages.of_a_hundred");
static PLAYED: Words = Words::of("numbers.ages.played");
/// Before spans of time that end or begin at a name ("for two centuries from London").
static LASTED: Words = Words::of("numbers.ages.lasted");
/// Spans that are told as the age of a thing: "centuries-old". A closed class.
const OF_AGE: &[&str] = &["decades", "centuries", "millennia"];
/// Lexemes before a count among which a batsman is looked for.
const BATSMAN: usize = 4;

/// The months in what a word names.
fn months(word: &str) -> Option<f64> {
    CENTURIES.has(word).then_some(1_200.0).or_else(|| MILLENNIA.has(word).then_some(12_000.0))
}

impl Reader<'_> {
    /// Whether a century or a millennium stands at an index.
    pub(super) fn is_an_age(&self, index: usize) -> bool {
        self.word_at(Some(index)).is_some_and(|word| months(word).is_some())
    }

    /// The centuries behind a count.
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

    /// "the 18 and 19 centuries", "16–17 centuries": ranks without their endings.
    fn stands_behind_another(&self, number: usize) -> bool {
        let joint = number.checked_sub(1).and_then(|at| self.lexemes.get(at));
        joint.is_some_and(|joint| {
            joint.is_sign('-') || joint.is_sign('–') || matches!(joint.word(), Some("and" | "or" | "to" | "the"))
        })
    }

    /// "scored two centuries", "has 51 centuries" at cricket; "made two centuries ago" is none.
    pub(super) fn is_batted(&self, number: usize) -> bool {
        let before = self.lexemes.get(number.saturating_sub(BATSMAN)..number).unwrap_or_default();
        let scored = before.iter().filter_map(Lexeme::word).any(|word| SCORED.has(word));
        let held = self.word_at(number.checked_sub(1)).is_some_and(|word| HELD.has(word));
        let passed = self.word_at(Some(number + 2)).is_some_and(|word| PASSED.has(word));
        (scored || held || self.is_a_batsmans(number)) && !passed
    }

    /// "Two centuries from Root", "a century stand", "three centuries in the series", "Kohli's three centuries".
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

    /// "12 centuries-old manuscripts": the figure counts what is so old.
    pub(super) fn is_of_an_old_thing(&self, span: usize) -> bool {
        self.word_at(Some(span)).is_some_and(|word| OF_AGE.contains(&word))
            && self.lexemes.get(span + 1).is_some_and(|sign| sign.is_sign('-'))
            && self.glued(span, span + 1)
            && self.word_at(Some(span + 2)) == Some("old")
    }

    /// Whether digits before centuries count them: "за 3 века", "более 5 веков", "2 тысячелетия назад". "Начало 18 века" does
    /// not.
    fn lasts_so_many(&self, number: usize, word: &str, amount: f64) -> bool {
        let before = self.word_at(number.checked_sub(1)).unwrap_or_default();
        let back = matches!(self.word_at(Some(number + 2)), Some("назад" | "тому" | "спустя"));
        let passed = back || FOR.contains(&before);
        let told = || DURING.has(before) || comparators::before(&self.lexemes, number).is_some();
        (FEW.has(word) && amount < 5.0 && passed) || (MANY.has(word) && (passed || told()))
    }
}

/// The last word of "two and a half", "два с половиной".
fn is_a_half(word: &str) -> bool {
    matches!(word, "half" | "половиной" | "половиною")
}
