//! Ranks that rank nothing: titles ("first lieutenant"), "first aid", "во-первых", and the wars of the world.

use super::{Reader, words};
use crate::lexer::Kind;
use crate::{has_cyrillic, tokens};

/// What is one name with the rank before it, and the highest such rank; a star ends a beginning.
const TITLES: &[(f64, &str)] = &[
    (1.0, "aid sergeant sergeants minister ministers lady ladies gentleman mate"),
    (2.0, "lieutenant lieutenants"),
    (3.0, "secretary secretaries baseman basemen"),
    (
        1.0,
        "леди леді сержант* заместител* замначальник* замминистр* замглав* замдиректор* зампред* заступник* віцепрем'єр*",
    ),
    (1.0, "помощь помощи помощью допомога допомоги допомогу допомозі допомогою"),
    (3.0, "секретар*"),
];

/// What has a first secretary.
const BODIES: &[&str] = &["party", "committee", "embassy", "union", "council", "league", "komsomol"];

/// Words behind a title that say of what its bearer was the first.
const TOLD_OF_A_FIRST: &[&str] = &["to", "ever", "in", "since", "who", "from"];

/// What may stand between "first" and "aid".
const OF_AID: &[&str] = &["медицинск", "доврачебн", "медичн", "домедичн", "психологическ", "психологічн"];

/// Endings of a feminine adjective: a war is one.
const FEMININE: &[&str] = &["ая", "ой", "ую", "ою", "а", "ої", "ій", "у"];

/// Words before "first" behind which a verb makes it tell of time, and such where only what follows the verb tells.
const BEFORE_A_VERB: &[&str] = &[
    "was", "were", "is", "are", "been", "be", "being", "had", "has", "have", "who", "he", "she", "they", "we", "i",
    "it",
];
const BEFORE_A_CLAUSE: &[&str] = &["and", "but", "or", "also", "that", "which", "when", "where", "as"];

/// Past forms that are no noun or adjective behind "first": "first run", "first set" and "first hit" are left out.
const IRREGULAR: &[&str] = &[
    "began", "became", "came", "saw", "seen", "met", "made", "went", "took", "taken", "wrote", "written", "gave",
    "given", "knew", "known", "got", "told", "held", "won", "built", "brought", "sent", "sold", "taught", "thought",
    "sung", "sang", "flew", "flown", "spoke", "spoken", "drew", "drawn", "grew", "grown", "found", "heard", "felt",
    "shown", "sworn", "caught", "fought", "bought", "worn", "laid",
];

fn is_past(word: &str) -> bool {
    let regular = word.len() > 3 && word.ends_with("ed") && !word.ends_with("eed");
    (regular && !matches!(word, "hundred" | "followed" | "sacred" | "kindred" | "shed" | "sled"))
        || IRREGULAR.contains(&word)
}

/// Verbs with which "first" is a rank: "who came first received".
fn is_placed(word: &str) -> bool {
    ["came", "come", "comes", "finish", "place", "rank", "stood", "stand", "remain", "stay", "still"]
        .iter()
        .any(|known| word.starts_with(known))
        || matches!(word, "is" | "are" | "was" | "were" | "be" | "been")
}

fn is_a_title(word: &str, rank: f64) -> bool {
    let fits = |known: &str| match known.strip_suffix('*') {
        Some(beginning) => word.strip_prefix(beginning).is_some_and(|ending| ending.chars().count() <= 3),
        None => known == word,
    };
    TITLES.iter().any(|(highest, words)| rank <= *highest && words.split_whitespace().any(fits))
}

impl Reader<'_> {
    /// Whether the rank in words that stands here, up to `next`, is a part of something's name.
    pub(super) fn ranks_nothing(&self, index: usize, rank: f64, next: usize) -> bool {
        self.is_a_point(index)
            || self.is_an_adverb(index, next)
            || self.is_in_a_title(rank, next)
            || self.is_of_a_war(rank, next)
            || {
                // "в первую очередь": above all.
                matches!(self.word_at(index.checked_sub(1)), Some("в" | "у"))
                    && matches!(self.word_at(Some(next)), Some("очередь" | "чергу"))
                    && rank <= 1.0
            }
    }

    /// "was first released", "Records first announced the news", "at first", "in the first place": when something was, or above
    /// all else.
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
                let ends = !matches!(
                    self.word_at(Some(next + 1)),
                    Some("in" | "of" | "with" | "on" | "among" | "at" | "after")
                );
                let in_the = self.word_at(index.checked_sub(2)) == Some("in");
                let placed = (3..=5).any(|steps| self.word_at(index.checked_sub(steps)).is_some_and(is_placed));
                in_the && function(next + 1) && ends && !placed
            }
            Some(word) if BEFORE_A_VERB.contains(&word) => verb,
            Some(word) if BEFORE_A_CLAUSE.contains(&word) => verb && function(next + 1),
            Some(word) => {
                verb && !is_placed(word) && self.is_the_subject(index, word) && {
                    let name = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
                    let named = name.is_some_and(|name| name.text.starts_with(char::is_uppercase))
                        && self.lexemes.get(index).is_some_and(|first| first.text == "first");
                    named || function(next + 1)
                }
            }
            // The apostrophe of "the players' first planned game" is no beginning.
            None => {
                let sign = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
                let begins =
                    sign.is_none_or(|sign| matches!(sign.kind, Kind::Sign('.' | ',' | ';' | ':' | '(' | '—' | '–')));
                verb && begins && function(next + 1)
            }
        }
    }

    /// Whether a word before "first" may be what does something: a noun or a name, and nobody's.
    fn is_the_subject(&self, index: usize, word: &str) -> bool {
        !word.ends_with("'s")
            && index
                .checked_sub(1)
                .and_then(|at| self.lexemes.get(at))
                .is_some_and(|lexeme| !tokens::content_stems(lexeme.text, self.language).is_empty())
    }

    /// "во-первых", "в-третьих", "по-друге".
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
        let passed = self.word_at(Some(next)).is_some_and(|word| OF_AID.iter().any(|of| word.starts_with(of)));
        let at = next + usize::from(passed).max(hyphen);
        let Some(word) = self.word_at(Some(at)) else { return false };
        // "the first minister to resign", but "first aid to the injured"
        let told = word == "aid"
            || !self.word_at(Some(at + 1)).is_some_and(|word| TOLD_OF_A_FIRST.contains(&word))
                && !self.is_first_of_many(next, at);
        // "первый министр Шотландии"
        let ahead = self.lexemes.get(at + 1).is_some_and(|name| name.text.starts_with(char::is_uppercase));
        let minister = ["министр", "міністр"].iter().any(|known| word.starts_with(known)) && ahead && rank <= 1.0;
        told && (is_a_title(word, rank) || minister)
    }

    /// "the first Secretary of State", "the first minister of finance": there were others before or behind. "First Minister of
    /// Scotland" and "first secretary of the party" are titles.
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
                let body = |at: usize| word(at).is_some_and(|word| BODIES.contains(&word));
                word(title + 1) == Some("general") || (of && !(title + 2..title + 7).any(body))
            }
            Some("minister" | "ministers") => of && !capital(title + 2),
            _ => false,
        };
        mixed || office
    }

    /// "the Second World War", "после Второй мировой войны", "у Першій світовій".
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
        // "Второй мировой державой" is a rank, "во время Второй мировой" none.
        let left_out = war.is_none_or(|word| tokens::content_stems(word, self.language).is_empty());
        let named = war.is_some_and(|word| ["войн", "війн", "воєн"].iter().any(|known| word.starts_with(known)));
        feminine && (named || left_out)
    }

    /// "World War 2", "World War Two". "Before the First World War 3 men" counts.
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
