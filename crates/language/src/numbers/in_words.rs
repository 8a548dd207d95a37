//! Reads numbers in words: counts, ranks, "twice", durations in adjectives.
//!
//! Words: `numbers.in_words.*` in the lexicon.

use super::{Comparator, Quantity, Reader, Unit, Value, comparators, passed_over, units, words};
use crate::function_words::AND;
use crate::lexer::{Kind, Lexeme};
use crate::lexicon::Words;
use crate::tokens;
use crate::word_list::WordList;

/// Words that can begin a number but are none.
static OPENING_A_NUMBER: Words = Words::of("numbers.in_words.opening");

static ONLY: Words = Words::of("numbers.in_words.only");

static OR: Words = Words::of("numbers.in_words.or");

/// Words before a duration that passed or is full: "через час", "целый год".
static BEFORE_A_PASSING: Words = Words::of("numbers.in_words.before_a_passing");

/// Words before a duration that lasted: "в течение часа".
static BEFORE_A_LASTING: Words = Words::of("numbers.in_words.before_a_lasting");

/// Words that make "one day" a duration.
static AFTER_ONE_DAY: Words = Words::of("numbers.in_words.after_one_day");

static SPANS: Words = Words::of("numbers.in_words.spans");

/// Measures after "a", and words after them.
static STRETCHES: Words = Words::of("numbers.in_words.stretches");
static BEHIND_A_STRETCH: Words = Words::of("numbers.in_words.behind_a_stretch");
/// Words after "about a mile"; "over a foot injury" is no length.
static BEHIND_A_ROUGH_STRETCH: Words = Words::of("numbers.in_words.behind_a_rough_stretch");

/// Durations that a number follows only with "ago".
static INVERTED_AGO: Words = Words::of("numbers.in_words.inverted_ago");

/// Plurals that an approximate number follows, and words that already count them.
static INVERTED: Words = Words::of("numbers.in_words.inverted");
static MANY: Words = Words::of("numbers.in_words.many");

/// Counted people, if the duration before the number is not its unit.
static PEOPLE: Words = Words::of("numbers.in_words.people");

/// One duration in the accusative; `LASTING` has the genitive.
static PASSING: Words = Words::of("numbers.in_words.passing");
/// One measure in the genitive, after a comparator.
static OF_ONE: Words = Words::of("numbers.in_words.of_one");
static LASTING: Words = Words::of("numbers.in_words.lasting");

/// Whether it is like "последних": a number after its noun does not count the noun.
fn is_plural_adjective(word: &str) -> bool {
    ["их", "ых", "іх"].iter().any(|ending| word.ends_with(ending))
}

impl Reader<'_> {
    pub(super) fn value_in_words(&self, index: usize) -> Option<Value> {
        let word = self.lexemes.get(index)?.word()?;
        if self.hour_of_day(index).is_some() {
            return None;
        }
        if let Some((rank, next)) = self.rank(index).filter(|(rank, next)| !self.ranks_nothing(index, *rank, *next)) {
            return Some(Value { amount: rank, last_digit: 1.0, next, scaled: None, ordinal: true });
        }
        let plain = |amount, next| Value { amount, last_digit: 1.0, next, scaled: None, ordinal: false };
        if let Some(times) = words::times(word) {
            let compares = self.lexemes.get(index + 1).and_then(Lexeme::word) == Some("as");
            return (!compares).then(|| plain(times, index + 1));
        }
        // "Более тысячи двухсот" is not a thousand.
        let goes_on = || {
            let number = |next: &str| words::cardinal(next).is_some() || words::scale(next).is_some();
            self.lexemes.get(index + 1).is_some_and(|next| next.is_number() || next.word().is_some_and(number))
        };
        let told = || !goes_on() && comparators::before(&self.lexemes, index).is_some();
        if let Some(scale) = words::lone_scale(word).filter(|_| told()) {
            return Some(Value {
                amount: scale,
                last_digit: scale,
                next: index + 1,
                scaled: Some(scale),
                ordinal: false,
            });
        }
        if self.is_a_lone_span(index) {
            return Some(plain(1.0, index));
        }
        if word == "half" && matches!(self.word_at(Some(index + 1)), Some("a" | "an")) && self.is_measured(index + 2) {
            return Some(Value { amount: 0.5, last_digit: 0.5, next: index + 2, scaled: None, ordinal: false });
        }
        let hyphen = usize::from(self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('-')));
        if word == "half" && self.word_at(Some(index + 1 + hyphen)) == Some("hour") {
            return Some(Value { amount: 0.5, last_digit: 0.5, next: index + 1, scaled: None, ordinal: false });
        }
        if words::cardinal(word).is_none() && !OPENING_A_NUMBER.has(word) && !words::begins_a_part(word) {
            return None;
        }
        // "twenty-five" is two words and a hyphen.
        let mut run: Vec<&str> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        for (offset, lexeme) in self.lexemes.get(index..)?.iter().enumerate().take(16) {
            match &lexeme.kind {
                Kind::Word(word) => {
                    run.push(word);
                    places.push(index + offset);
                }
                Kind::Sign('-' | '‑') => {}
                _ => break,
            }
        }
        if words::begins_a_part(word) && words::half(&run).is_none() {
            return None;
        }
        let Some(spelled) = words::spelled(&run) else {
            let is_one = words::cardinal(word).is_some_and(|value| (value - 1.0).abs() < f64::EPSILON);
            let ranked = is_one && self.is_a_place_in_a_chart(index, plain(1.0, index + 1));
            return (ranked
                || self.is_one_of_a_unit(index)
                || self.is_one_or_two(index)
                || self.is_one_beside_others(index))
            .then(|| plain(1.0, index + if self.is_a_whole(index) { 2 } else { 1 }));
        };
        let next = places.get(spelled.taken.checked_sub(1)?)? + 1;
        Some(Value { amount: spelled.value, last_digit: spelled.last_digit, next, scaled: None, ordinal: false })
    }

    fn ukrainian_second(&self, index: usize) -> Option<f64> {
        let word = self.word_at(Some(index))?;
        (self.ukrainian && words::is_second_in_ukrainian(word)).then_some(2.0)
    }

    /// Reads "third", "twenty-first", "двадцатое". Returns the rank and the index after it.
    fn rank(&self, index: usize) -> Option<(f64, usize)> {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        let first = word(index)?;
        if let Some(rank) = words::ordinal(first).or_else(|| self.ukrainian_second(index)) {
            return Some((rank, index + 1));
        }
        let tens = words::cardinal(first).filter(|tens| (20.0..100.0).contains(tens) && tens % 10.0 == 0.0)?;
        let next = index + 1 + usize::from(self.lexemes.get(index + 1).is_some_and(|lexeme| lexeme.is_sign('-')));
        let rank = word(next).and_then(words::ordinal).filter(|rank| *rank < 10.0)?;
        Some((tens + rank, next + 1))
    }

    /// Whether "one" counts a unit ("one hour") and is not a pronoun.
    fn is_one_of_a_unit(&self, index: usize) -> bool {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        if matches!(word(index), Some("a" | "an")) {
            return self.is_a_span(index);
        }
        // A pronoun: "the one year he had".
        if index.checked_sub(1).and_then(word) == Some("the") {
            return false;
        }
        let is_one = word(index).and_then(words::cardinal).is_some_and(|value| (value - 1.0).abs() < f64::EPSILON);
        let is_span = word(index + 1) != Some("day") || word(index + 2).is_some_and(|next| AFTER_ONE_DAY.has(next));
        // "a one-year contract"
        let hyphen = usize::from(self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('-')));
        is_one && is_span && self.is_measured(index + 1 + hyphen)
    }

    /// Whether a neighbour is counted too: "two sons and one daughter".
    fn is_one_beside_others(&self, index: usize) -> bool {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        let counted = |at: usize| {
            let more = word(at).and_then(words::cardinal).is_some_and(|more| more > 1.0);
            more || self.lexemes.get(at).and_then(Lexeme::integer).is_some()
        };
        let joins = |at: usize| AND.has_this(word(at));
        let is_one = word(index).and_then(words::cardinal).is_some_and(|value| (value - 1.0).abs() < f64::EPSILON);
        // "Not only one victim but two" is not one.
        let only = ONLY.has_this(index.checked_sub(1).and_then(word))
            && !matches!(index.checked_sub(2).and_then(word), Some("not" | "не"));
        let noun = self
            .lexemes
            .get(index + 1)
            .is_some_and(|noun| noun.word().is_some() && !tokens::content_stems(noun.text, self.language).is_empty());
        let before = index.checked_sub(1).is_some_and(joins)
            && (2..=3).any(|nouns| index.checked_sub(nouns + 1).is_some_and(counted));
        let after = (2..=3).any(|nouns| joins(index + nouns) && counted(index + nouns + 1));
        is_one && noun && (before || after || only)
    }

    /// Reads the unit before an approximate number: "лет двадцать назад".
    pub(super) fn told_behind(&self, index: usize, end: usize) -> Option<units::Found> {
        // "года 3-4 назад"
        let farther = end + 2 * usize::from(self.lexemes.get(end).is_some_and(|sign| sign.is_sign('-')));
        let ago = [end, farther].into_iter().any(|at| matches!(self.word_at(Some(at)), Some("назад" | "тому")));
        // "лет на двадцать", "грамів на 200"
        let joined = usize::from(self.word_at(index.checked_sub(1)) == Some("на"));
        let unit = index.checked_sub(1 + joined).filter(|at| {
            self.word_at(Some(*at)).is_some_and(|word| INVERTED.has(word) || (ago && INVERTED_AGO.has(word)))
        })?;
        let before = unit.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let free = before.is_none_or(|before| {
            !before.is_number() && before.word().is_none_or(|word| words::cardinal(word).is_none() && !MANY.has(word))
        });
        let found = units::unit(self.lexemes.get(unit..index - joined)?, false)?;
        // "минут пятнадцать пешком" counts; "После рабочих часов три человека" does not.
        let spelled = matches!(self.word_at(Some(unit)), Some("минут" | "хвилин" | "часов" | "годин"))
            && self.word_at(Some(index)).is_some()
            && !before.and_then(Lexeme::word).is_some_and(is_plural_adjective)
            && !self.word_at(Some(end)).is_some_and(|word| PEOPLE.has(word));
        (free && (ago || spelled || self.counts_nothing(end))).then_some(found)
    }

    /// Reads "два последних года", "three full days"; in English only plurals ("450 last year").
    pub(super) fn span_behind_an_adjective(&self, value: Value) -> Option<units::Found> {
        let adjective = self.word_at(Some(value.next)).filter(|word| words::stands_before_a_span(word))?;
        let plural = value.amount <= 100.0 && self.word_at(Some(value.next + 1))?.ends_with('s');
        let found = units::unit(self.lexemes.get(value.next + 1..)?, false)?;
        let is_span = matches!(found.unit, Unit::Measure("month" | "s"));
        (is_span && value.scaled.is_none() && (plural || !adjective.is_ascii())).then_some(found)
    }

    pub(super) fn has_four_digits(&self, index: usize) -> bool {
        self.lexemes.get(index).is_some_and(|lexeme| lexeme.text.len() == 4 && lexeme.integer().is_some())
    }

    /// Reads "one to two years", "один-два дня".
    fn is_one_or_two(&self, index: usize) -> bool {
        let joins = self
            .lexemes
            .get(index + 1)
            .is_some_and(|joint| joint.is_sign('-') || joint.is_sign('–') || OR.has_this(joint.word()));
        let more = self.word_at(Some(index + 2)).and_then(words::cardinal).is_some_and(|more| more > 1.0);
        joins && more && self.word_at(Some(index)).and_then(words::cardinal).is_some()
    }

    fn is_measured(&self, index: usize) -> bool {
        self.is_an_age(index) || units::unit(self.lexemes.get(index..).unwrap_or_default(), false).is_some()
    }

    /// Whether "a whole year" begins here.
    fn is_a_whole(&self, index: usize) -> bool {
        matches!(self.word_at(Some(index)), Some("a" | "an"))
            && matches!(self.word_at(Some(index + 1)), Some("whole" | "entire"))
            && self.word_at(Some(index + 2)).is_some_and(|unit| SPANS.has(unit))
    }

    /// Whether "a" begins a duration: "a week before", "more than an hour". "$500 a week" is a rate.
    fn is_a_span(&self, index: usize) -> bool {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        let spans = word(index + 1).is_some_and(|unit| SPANS.has(unit));
        let after = word(index + 2).is_some_and(|next| AFTER_ONE_DAY.has(next))
            || (word(index + 2) == Some("in") && word(index + 3) == Some("advance"));
        let before = index.checked_sub(1).and_then(word);
        // "about a mile", "a mile away"
        let stretch = word(index + 1).is_some_and(|unit| STRETCHES.has(unit));
        let behind = |words: &WordList| word(index + 2).is_some_and(|next| words.has(next));
        let ends = self.lexemes.get(index + 2).is_none_or(|sign| sign.word().is_none() && !sign.is_number());
        let told = || comparators::before(&self.lexemes, index).is_some();
        if stretch && (behind(&BEHIND_A_STRETCH) || ((ends || behind(&BEHIND_A_ROUGH_STRETCH)) && told())) {
            return true;
        }
        // "A year ago" is read as a date.
        let ago = matches!(word(index + 1), Some("decade" | "century")) && word(index + 2) == Some("ago");
        if word(index + 1) == Some("century") && self.is_batted(index) {
            return false;
        }
        self.is_a_whole(index)
            || spans
                && (after
                    || ago
                    || matches!(before, Some("for" | "within" | "after" | "exactly"))
                    || comparators::before(&self.lexemes, index).is_some())
    }

    /// Whether a unit means one of it: "через год", "в течение месяца".
    fn is_a_lone_span(&self, index: usize) -> bool {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        let (Some(before), Some(unit)) = (index.checked_sub(1).and_then(word), word(index)) else { return false };
        let next = word(index + 1);
        // "через год-два"
        let goes_on = self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('-'))
            && (self.glued(index, index + 1) || word(index + 2).and_then(words::cardinal).is_some());
        // "Около часа ночи" is a time of day.
        if (unit.starts_with("час") || unit.starts_with("годин")) && next.is_some_and(passed_over::is_part_of_day)
        {
            return false;
        }
        let told = match before {
            word if BEFORE_A_PASSING.has(word) => PASSING.has(unit),
            "за" => PASSING.has(unit) && next == Some("до"),
            word if BEFORE_A_LASTING.has(word) => LASTING.has(unit),
            // "Около часа", "более года"
            _ => {
                // A time of day ("до часа") or a distance ("до метра").
                (LASTING.has(unit) || OF_ONE.has(unit))
                    && before != "до"
                    && !(unit == "века" && matches!(before, "ниже" | "выше"))
                    && comparators::before(&self.lexemes, index).is_some()
            }
        };
        told && !goes_on
    }

    /// Returns the index after "с лишним" or "з гаком".
    pub(super) fn and_some_more(&self, next: usize) -> Option<usize> {
        let more = match self.word_at(Some(next))? {
            "с" => matches!(self.word_at(Some(next + 1)), Some("лишним" | "небольшим")),
            "з" | "із" => matches!(self.word_at(Some(next + 1)), Some("лишком" | "гаком" | "чимось")),
            _ => false,
        };
        more.then_some(next + 2)
    }

    /// Reads "двухдневный", "чотирирічна" (durations) and "втроём", "удвох" (people).
    pub(super) fn spanning(&self, index: usize) -> Option<Quantity> {
        let word = self.lexemes.get(index)?.word()?;
        if let Some((span, base)) = words::half_spans(word) {
            let comparator = comparators::before(&self.lexemes, index).unwrap_or(Comparator::Exact);
            return Some(self.finish(index, index + 1, (span, span), Unit::Measure(base), comparator, span));
        }
        if let Some(people) = words::together(word) {
            return Some(self.finish(index, index + 1, (people, people), Unit::None, Comparator::Exact, 1.0));
        }
        let (value, base, factor) = words::spanning(word)?;
        let span = value * factor;
        let unit = if base == "%" { Unit::Percent } else { Unit::Measure(base) };
        // "Более чем двухлетний" has a comparator; "выше двухметрового забора" has none.
        let than = matches!(self.word_at(index.checked_sub(1)), Some("чем" | "ніж" | "як"));
        let told = comparators::before(&self.lexemes, index).filter(|told| than || *told == Comparator::About);
        Some(self.finish(index, index + 1, (span, span), unit, told.unwrap_or(Comparator::Exact), factor))
    }

    /// Returns the index after "с половиной" or "and a half".
    pub(super) fn and_a_half(&self, next: usize) -> Option<usize> {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        match (word(next)?, word(next + 1)?) {
            ("с" | "з" | "із", "половиной" | "половиною") => Some(next + 2),
            ("and", "a") if word(next + 2) == Some("half") => Some(next + 3),
            _ => None,
        }
    }

    /// Returns the decimals of ".5".
    pub(super) fn without_a_whole(&self, index: usize) -> Option<&str> {
        let point = self.lexemes.get(index).filter(|lexeme| lexeme.is_sign('.'))?;
        let free = index
            .checked_sub(1)
            .and_then(|at| self.lexemes.get(at))
            .is_none_or(|before| before.end < point.start || before.is_sign('/'));
        let decimals = self.lexemes.get(index + 1).filter(|lexeme| lexeme.is_number() && lexeme.start == point.end)?;
        (free && decimals.text.bytes().all(|byte| byte.is_ascii_digit())).then_some(decimals.text)
    }
}
