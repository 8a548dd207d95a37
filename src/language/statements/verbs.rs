//! Which words of a sentence are its verbs, as far as a list and an ending tell.

use crate::language::tokens;

/// English verbs that stand for themselves in a sentence: auxiliaries, and past tenses without "-ed".
const FINITE: &str = "is are was were am be been being has have had do does did will would can could may might must shall should isn't aren't wasn't weren't \
    hasn't haven't didn't won't wouldn't said told made took came went rose fell began won lost met left found held gave got became led sent spent \
    built bought sold hit shot fought broke drove flew grew knew paid put ran saw spoke stood taught thought wore wrote struck caught brought \
    chose kept meant drew beat sank swore threw understood felt cut set shut let read says say makes takes comes goes wins loses meets \
    remains includes follows shows means gets gives";

/// Words in "-ed" that are no verbs.
const NO_PAST: &str = "need speed seed feed breed indeed hundred red bed united agreed-upon wed shed embed exceed proceed succeed greed weed creed \
    mohammed ahmed muhammed hamed";

/// The words of a text, normalised.
pub(super) fn words(text: &str) -> Vec<String> {
    tokens::tokens(text, None).into_iter().map(|token| token.text).collect()
}

/// Whether an English word, in small letters, is a finite verb or may be one: "was", "said", "killed".
pub(super) fn is_finite(word: &str) -> bool {
    FINITE.split_whitespace().any(|verb| verb == word) || is_past(word)
}

fn is_past(word: &str) -> bool {
    word.len() > 3 && word.ends_with("ed") && !NO_PAST.split_whitespace().any(|other| other == word)
}

/// Whether an English word tells that something was said.
pub(super) fn says(word: &str) -> bool {
    const SAYING: &str =
        "said says say reported reports report wrote writes told tells announced announces added according";
    SAYING.split_whitespace().any(|verb| verb == word)
}

/// Whether a Russian or Ukrainian word, in small letters, has an ending of the past: "погибли", "були", "ранены", "вбито". Nouns share
/// some of them.
pub(super) fn is_past_cyrillic(word: &str) -> bool {
    const ENDINGS: [&str; 28] = [
        "ал", "ял", "ил", "ел", "ул", "ла", "ло", "ли", "лся", "лась", "лось", "лись", "ены", "аны", "яты", "ено",
        "ано", "ято", "ився", "ався", "ив", "ав", "ув", "ер", "иб", "ік", "ён", "ёк",
    ];
    word.chars().count() > 3 && ENDINGS.iter().any(|ending| word.ends_with(ending))
}
