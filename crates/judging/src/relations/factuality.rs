//! Finds sentences that repeat a claim without stating it: denials, debunks, rumours, questions, films, plans.
//!
//! One word outside the claim decides; then no judge takes a side by this sentence. Lists have only unambiguous words,
//! because studies use "suggests" and "may".

use corroborate_language::lexicon::Words;
use corroborate_language::verbs;

use crate::coverage::coverage_of_sentence;
use crate::profile::{SentenceProfile, Spoken, TextProfile};
use crate::stance::lexicon::{debunked, hedged};

use super::frames::{
    CONJUNCTIONS, DENIALS, FRAMES, GOVERNING, INVENTED, NEGATIONS, PHRASES, VERDICTS, begins, says_too,
};
use super::polarity::agree_in_denial;
use super::retraction::is_retracted;
use super::{Answer, Held, REPEATS, Rule};

pub const RETRACTED: &str = "factuality.retracted";
/// A verdict is next to the claim: "Our rating: False."
pub const RATED: &str = "factuality.rated";
pub const DENIED_BY: &str = "factuality.denied_by_somebody";

/// Retractions first: they reverse, the others leave open.
pub(super) const RULES: &[Rule] = &[
    Rule {
        id: RETRACTED,
        answer: Answer::Differs,
        holds: |held, at| held.repeats() && is_retracted(held.claim, held.passage, at),
    },
    Rule { id: RATED, answer: Answer::Differs, holds: |held, at| held.repeats() && is_rated(held, at) },
    Rule { id: DENIED_BY, answer: Answer::Differs, holds: |held, at| is(held, at, tells_denial) },
    Rule { id: "factuality.asked", answer: Answer::Differs, holds: |held, at| is(held, at, asks) },
    Rule { id: "factuality.framed", answer: Answer::Differs, holds: |held, at| is(held, at, has_frame) },
    Rule { id: "factuality.denied_clause", answer: Answer::Differs, holds: |held, at| is(held, at, is_denied_clause) },
    Rule { id: "factuality.not_confirmed", answer: Answer::Differs, holds: |held, at| is(held, at, is_not_confirmed) },
    Rule { id: "factuality.planned", answer: Answer::Differs, holds: |held, at| is(held, at, is_yet_to_be) },
];

/// Maximum words of such a verdict.
const SHORT: usize = 3;

fn is(held: &Held<'_>, at: usize, has: fn(&TextProfile, &SentenceProfile) -> bool) -> bool {
    held.repeats() && held.at(at).is_some_and(|sentence| has(held.claim, sentence))
}

fn is_rated(held: &Held<'_>, at: usize) -> bool {
    let is = |other: Option<usize>| other.and_then(|at| held.at(at)).is_some_and(|other| is_verdict(held.claim, other));
    is(at.checked_sub(1)) || is(Some(at + 1))
}

fn asks(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    sentence.question && claim.sentences.iter().all(|own| !own.question)
}

/// Whether the passage states the text by rule: the nearest sentences have the same denials, one has no hedge, and none
/// is retracted.
pub fn is_stated_in(text: &TextProfile, passage: &TextProfile) -> bool {
    let held = Held::new(text, passage);
    let speaks_of_it = |sentence: &&SentenceProfile| coverage_of_sentence(text, passage, sentence) >= REPEATS;
    let is_left_standing = |sentence: &SentenceProfile| agree_in_denial(text, sentence) && !debunked(sentence, text);
    let says = |(at, sentence): (usize, &SentenceProfile)| {
        speaks_of_it(&sentence)
            && !hedged(sentence, text)
            && !debunked(sentence, text)
            && !RULES.iter().any(|rule| (rule.holds)(&held, at))
    };
    let found = super::relations(text, passage);
    let differs =
        [super::Relation::Factuality, super::Relation::Roles, super::Relation::Time].map(|one| found.differs(one));
    !differs.contains(&true)
        && passage.sentences.iter().filter(speaks_of_it).all(is_left_standing)
        && passage.sentences.iter().enumerate().any(says)
}

fn says(claim: &TextProfile, beginning: &str) -> bool {
    claim.sentences.iter().flat_map(|own| &own.spoken).any(|word| word.text.starts_with(beginning))
}

fn spoken_words(text: &SentenceProfile) -> Vec<&str> {
    text.spoken.iter().map(|word| word.text.as_str()).collect()
}

/// Words between a governing word and the claim's clause.
const NEAR: usize = 4;

fn has_frame(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let words = spoken_words(sentence);
    let own: Vec<&str> = claim.sentences.iter().flat_map(spoken_words).collect();
    let opening = INVENTED.phrase_at(&words);
    begins(claim, sentence, &FRAMES)
        || begins(claim, sentence, &PHRASES)
        || PHRASES.has_phrase_beside(&words, &own)
        || opening > 0 && INVENTED.has_phrase_beside(words.get(..opening).unwrap_or_default(), &own)
        || is_governed(claim, sentence)
}

/// Whether a governing word precedes the claim, with a conjunction or infinitive: "accused Kyiv of", "rumours that X",
/// "отказался арестовать".
fn is_governed(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let frames = sentence
        .spoken
        .iter()
        .enumerate()
        .filter(|(_, word)| GOVERNING.has(&word.text) && !says_too(claim, &GOVERNING, &word.text));
    frames.into_iter().any(|(at, _)| {
        let behind = sentence.spoken.get(at + 1..(at + 1 + NEAR).min(sentence.spoken.len())).unwrap_or_default();
        let joined = behind.iter().position(|word| CONJUNCTIONS.has(&word.text) || word.text == "to");
        let infinitive = || {
            // Infinitive endings, only for this test.
            let ends = ["ать", "ить", "еть", "ять", "уть", "ти"];
            behind
                .iter()
                .find(|word| word.content)
                .is_some_and(|word| ends.iter().any(|ending| word.text.ends_with(ending)) && claim.has_stem(&word.stem))
        };
        let shared_behind = |from: usize| {
            let rest = sentence.spoken.get(at + 1 + from..).unwrap_or_default();
            rest.iter().filter(|word| word.content).take(3).any(|word| claim.has_stem(&word.stem))
        };
        joined.is_some_and(shared_behind) || infinitive()
    })
}

/// A reported denial settles neither side.
fn tells_denial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    begins(claim, sentence, &DENIALS)
}

fn is_verdict(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ends = |last: &Spoken| VERDICTS.has(&last.text) && !says(claim, &last.text);
    sentence.spoken.len() <= SHORT && !sentence.question && sentence.spoken.last().is_some_and(ends)
}

/// "Not", "ніхто", "didn't".
fn negates(word: &Spoken) -> bool {
    NEGATIONS.has(&word.text) || NEGATIONS.has_ending_of(&word.text)
}

/// Whether the claim's clause is denied: "the ministry did not confirm that X", "ни один источник не сообщил, что X".
fn is_denied_clause(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let spoken = &sentence.spoken;
    let Some(joint) = spoken.iter().position(|word| CONJUNCTIONS.has(&word.text)) else { return false };
    let (before, behind) = spoken.split_at(joint);
    let denies = before.iter().any(negates);
    let shared = |words: &[Spoken]| words.iter().filter(|word| word.content && claim.has_stem(&word.stem)).count();
    let claim_denies = claim.sentences.iter().any(|own| !own.denials.is_empty());
    denies && !claim_denies && shared(behind) > shared(before)
}

/// "… не соответствует действительности", "… was not confirmed".
fn is_not_confirmed(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    static HOLDS: Words = Words::of("factuality.confirming");
    HOLDS.beginnings().into_iter().any(|beginning| {
        let at = sentence.spoken.iter().position(|word| word.text.starts_with(beginning));
        let before = at.and_then(|at| sentence.spoken.get(at.saturating_sub(2)..at)).unwrap_or_default();
        before.iter().any(negates) && !says(claim, beginning)
    })
}

/// Whether the sentence is a plan: "will sign" for "signed", "получит" for "получила".
fn is_yet_to_be(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let done =
        claim.sentences.iter().flat_map(|own| &own.spoken).filter(|word| word.content && verbs::is_past(&word.text));
    done.into_iter().any(|word| {
        let mut same = sentence.spoken.iter().enumerate().filter(|(_, other)| other.stem == word.stem).peekable();
        same.peek().is_some() && same.all(|(at, other)| is_ahead(sentence, at, other))
    })
}

fn is_ahead(sentence: &SentenceProfile, at: usize, word: &Spoken) -> bool {
    /// "Будет построен", "має бути збудований".
    static TO_BE: Words = Words::of("factuality.planned.to_be");
    /// Grammar of this test: perfective future endings, similar present ones, and prefixes.
    const ENDINGS: [&str; 13] =
        ["ит", "ет", "ёт", "ят", "ут", "ить", "ать", "еть", "уть", "ится", "иться", "ують", "ує"];
    const PRESENT: [&str; 7] = ["ает", "яет", "ают", "вует", "вуют", "вує", "вують"];
    /// Present endings, unless prefixed ("рисуют", "побудують").
    const PRESENT_ALONE: [&str; 4] = ["ует", "уют", "ує", "ують"];
    const PREFIXES: [&str; 16] =
        ["по", "с", "з", "от", "від", "про", "на", "за", "вы", "ви", "раз", "роз", "под", "під", "пере", "о"];
    /// Future forms that look like the present.
    static PERFECTIVE: Words = Words::of("factuality.planned.perfective");
    static LEADING: Words = Words::of("factuality.planned.leading");
    static INTENT: Words = Words::of("factuality.planned.intent");
    let text = word.text.as_str();
    if !text.is_ascii() {
        let is_noun = word.text == word.stem;
        let before = sentence.spoken.get(at.saturating_sub(2)..at).unwrap_or_default();
        if PERFECTIVE.has(text) || before.iter().any(|word| TO_BE.has(&word.text)) {
            return true;
        }
        let has_prefix = || PREFIXES.iter().any(|prefix| text.starts_with(prefix));
        let is_present = PRESENT.iter().any(|ending| text.ends_with(ending))
            || PRESENT_ALONE.iter().any(|ending| text.ends_with(ending)) && !has_prefix();
        return !is_noun && !is_present && ENDINGS.iter().any(|ending| text.ends_with(ending));
    }
    let before =
        |back: usize| at.checked_sub(back).and_then(|at| sentence.spoken.get(at)).map_or("", |word| word.text.as_str());
    let will = LEADING.has(before(1)) || LEADING.has(before(2)) && before(1) != "to";
    let to = before(1) == "to" && INTENT.has(before(2));
    !text.ends_with("ed") && (will || to)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::relations::{Relation, relations};

    fn rule(claim: &str, passage: &str) -> &'static str {
        let language = match claim {
            own if own.contains(['і', 'ї']) => "uk",
            own if corroborate_language::has_cyrillic(own) => "ru",
            _ => "en",
        };
        let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
        let found = relations(&profile(claim), &profile(passage));
        found
            .findings()
            .iter()
            .find(|finding| finding.relation == Relation::Factuality)
            .map_or("", |finding| finding.rule)
    }

    #[test]
    fn what_repeats_a_claim_without_stating_it_is_known() {
        let (left, cross) = ("Украинские войска оставили Покровск.", "Ukrainian troops left Pokrovsk.");
        for (claim, passage, expected) in [
            (left, "Генштаб опроверг, что украинские войска оставили Покровск.", DENIED_BY),
            (left, "Ни один источник не сообщил, что украинские войска оставили Покровск.", "factuality.denied_clause"),
            (left, "Нет доказательств того, что украинские войска оставили Покровск.", "factuality.framed"),
            ("Украина получила самолёты F-16.", "Украина получит самолёты F-16 летом.", "factuality.planned"),
            ("У Львові побудували новий міст.", "У Львові побудують новий міст.", "factuality.planned"),
            (cross, "Rating: False. Ukrainian troops left Pokrovsk.", RATED),
            (cross, "The ministry called reports that Ukrainian troops left Pokrovsk a hoax.", "factuality.framed"),
            (cross, "Is it true that Ukrainian troops left Pokrovsk?", "factuality.asked"),
            (cross, "In the film Ukrainian troops left Pokrovsk.", "factuality.framed"),
            (
                "Russia signed the treaty with Iran.",
                "Russia will sign the treaty with Iran in May.",
                "factuality.planned",
            ),
            ("Мэр Томска подал в отставку.", "Мэр Томска подал в отставку. Это не так.", RETRACTED),
            (left, "Генштаб подтвердил, что украинские войска оставили Покровск.", ""),
            (
                "Russia signed the treaty with Iran.",
                "Russia signed the treaty with Iran, which it will ratify in May.",
                "",
            ),
            ("The report that Iraq had weapons was a hoax.", "The report that Iraq had weapons was a hoax.", ""),
            ("Matthew Perry died at 54.", "Matthew Perry, who starred in the series Friends, died at 54.", ""),
            ("Armenia did not confirm the deal.", "Officials said that Armenia did not confirm the deal.", ""),
        ] {
            assert_eq!(rule(claim, passage), expected, "{passage}");
        }
    }

    proptest! {
        #[test]
        fn a_text_states_itself(words in "[a-z]{3,9}( [a-z]{3,9}){2,8}") {
            prop_assert_eq!(rule(&words, &words), "");
        }
    }
}
