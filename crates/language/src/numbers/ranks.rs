//! Finds ranks that are no quantities: "first lieutenant", "first aid", "во-первых", World Wars.
//!
//! Words: `numbers.ranks.*` in the lexicon.

use super::{Reader, words};
use crate::lexer::Kind;
use crate::lexicon::{self, Values, Words};
use crate::{has_cyrillic, tokens};

/// Words in "-ed" that are not verbs.
static NO_PAST: Words = Words::of("numbers.ranks.no_past");

/// Verbs before a place.
static PLACED: Words = Words::of("numbers.ranks.placed");

static BE: Words = Words::of("numbers.ranks.be");

static BEHIND_FIRST: Words = Words::of("numbers.ranks.behind_first");

/// Names with a rank, and the highest one.
static TITLES: Values<f64> = Values::of("numbers.ranks.title", lexicon::number);

static BODIES: Words = Words::of("numbers.ranks.bodies");

/// Words after them "first" is a real rank.
static TOLD_OF_A_FIRST: Words = Words::of("numbers.ranks.told_of_a_first");

static OF_AID: Words = Words::of("numbers.ranks.of_aid");

/// For "world war" only.
const FEMININE: &[&str] = &["ая", "ой", "ую", "ою", "а", "ої", "ій", "у"];

/// "First" is an adverb before a verb; for the second list the words after the verb decide.
static BEFORE_A_VERB: Words = Words::of("numbers.ranks.before_a_verb");
static BEFORE_A_CLAUSE: Words = Words::of("numbers.ranks.before_a_clause");

/// Past forms without "run", "set", "hit", which are nouns too.
static IRREGULAR: Words = Words::of("numbers.ranks.irregular");

fn is_past(word: &str) -> bool {
    let regular = word.len() > 3 && word.ends_with("ed") && !word.ends_with("eed");
    (regular && !NO_PAST.has(word)) || IRREGULAR.has(word)
}

/// Whether a rank follows: "who came first received".
fn is_placed(word: &str) -> bool {
    PLACED.has(word) || BE.has(word)
}

/// Maximum letters of a case ending.
const TITLE_ENDING: usize = 3;

fn is_a_title(word: &str, rank: f64) -> bool {
    TITLES.of_form(word, TITLE_ENDING).is_some_and(|highest| rank <= highest)
}

impl Reader<'_> {
    /// Whether the rank up to `next` is part of a name.
    pub(super) fn ranks_nothing(&self, index: usize, rank: f64, next: usize) -> bool {
        self.is_a_point(index)
            || self.is_an_adverb(index, next)
            || self.is_in_a_title(rank, next)
            || self.is_of_a_war(rank, next)
            || {
                // "в первую очередь" means "above all".
                matches!(self.word_at(index.checked_sub(1)), Some("в" | "у"))
                    && matches!(self.word_at(Some(next)), Some("очередь" | "чергу"))
                    && rank <= 1.0
            }
    }

    /// Whether it is like "was first released", "at first", "in the first place".
    fn is_an_adverb(&self, index: usize, next: usize) -> bool {
        if self.word_at(Some(index)) != Some("first") {
            return false;
        }
        let function = |at: usize| {
            self.lexemes.get(at).is_none_or(|lexeme| {
                lexeme.is_number()
                    || lexeme.word().is_none_or(|word| tokens::content_stems(word, self.language).is_empty())
            })
        };
        let before = self.word_at(index.checked_sub(1));
        let verb = self.word_at(Some(next)).is_some_and(is_past);
        match before {
            Some("at") => {
                verb || function(next) || matches!(self.word_at(Some(next)), Some("glance" | "sight" | "blush"))
            }
            Some("the") if self.word_at(Some(next)) == Some("place") => {
                let ends = !BEHIND_FIRST.has_this(self.word_at(Some(next + 1)));
                let in_the = self.word_at(index.checked_sub(2)) == Some("in");
                let placed = (3..=5).any(|steps| self.word_at(index.checked_sub(steps)).is_some_and(is_placed));
                in_the && function(next + 1) && ends && !placed
            }
            Some(word) if BEFORE_A_VERB.has(word) => verb,
            Some(word) if BEFORE_A_CLAUSE.has(word) => verb && function(next + 1),
            Some(word) => {
                verb && !is_placed(word) && self.is_the_subject(index, word) && {
                    let name = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
                    let named = name.is_some_and(|name| name.text.starts_with(char::is_uppercase))
                        && self.lexemes.get(index).is_some_and(|first| first.text == "first");
                    named || function(next + 1)
                }
            }
            // The apostrophe of "the players' first planned game".
            None => {
                let sign = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
                let begins =
                    sign.is_none_or(|sign| matches!(sign.kind, Kind::Sign('.' | ',' | ';' | ':' | '(' | '—' | '–')));
                verb && begins && function(next + 1)
            }
        }
    }

    /// Whether it is a noun or name, not a possessive.
    fn is_the_subject(&self, index: usize, word: &str) -> bool {
        !word.ends_with("'s")
            && index
                .checked_sub(1)
                .and_then(|at| self.lexemes.get(at))
                .is_some_and(|lexeme| !tokens::content_stems(lexeme.text, self.language).is_empty())
    }

    /// Whether it is like "во-первых", "по-друге".
    fn is_a_point(&self, index: usize) -> bool {
        let Some(hyphen) = index.checked_sub(1) else { return false };
        self.lexemes.get(hyphen).is_some_and(|sign| sign.is_sign('-'))
            && self.glued(hyphen, index)
            && hyphen.checked_sub(1).is_some_and(|before| self.glued(before, hyphen))
            && matches!(self.word_at(hyphen.checked_sub(1)), Some("во" | "в" | "по"))
    }

    fn is_in_a_title(&self, rank: f64, next: usize) -> bool {
        // "first-aid kit"
        let hyphen = usize::from(self.lexemes.get(next).is_some_and(|sign| sign.is_sign('-')));
        let passed = self.word_at(Some(next)).is_some_and(|word| OF_AID.has(word));
        let at = next + usize::from(passed).max(hyphen);
        let Some(word) = self.word_at(Some(at)) else { return false };
        // "the first minister to resign", but "first aid to the injured"
        let told = word == "aid"
            || !self.word_at(Some(at + 1)).is_some_and(|word| TOLD_OF_A_FIRST.has(word))
                && !self.is_first_of_many(next, at);
        // "первый министр Шотландии"
        let ahead = self.lexemes.get(at + 1).is_some_and(|name| name.text.starts_with(char::is_uppercase));
        let minister = ["министр", "міністр"].iter().any(|known| word.starts_with(known)) && ahead && rank <= 1.0;
        told && (is_a_title(word, rank) || minister)
    }

    /// Whether others held the office: "the first Secretary of State". "First Minister of Scotland" is a title.
    fn is_first_of_many(&self, next: usize, title: usize) -> bool {
        let capital = |at: usize| self.lexemes.get(at).is_some_and(|word| word.text.starts_with(char::is_uppercase));
        let word = |at: usize| self.word_at(Some(at));
        if !word(title).is_some_and(str::is_ascii) {
            return false;
        }
        let mixed = capital(title) && !next.checked_sub(1).is_some_and(capital);
        let of = word(title + 1) == Some("of");
        let office = match word(title) {
            Some("secretary" | "secretaries") => {
                let body = |at: usize| word(at).is_some_and(|word| BODIES.has(word));
                word(title + 1) == Some("general") || (of && !(title + 2..title + 7).any(body))
            }
            Some("minister" | "ministers") => of && !capital(title + 2),
            _ => false,
        };
        mixed || office
    }

    /// Whether it is like "the Second World War", "после Второй мировой войны".
    fn is_of_a_war(&self, rank: f64, next: usize) -> bool {
        let Some(world) = self.word_at(Some(next)).filter(|_| rank <= 3.0) else { return false };
        let war = self.word_at(Some(next + 1));
        if !has_cyrillic(world) {
            return world == "world" && war == Some("war");
        }
        let feminine = ["миров", "світов"]
            .iter()
            .filter_map(|beginning| world.strip_prefix(beginning))
            .any(|ending| FEMININE.contains(&ending));
        // "Второй мировой державой" is a rank.
        let left_out = war.is_none_or(|word| tokens::content_stems(word, self.language).is_empty());
        let named = war.is_some_and(|word| ["войн", "війн", "воєн"].iter().any(|known| word.starts_with(known)));
        feminine && (named || left_out)
    }

    /// Whether it is like "World War 2". "Before the First World War 3 men" is a count.
    pub(super) fn counts_a_war(&self, index: usize, next: usize) -> bool {
        let back = |steps: usize| index.checked_sub(steps).and_then(|at| self.word_at(Some(at)));
        let of_wars = self.lexemes.get(index).is_some_and(|lexeme| {
            let number = lexeme.integer().map(f64::from).or_else(|| lexeme.word().and_then(words::cardinal));
            number.is_some_and(|number| (1.0..=3.0).contains(&number))
        });
        let measured = self.word_at(Some(next)).is_some_and(super::is_unit_or_scale);
        let numbered = matches!(back(3), Some("first" | "second"));
        of_wars && next == index + 1 && back(1) == Some("war") && back(2) == Some("world") && !measured && !numbered
    }
}
