//! Months told without a year or a day ("in May", "в мае"): they are no dates, and "in March" bears nothing of May out.

use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::dates::names;
use corroborate_language::{cut, tokens};

/// Words before a month's name that tell it from others of the same letters ("may", "march", "лютий").
const BEFORE: &str = "in of since during last early late mid this next until by в во у за с со з із к до от від по прошлом минулого этом \
    цього начале конце середине початку кінці";

/// Whole names as short as others' beginnings.
const MAY: [&str; 3] = ["May", "June", "July"];

/// A month of a text, and whether a day or a year stands beside it.
struct Month {
    number: u32,
    is_bare: bool,
}

fn months(text: &str) -> Vec<Month> {
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    let digit = |at: Option<usize>| {
        at.and_then(|at| words.get(at)).is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    };
    let month = |(at, word): (usize, &&str)| {
        // English months are written large, and the short ones beside a day.
        let is_written_so =
            !word.is_ascii() || word.starts_with(char::is_uppercase) && (word.len() > 4 || MAY.contains(word));
        let number = names::month(&tokens::normalise_word(word)).filter(|_| is_written_so)?;
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|word| word.to_lowercase());
        let is_led = before.is_some_and(|before| BEFORE.split_whitespace().any(|known| known == before));
        let is_bare = !digit(at.checked_sub(1)) && !digit(Some(at + 1));
        (is_led || !is_bare).then_some(Month { number, is_bare })
    };
    words.iter().enumerate().filter_map(month).collect()
}

/// Whether the claim tells of a month and the sentence of others only.
pub(super) fn is_of_another_month(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ours = months(&claim.text);
    if ours.is_empty() || !ours.iter().all(|month| month.is_bare) {
        return false;
    }
    let theirs = months(cut(&passage.text, sentence.start, sentence.end));
    !theirs.is_empty() && theirs.iter().all(|month| ours.iter().all(|own| own.number != month.number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_other(claim: &str, passage: &str) -> bool {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        let (claim, passage) = (profile(claim), profile(passage));
        passage.sentences.iter().any(|sentence| is_of_another_month(&claim, &passage, sentence))
    }

    #[test]
    fn march_is_not_may() {
        for (claim, passage) in [
            ("The bank raised rates in May.", "The bank raised rates in March."),
            ("The bank raised rates in May.", "On 3 March 2026 the bank raised rates."),
            ("Банк поднял ставку в мае.", "Банк поднял ставку в марте."),
            ("Безробіття зросло у лютому.", "Безробіття зросло в січні."),
        ] {
            assert!(is_other(claim, passage), "{passage}");
        }
        for (claim, passage) in [
            ("The bank raised rates in May.", "The bank raised rates in May, as it had in March."),
            ("The bank raised rates in May.", "The bank raised rates on Monday."),
            ("The bank may raise rates.", "The bank raised rates in March."),
            ("Полиция задержала его с майором Ивановым.", "В марте полиция задержала его."),
            ("Діти прийшли з квітами до школи.", "У вересні діти прийшли до школи."),
            ("The march in Leeds was banned.", "The rally was banned in May."),
            ("Лютий мороз ударив у Києві.", "Мороз ударив у Києві в січні."),
            ("The bank raised rates on 3 May 2026.", "The bank raised rates in March."),
        ] {
            assert!(!is_other(claim, passage), "{passage}");
        }
    }
}
