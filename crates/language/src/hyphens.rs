//! Joins words that hyphens break at the ends of lines, as in text selected in a PDF: "govern-\nment", "sub- sidies".
//!
//! A break is a hyphen with white space and a word behind it. Dictionaries and the text show whether the word has the
//! hyphen without the break:
//!
//! 1. It has one before a capital or a figure ("Івано-\nФранківську"), and if the text has it elsewhere.
//! 2. It has none if the whole word is known or elsewhere in the text.
//! 3. It has one between two known words ("премьер-\nминистр").
//! 4. Otherwise it has none.
//!
//! "Two- and three-year" stays, and so does a hyphen in place of a dash. Soft hyphens are removed.
//!
//! Russian and Ukrainian words are those of [`super::lemmas`], English ones those of `hyphens/english.txt`. Words of
//! other languages are joined.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::HashSet;
use std::sync::LazyLock;

use super::lexicon::Words;
use super::{gazetteer, has_cyrillic, lemmas, stemming, stopwords, tokens};

/// "Two- and three-year".
static CONJUNCTION: Words = Words::of("hyphens.conjunction");

static ENGLISH: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("hyphens/english.txt").lines().collect());

const SOFT_HYPHEN: &str = "\u{AD}";
/// Letters of the second half of a compound such as "северо-западный"; shorter words also end names.
const MIN_SECOND_HALF: usize = 5;

/// Returns the text with its broken words joined.
pub fn joined(text: &str) -> Cow<'_, str> {
    let words = LazyCell::new(|| words_of(text));
    let (mut whole, mut copied) = (String::new(), 0);
    for (at, sign) in text.match_indices(['-', '\u{2010}', '\u{AD}']) {
        let (Some(before), Some(after)) = (text.get(..at), text.get(at + sign.len()..)) else { continue };
        let rest = after.trim_start();
        let gap = super::cut(after, 0, after.len() - rest.len());
        let halves =
            BrokenWord { head: last_word(before), tail: first_word(rest), has_line_end: gap.contains(['\n', '\r']) };
        let is_break = !gap.is_empty() && !halves.head.is_empty() && !halves.tail.is_empty();
        let joint = match sign {
            SOFT_HYPHEN => Some(""),
            _ if is_break => halves.joint(&words),
            _ => None,
        };
        let Some(joint) = joint else { continue };
        whole.push_str(super::cut(text, copied, at));
        whole.push_str(joint);
        copied = at + sign.len() + if is_break { gap.len() } else { 0 };
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    whole.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(whole)
}

/// The halves of a broken word.
struct BrokenWord<'a> {
    head: &'a str,
    tail: &'a str,
    has_line_end: bool,
}

impl BrokenWord<'_> {
    /// Returns what joins the halves; `None` if they are no broken word.
    fn joint(&self, words: &HashSet<String>) -> Option<&'static str> {
        let first = self.tail.chars().next()?;
        if self.head.ends_with(char::is_numeric) {
            // "1- The first of a list"
            return self.has_line_end.then_some("-");
        }
        if !first.is_alphabetic() {
            return Some("-");
        }
        self.tail.chars().nth(1)?;
        let (head, tail) = (tokens::normalise_word(self.head), tokens::normalise_word(self.tail));
        let is_shouted = ![self.head, self.tail].iter().any(|half| half.contains(char::is_lowercase));
        if (first.is_uppercase() && !is_shouted) || words.contains(&format!("{head}-{tail}")) {
            return Some("-");
        }
        let whole = format!("{head}{tail}");
        if words.contains(&whole) || is_known(&whole) {
            return Some("");
        }
        let stays_apart = !self.has_line_end && stopwords::is_stop_word(&tail, None);
        if stays_apart || CONJUNCTION.has(&tail) {
            return None;
        }
        let is_second = is_word(&tail);
        let is_linked = head.ends_with(['о', 'е']) && tail.chars().count() >= MIN_SECOND_HALF;
        if is_shouted || (is_second && (is_linked || is_word(&head))) {
            return Some("-");
        }
        // "Ларн- город": the hyphen is a dash.
        (self.has_line_end || !is_second).then_some("")
    }
}

fn is_word(word: &str) -> bool {
    if has_cyrillic(word) {
        let is_form = [false, true].into_iter().any(|ukrainian| lemmas::lemma(word, ukrainian).is_some());
        is_form || stopwords::is_stop_word(word, None)
    } else {
        ENGLISH.contains(word)
    }
}

/// Whether a dictionary has the word or, in English, its stem ("harshness"), or it is a known name.
fn is_known(word: &str) -> bool {
    is_word(word)
        || gazetteer::lookup(&[word.to_owned()]).is_some()
        || (!has_cyrillic(word) && ENGLISH.contains(stemming::stem(word, Some("en")).as_str()))
}

fn is_inside(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '\'' | '’' | 'ʼ' | '\u{0300}'..='\u{036F}' | '\u{AD}')
}

fn last_word(text: &str) -> &str {
    let end = text.trim_end_matches(is_inside).len();
    text.get(end..).unwrap_or_default()
}

fn first_word(text: &str) -> &str {
    let rest = text.trim_start_matches(is_inside).len();
    text.get(..text.len() - rest).unwrap_or_default()
}

/// The words of the text, with inner hyphens.
fn words_of(text: &str) -> HashSet<String> {
    let words = text.split(|character: char| !is_inside(character) && !matches!(character, '-' | '\u{2010}'));
    words.map(|word| tokens::normalise_word(word).replace('\u{2010}', "-")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_is_joined_when_a_hyphen_breaks_it() {
        let cases = [
            ("The govern-\nment cut fuel sub-\nsidies in Octo-\nber.", "The government cut fuel subsidies in October."),
            ("The govern- ment cut fuel sub- sidies.", "The government cut fuel subsidies."),
            ("The govern\u{2010}\r\nment", "The government"),
            ("the harsh-\nness of it", "the harshness of it"),
            ("The gov\u{AD}ern\u{AD}\nment cut sub\u{AD}sidies", "The government cut subsidies"),
            ("Прави-\nтельство сократило топ-\nливные субсидии", "Правительство сократило топливные субсидии"),
            ("ско- рость ветра", "скорость ветра"),
            ("Уряд ско-\nротив 40 відсот-\nків", "Уряд скоротив 40 відсотків"),
            ("ПРАВИ-\nТЕЛЬСТВО", "ПРАВИТЕЛЬСТВО"),
            ("Зеленсь-\nкий прибув", "Зеленський прибув"),
            ("Dravo-\nmere fell; Dravomere", "Dravomere fell; Dravomere"),
        ];
        for (text, whole) in cases {
            assert_eq!(joined(text), whole);
        }
    }

    #[test]
    fn a_hyphen_stays_when_it_belongs_to_the_word() {
        let cases = [
            ("премьер-\nминистр открыл северо-\nзападный тоннель", "премьер-министр открыл северо-западный тоннель"),
            ("в Івано-\nФранківську", "в Івано-Франківську"),
            ("a well-\nknown long- term plan", "a well-known long-term plan"),
            ("her mother-in-\nlaw", "her mother-in-law"),
            ("COVID-\n19 in 2019-\n2020", "COVID-19 in 2019-2020"),
            ("co-\noperation; a co-operation", "co-operation; a co-operation"),
            ("кто-\nто из-\nза, генерал- лейтенант", "кто-то из-за, генерал-лейтенант"),
        ];
        for (text, whole) in cases {
            assert_eq!(joined(text), whole);
        }
    }

    #[test]
    fn text_stays_when_no_word_of_it_is_broken() {
        let texts = [
            "two- and three-year plans",
            "нефте- или газопровод",
            "газо- та водопровід",
            "Ларн- это город",
            "one - two\n- three",
            "1- The first; 2- the second",
            "премьер-министр",
            "-\n",
        ];
        for text in texts {
            assert!(matches!(joined(text), Cow::Borrowed(same) if same == text), "{text}: {}", joined(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_joined(text in "[a-zА-я0-9\u{AD}\u{2010} \n-]{0,60}") {
            let found = joined(&text).contains('\u{AD}');
            prop_assert!(!found);
        }
    }
}
