//! Finds the unit of a number: after it, after a hyphen or adjective, or in an adjective ("1600-километровый").
//!
//! Degrees are temperatures unless a turn or angle is near.

use crate::lexicon::Words;

use super::{Reader, Unit, Value, units, words};
use crate::lexer::Lexeme;
use crate::word_list::WordList;

/// Words after degrees.
static ANGLES: Words = Words::of("numbers.attached.angles");
/// Words before degrees: "an angle of 45°".
static ANGLES_BEFORE: Words = Words::of("numbers.attached.angles_before");
/// Verbs of turning, and words after them.
static TURNED: Words = Words::of("numbers.attached.turned");
/// Ambiguous; an article or hyphen is needed ("at 40 degrees turn the heat down").
static DONE: Words = Words::of("numbers.attached.done");
static BEFORE_WHAT_IS_DONE: Words = Words::of("numbers.attached.before_what_is_done");
static BY: Words = Words::of("numbers.attached.by");

/// Maximum letters of a case ending.
const ENDING: usize = 3;

fn among(list: &WordList, word: &str) -> bool {
    list.has_form(word, ENDING)
}

impl Reader<'_> {
    /// Returns the unit and the index after it: "5-km", "20-летний".
    pub(super) fn unit_after(&self, value: Value) -> (Option<units::Found>, usize) {
        let next = value.next;
        if let Some(age) = self.age_after(value) {
            return (Some(age), next + age.taken);
        }
        if self.is_of_an_old_thing(next) {
            return (None, next);
        }
        let glued = next.checked_sub(1).is_some_and(|number| self.glued(number, next));
        // "Три летних месяца": the unit follows.
        if let Some(found) = self.span_behind_an_adjective(value).filter(|_| !glued) {
            return (Some(found), next + 1 + found.taken);
        }
        if !glued && value.amount < 10.0 && self.word_at(Some(next)).is_some_and(words::is_of_the_summer) {
            return (None, next);
        }
        let rest = self.lexemes.get(next..).unwrap_or_default();
        // "$1,000-$2,000": the next figure's sign.
        let word = rest.get(1).is_some_and(|unit| unit.word().is_some());
        let hyphen = usize::from(glued && word && rest.first().is_some_and(|l| l.is_sign('-') || l.is_sign('‑')));
        // Ukrainian hours, Russian years.
        if self.ukrainian && rest.get(hyphen).and_then(Lexeme::word) == Some("год") {
            let hours = units::Found { unit: Unit::Measure("s"), factor: 3_600.0, offset: 0.0, taken: 1 };
            return (Some(hours), next + hyphen + 1);
        }
        // The next figure's sign: "€1.5m €6m".
        let theirs = rest.first().zip(rest.get(1)).is_some_and(|(sign, number)| {
            units::currency_sign(sign).is_some() && number.is_number() && sign.end == number.start && !glued
        });
        if let Some(found) = rest.get(hyphen..).filter(|_| !theirs).and_then(|rest| units::unit(rest, glued)) {
            let angle = self.is_an_angle(value, next + hyphen, found);
            let unit = if angle { Unit::Measure("°") } else { found.unit };
            return (Some(units::Found { unit, ..found }), next + hyphen + found.taken);
        }
        if let Some(found) = rest.get(1).filter(|_| hyphen == 1).and_then(in_an_adjective) {
            return (Some(found), next + 1 + found.taken);
        }
        (None, next)
    }

    /// Whether it is an angle: "a 180° phase shift", "turned 90 degrees". 180° may be an oven, 360° hardly.
    fn is_an_angle(&self, value: Value, degrees: usize, found: units::Found) -> bool {
        let Some(lexeme) = self.lexemes.get(degrees).filter(|_| found.taken == 1) else { return false };
        let sign = lexeme.is_sign('°') || lexeme.is_sign('º');
        let word = lexeme.word().is_some_and(|word| word.starts_with("degree") || word.starts_with("градус"));
        if !(sign || word) {
            return false;
        }
        let is = |at: Option<usize>, list: &WordList| self.word_at(at).is_some_and(|word| among(list, word));
        // "На сто восемьдесят градусов"
        let mut number = value.next.saturating_sub(1);
        while self.word_at(number.checked_sub(1)).is_some_and(|word| words::cardinal(word).is_some()) {
            number -= 1;
        }
        let back = |steps: usize| number.checked_sub(steps);
        let hyphen = degrees.checked_sub(1).and_then(|at| self.lexemes.get(at)).is_some_and(|sign| sign.is_sign('-'));
        let a_thing = sign || hyphen || self.word_at(back(1)).is_some_and(|word| BEFORE_WHAT_IS_DONE.has(word));
        let angle = |at: usize| {
            let done = self.word_at(Some(at)).is_some_and(|word| DONE.has(word));
            is(Some(at), &ANGLES) && (a_thing || !done)
        };
        let behind = angle(degrees + 1) || (self.word_at(Some(degrees + 1)).is_some() && angle(degrees + 2));
        let joins = |steps: usize| self.word_at(back(steps)).is_some_and(|word| BY.has(word));
        // "An angle of about 45°", "повернул ключ на 90 градусов"
        let near = (1..=3).find(|steps| !joins(*steps)).is_some_and(|steps| is(back(steps), &ANGLES_BEFORE));
        // No turn: "Turned colder by 5 degrees".
        let object = if self.word_at(back(1)) == Some("на") { 3 } else { 1 };
        let turned = is(back(1), &TURNED) || (joins(1) && (2..2 + object).any(|steps| is(back(steps), &TURNED)));
        behind || near || turned || (sign && (value.amount - 360.0).abs() < 0.5)
    }
}

/// Reads "15-дневный", "1600-километрового".
fn in_an_adjective(lexeme: &Lexeme<'_>) -> Option<units::Found> {
    let (base, factor) = words::measure_of_an_adjective(lexeme.word()?)?;
    let unit = if base == "%" { Unit::Percent } else { Unit::Measure(base) };
    Some(units::Found { unit, factor, offset: 0.0, taken: 1 })
}
