//! Finds figures that are names: ports, versions, orders, articles, addresses. They are compared exactly.
//!
//! Words: `numbers.identifiers.*` in the lexicon.

use crate::lexicon::Words;

use super::{Comparator, Quantity, Reader, Unit, Value, units};
use crate::lexer::{Kind, Lexeme};
use crate::tokens;
use crate::word_list::WordList;

/// Nouns whose number is always a name.
static NUMBERED: Words = Words::of("numbers.identifiers.numbered");

/// Nouns whose number is a name if it counts nothing.
static PERHAPS_NUMBERED: Words = Words::of("numbers.identifiers.perhaps_numbered");

/// Abbreviations with a dot.
static ABBREVIATED: Words = Words::of("numbers.identifiers.abbreviated");

/// "the port is 4711", "order number: 48213"
static JOINING: Words = Words::of("numbers.identifiers.joining");

/// Lexemes searched for the noun: "the port of the Zandor is".
const SUBJECT: usize = 6;

/// Maximum letters of a case ending.
const ENDING: usize = 3;

fn among(list: &WordList, word: &str) -> bool {
    list.has_form(word, ENDING)
}

/// Words before the rank "number 3".
static CHARTED: Words = Words::of("numbers.identifiers.charted");

/// Charts and areas of comparison.
static CHARTS: Words = Words::of("numbers.identifiers.charts");

/// Words after "номер один в".
static CYRILLIC_CHARTS: Words = Words::of("numbers.identifiers.cyrillic_charts");

/// Words before a comma and a house number.
static STREETS: Words = Words::of("numbers.identifiers.streets");

/// "10 Downing Street"
static NAMED_STREETS: Words = Words::of("numbers.identifiers.named_streets");

impl Reader<'_> {
    /// Returns one, or both of "pp. 23–45".
    pub(super) fn named(&self, start: usize, value: Value) -> (Vec<Quantity>, usize) {
        let one = |at: usize, value: Value| {
            let bounds = (value.amount, value.amount);
            self.finish(at, value.next, bounds, Unit::Identifier, Comparator::Exact, 1.0)
        };
        let mut named = vec![one(start, value)];
        let dash = self.lexemes.get(value.next).is_some_and(|sign| sign.is_sign('-') || sign.is_sign('–'));
        let second = self.value(value.next + 1).filter(|second| dash && !second.ordinal && second.scaled.is_none());
        if let Some(second) = second.filter(|second| second.amount > value.amount) {
            named.push(one(value.next + 1, second));
            return (named, second.next);
        }
        // "section 4(5)"
        let sign = |at: usize, sign: char| self.lexemes.get(at).is_some_and(|lexeme| lexeme.is_sign(sign));
        let within = self.glued(start, value.next) && sign(value.next, '(') && sign(value.next + 2, ')');
        if let Some(second) = self.value(value.next + 1).filter(|_| within) {
            named.push(one(value.next + 1, second));
            return (named, value.next + 3);
        }
        (named, value.next)
    }

    /// Returns a rough key of "192.168.10.14", "1.2.3"; such figures are compared as written.
    pub(super) fn dotted(&self, index: usize) -> Option<f64> {
        let lexeme = self.lexemes.get(index).filter(|lexeme| lexeme.is_number())?;
        let written = lexeme.text.trim_end_matches('.');
        let parts: Vec<&str> = written.split('.').collect();
        if parts.len() < 3
            || !parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        {
            return None;
        }
        let grouped = parts.iter().skip(1).all(|part| part.len() == 3);
        let octet = |part: &&str| part.parse::<u8>().is_ok_and(|value| value.to_string() == **part);
        let address = parts.len() == 4 && parts.iter().all(octet);
        if grouped && !address {
            return None;
        }
        Some(parts.iter().fold(0.0, |value, part| value * 1000.0 + part.parse::<f64>().unwrap_or(0.0)))
    }

    /// Letters or "№" before the digits, letters after them that are no unit, or a numbered noun.
    pub(super) fn is_identifier(&self, index: usize, next: usize) -> bool {
        if self.counts_a_war(index, next) {
            return true;
        }
        if !self.lexemes.get(index).is_some_and(Lexeme::is_number) {
            return false;
        }
        let back = |steps: usize| index.checked_sub(steps).and_then(|at| self.lexemes.get(at));
        let starts = self.lexemes.get(index).map_or(0, |lexeme| lexeme.start);
        if let Some(before) = back(1) {
            if before.is_sign('№') || before.is_sign('#') {
                return true;
            }
            if before.word().is_some_and(|word| before.end == starts || self.is_numbered(word, next)) {
                return true;
            }
            let hyphen = before.end == starts && (before.is_sign('-') || before.is_sign('‑'));
            if hyphen && back(2).is_some_and(|l| l.word().is_some() && l.end == before.start) {
                return true;
            }
            let dot = before.is_sign('.');
            if dot && back(2).and_then(Lexeme::word).is_some_and(|word| ABBREVIATED.has(word)) {
                return true;
            }
            if self.is_release(index, next, before) || self.is_told_of_a_numbered(index, next) || self.is_a_house(index)
            {
                return true;
            }
        }
        if self.is_a_part_of_an_article(next) || self.is_before_a_street(next) || self.is_an_address(index) {
            return true;
        }
        // "5G", "737MAX", but not "50C", "5km", "10k", "1920x1080".
        next == index + 1
            && self.glued(index, next)
            && !self.is_a_side(next)
            && self.lexemes.get(next).and_then(Lexeme::word).is_some()
            && units::unit(self.lexemes.get(next..).unwrap_or_default(), true).is_none()
    }

    /// Whether it is like "ч. 1 ст. 285".
    fn is_a_part_of_an_article(&self, next: usize) -> bool {
        self.word_at(Some(next)).is_some_and(|word| word == "ст")
            && self.lexemes.get(next + 1).is_some_and(|sign| sign.is_sign('.'))
            && self.lexemes.get(next + 2).is_some_and(Lexeme::is_number)
    }

    /// Whether it is a house number: "ул. Ленина, 12".
    fn is_a_house(&self, index: usize) -> bool {
        let Some(comma) = index.checked_sub(1).filter(|at| self.lexemes.get(*at).is_some_and(|sign| sign.is_sign(',')))
        else {
            return false;
        };
        let name = self.lexemes.get(comma.saturating_sub(SUBJECT)..comma).unwrap_or_default();
        let clause = name.rsplit(|lexeme| lexeme.is_sign(',')).next().unwrap_or_default();
        clause.iter().filter_map(Lexeme::word).any(|word| among(&STREETS, word))
    }

    fn is_an_address(&self, index: usize) -> bool {
        index.checked_sub(1).and_then(|at| self.lexemes.get(at)).is_some_and(|sign| sign.is_sign(':'))
            && matches!(self.word_at(index.checked_sub(2)), Some("address" | "адрес" | "адреса"))
    }

    /// Whether a street follows: "10 Downing Street".
    fn is_before_a_street(&self, next: usize) -> bool {
        let side = self.lexemes.get(next).is_some_and(|side| matches!(side.text, "N" | "S" | "E" | "W"));
        let dotted = side && self.lexemes.get(next + 1).is_some_and(|sign| sign.is_sign('.'));
        let rest = self.lexemes.get(next + 2 * usize::from(dotted)..).unwrap_or_default();
        let capital = |lexeme: &&Lexeme<'_>| lexeme.text.chars().next().is_some_and(char::is_uppercase);
        let name: Vec<&str> = rest.iter().take(4).take_while(capital).map(|lexeme| lexeme.text).collect();
        name.iter().skip(1).any(|word| NAMED_STREETS.has(word))
    }

    /// Whether a sign joins it to a noun: "port: 4711".
    pub(super) fn is_told_at(&self, index: usize) -> bool {
        index
            .checked_sub(1)
            .and_then(|at| self.lexemes.get(at))
            .is_some_and(|sign| matches!(sign.kind, Kind::Sign(':' | '=' | '—' | '–' | '|')))
    }

    fn is_numbered(&self, word: &str, next: usize) -> bool {
        // "Часть 2 статьи 105": the noun has its own number.
        let numbered_itself = || {
            self.word_at(Some(next)).is_some_and(|word| among(&NUMBERED, word))
                && self.lexemes.get(next + 1).is_some_and(Lexeme::is_number)
        };
        among(&NUMBERED, word) || (among(&PERHAPS_NUMBERED, word) && (self.counts_nothing(next) || numbered_itself()))
    }

    /// Whether it is a rank: "number 9 on the Billboard chart", "peaked at number 3".
    pub(super) fn is_a_place_in_a_chart(&self, index: usize, value: Value) -> bool {
        let back = |steps: usize| index.checked_sub(steps).and_then(|at| self.word_at(Some(at)));
        let dotted = index.checked_sub(1).and_then(|at| self.lexemes.get(at)).is_some_and(|dot| dot.is_sign('.'))
            && back(2) == Some("no");
        // "peaked at No. 3"
        let charted = (dotted && back(4).is_some_and(|word| among(&CHARTED, word)))
            || back(2).is_some_and(|word| among(&CHARTED, word))
            || back(3).is_some_and(|word| among(&CHARTED, word));
        let on_the = matches!(self.word_at(Some(value.next)), Some("on" | "in")) && self.names_a_chart(value.next + 1);
        // "No. 15 on its list" is a rank, "no one in the world" is not.
        let digits = self.lexemes.get(index).is_some_and(Lexeme::is_number);
        let numbered = dotted || back(1) == Some("number") || (back(1) == Some("no") && digits);
        // "номер один в мире"
        let first =
            back(1).and_then(|word| word.strip_prefix("номер")).is_some_and(|end| end.chars().count() <= ENDING)
                && matches!(self.word_at(Some(value.next)), Some("в" | "у" | "на"))
                && self.word_at(Some(value.next + 1)).is_some_and(|word| among(&CYRILLIC_CHARTS, word));
        (numbered || first) && value.scaled.is_none() && (charted || on_the || first)
    }

    /// Whether a chart follows: "the Billboard chart", not "the route".
    fn names_a_chart(&self, from: usize) -> bool {
        let word = |at: usize| self.word_at(Some(at));
        let named = |lexeme: &Lexeme<'_>| {
            lexeme.word().is_some_and(|word| among(&CHARTS, word)) || matches!(lexeme.text, "Billboard" | "Hot")
        };
        let opens = matches!(word(from), Some("the" | "its" | "billboard" | "terms" | "term"));
        opens && self.lexemes.iter().skip(from).take(5).any(named)
    }

    /// Whether no unit and no counted noun follows.
    pub(super) fn counts_nothing(&self, next: usize) -> bool {
        let rest = self.lexemes.get(next..).unwrap_or_default();
        if rest.first().is_some_and(|sign| sign.is_sign('%') || sign.is_sign('°')) || units::unit(rest, false).is_some()
        {
            return false;
        }
        let counted = rest.first().filter(|lexeme| lexeme.word().is_some());
        counted.is_none_or(|lexeme| tokens::content_stems(lexeme.text, self.language).is_empty())
    }

    /// Whether it is a version: "Python 3.14".
    fn is_release(&self, index: usize, next: usize, before: &Lexeme<'_>) -> bool {
        let decimal = self.lexemes.get(index).is_some_and(|lexeme| {
            lexeme.text.split_once('.').is_some_and(|(head, tail)| !head.is_empty() && !tail.is_empty())
        });
        let named = before.word().is_some() && before.text.chars().next().is_some_and(char::is_uppercase);
        let function = before.word().is_some_and(|word| tokens::content_stems(word, self.language).is_empty());
        decimal && named && !function && next == index + 1 && self.counts_nothing(next)
    }

    /// Whether it belongs to an earlier noun: "The port is 4711".
    fn is_told_of_a_numbered(&self, index: usize, next: usize) -> bool {
        let joins = |lexeme: &Lexeme<'_>| match lexeme.word() {
            Some(word) => JOINING.has(word),
            None => matches!(lexeme.text, "=" | ":" | "—" | "–" | "|"),
        };
        let Some(joint) = index.checked_sub(1) else { return false };
        if !self.lexemes.get(joint).is_some_and(joins) || !self.counts_nothing(next) {
            return false;
        }
        let from = joint.saturating_sub(SUBJECT);
        let subject = self.lexemes.get(from..joint).unwrap_or_default();
        let ends = |lexeme: &Lexeme<'_>| matches!(lexeme.kind, Kind::Sign(',' | '.' | ';' | '!' | '?'));
        let clause = subject.rsplit(ends).next().unwrap_or_default();
        clause.iter().enumerate().any(|(at, lexeme)| {
            let Some(word) = lexeme.word() else { return false };
            // A count: "The number of the dead is 37".
            let counts = matches!(word, "number" | "no" | "nos")
                && clause.get(at + 1).and_then(Lexeme::word).is_some_and(|next| next == "of");
            !counts && (among(&NUMBERED, word) || among(&PERHAPS_NUMBERED, word))
        })
    }
}
