//! Decides the kind of a sentence and finds the checkable part of a mixed one.
//!
//! Words: `statements.kinds.*` in the lexicon.

use crate::entities::entities;
use crate::entities::kind::EntityKind;
use crate::lexicon::{Parts, Words};
use crate::patterns::Pattern;
use crate::tokens::{self, Token};
use crate::{has_cyrillic, numbers};
use corroborate_domain::ClaimKind;

static PERSONAL_WORDS: Words = Words::of("statements.kinds.personal");

/// "I think", "по-моему"
static OWN_VIEW: Pattern = Pattern::of(
    r"(?x)(?-u:\b){statements.kinds.speaker@latin}\ (?:{statements.kinds.firmly}\ )?
            {statements.kinds.views@latin}(?-u:\b)
        |(?-u:\b){statements.kinds.opinion@latin}(?-u:\b)
        |(?:^|[\s,]){statements.kinds.speaker@cyrillic}\ (?:\S+\ )?{statements.kinds.views@cyrillic}(?:[\s,]|$)
        |{statements.kinds.opinion@cyrillic}",
);

static WISHES: Words = Words::of("statements.kinds.wishes");

/// "should", "нужно": an obligation is no fact.
static OBLIGATION: Pattern =
    Pattern::of(r"(?-u:\b){statements.kinds.ought@latin}(?-u:\b)|(?:^|\s){statements.kinds.ought@cyrillic}(?:\s|$)");

/// "The worst attack since 1994": within a period a superlative is countable.
static COUNTED_SUPERLATIVE: Pattern = Pattern::of(
    r"(?x){statements.kinds.best}(?s:.){0,90}?
        (?:(?-u:\b){statements.kinds.since@latin}\ \d
        |{statements.kinds.within@latin}\ [\w-]+\ {statements.kinds.years}
        |(?:^|\s){statements.kinds.since@cyrillic}\ \d{4}
        |{statements.kinds.within@cyrillic}\ \d
        |{statements.kinds.ever})",
);

/// Words that judge, without superlatives of size, age and number.
static JUDGING_WORDS: Words = Words::of("statements.kinds.judging");

/// Words that only strengthen or frame.
static FRAME_WORDS: Words = Words::of("statements.kinds.frames");

static COPULAS: Words = Words::of("statements.kinds.copulas");

/// The kind, and the text to check if it is not the sentence.
pub(super) struct KindJudgement {
    pub(super) kind: ClaimKind,
    pub(super) factual_part: Option<String>,
}

/// Decides the kind. `resolved`: a name replaced the leading pronoun.
pub(super) fn judge(sentence: &str, language: Option<&str>, resolved: bool) -> KindJudgement {
    let all = tokens::tokens(sentence, language);
    let plain = |kind| KindJudgement { kind, factual_part: None };
    if let Some(view) = OWN_VIEW.find(sentence) {
        // "I think it opened in 1991" is checkable without the frame.
        let rest = after_frame(sentence, view.end());
        let checkable = rest
            .as_deref()
            .is_some_and(|rest| states_something(rest, language) && !judges(rest, language) && !is_obligation(rest));
        // "I Love Lucy" is a name.
        let wish = WISHES.has_this(view.as_str().split_whitespace().next_back());
        return match rest.filter(|_| checkable && !wish && view.start() == 0) {
            Some(rest) => KindJudgement { kind: ClaimKind::Mixed, factual_part: Some(rest) },
            None => plain(ClaimKind::Opinion),
        };
    }
    if let Some(position) = judging_position(&all).filter(|_| !COUNTED_SUPERLATIVE.is_match(sentence)) {
        if let Some(factual) = without_judgement(sentence, &all, position) {
            return KindJudgement { kind: ClaimKind::Mixed, factual_part: Some(factual) };
        }
        if is_predicate(sentence, &all, position) {
            return plain(ClaimKind::Opinion);
        }
    }
    if is_obligation(sentence) && numbers::quantities(sentence, language).is_empty() {
        return plain(ClaimKind::Opinion);
    }
    if !resolved && is_vague(&all) {
        return plain(ClaimKind::Ambiguous);
    }
    plain(ClaimKind::Factual)
}

fn judges(text: &str, language: Option<&str>) -> bool {
    judging_position(&tokens::tokens(text, language)).is_some()
}

/// Possibility or future.
static OPEN_WORDS: Words = Words::of("statements.kinds.open");

/// Whether there is a figure, or a person, organisation or place with a fact.
fn states_something(text: &str, language: Option<&str>) -> bool {
    let named = || entities(text, language, &[]).iter().any(|name| name.kind != EntityKind::Misc);
    let open = || tokens::tokens(text, language).iter().any(|token| OPEN_WORDS.has(&token.text));
    !numbers::quantities(text, language).is_empty() || (named() && !open())
}

/// Returns the text after "I think (that)".
fn after_frame(sentence: &str, end: usize) -> Option<String> {
    let rest = sentence.get(end..)?.trim_start_matches([',', ' ']);
    let rest = ["that ", "что ", "що "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    (rest.split_whitespace().count() >= 3).then(|| super::capitalised(rest))
}

/// Finds a listed word, or the adjective of "most beautiful". "Best-selling", "Best Picture" and "at best" do not
/// judge.
fn judging_position(all: &[Token]) -> Option<usize> {
    all.iter().enumerate().position(|(index, token)| {
        let next = all.get(index + 1);
        let previous = index.checked_sub(1).and_then(|before| all.get(before));
        let named = token.capitalised && index > 0 && next.is_some_and(|next| next.capitalised);
        let measured = next.is_some_and(|next| {
            matches!(next.text.as_str(), "selling" | "known" | "paid" | "practice" | "practices" | "friday")
        }) || previous
            .is_some_and(|previous| matches!(previous.text.as_str(), "at" | "common" | "not") && token.text == "best");
        JUDGING_WORDS.has(&token.text) && !named && !measured
    })
}

/// Whether the main clause is an obligation; "scientists say that we should" is a report.
fn is_obligation(sentence: &str) -> bool {
    static REPORTING_PARTS: Parts = Parts::of("statements.kinds.reporting");
    OBLIGATION.find(sentence).is_some_and(|found| {
        let before = sentence.get(..found.start()).unwrap_or_default();
        let before = format!(" {}", before.to_lowercase());
        !REPORTING_PARTS.occurs_in(&before)
    })
}

/// Whether it is the predicate: after a copula or dash, or with few other words.
fn is_predicate(sentence: &str, all: &[Token], position: usize) -> bool {
    let before = all.get(..position).unwrap_or_default();
    let between = |token: &&Token| !COPULAS.has(&token.text) && (token.stop || FRAME_WORDS.has(&token.text));
    let nearest = before.iter().rev().take(5).find(|token| !between(token));
    let copula = nearest.is_some_and(|token| COPULAS.has(&token.text));
    let dash =
        has_cyrillic(sentence) && (sentence.contains(" — ") || sentence.contains(" – ") || sentence.contains(" - "));
    let short = all.iter().filter(|token| !token.stop).count() <= 4;
    let exclaimed = sentence.trim_end().ends_with('!');
    copula || dash || (short && exclaimed) || (short && position + 1 == all.len())
}

/// Removes a judgement: "Minecraft is the best 2D game" → "Minecraft is a 2D game". `None` if a bare noun is left.
fn without_judgement(sentence: &str, all: &[Token], position: usize) -> Option<String> {
    let judging = all.get(position)?;
    let rest: Vec<&Token> = all.get(position + 1..)?.iter().collect();
    let content = rest.iter().filter(|token| !token.stop && !FRAME_WORDS.has(&token.text)).count();
    let subject = all.get(..position)?.iter().any(|token| !token.stop);
    if content < 2 || !subject || !is_predicate(sentence, all, position) || judges_after(&rest) {
        return None;
    }
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let place = words.iter().position(|word| {
        let bare: String = word.chars().filter(|c| c.is_alphabetic()).collect();
        tokens::normalise_word(&bare) == judging.text
    })?;
    let mut head: Vec<String> = words.get(..place)?.iter().map(|word| (*word).to_owned()).collect();
    while head.last().is_some_and(|word| FRAME_WORDS.has(&word.to_lowercase()) && !word.is_empty()) {
        head.pop();
    }
    let tail = words.get(place + 1..)?;
    if !has_cyrillic(sentence) {
        let article = head.last().is_some_and(|word| matches!(word.as_str(), "the" | "a" | "an"));
        if article {
            head.pop();
        }
        let copula = head.last().is_some_and(|word| COPULAS.has(&word.to_lowercase()));
        let plural = head.last().is_some_and(|word| matches!(word.to_lowercase().as_str(), "are" | "were"));
        // "is beautiful and old" has no noun.
        if !copula || !article {
            return None;
        }
        if !plural {
            let vowel =
                tail.first().is_some_and(|word| word.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O']));
            head.push(if vowel { "an" } else { "a" }.to_owned());
        }
    }
    head.extend(tail.iter().map(|word| (*word).to_owned()));
    Some(head.join(" "))
}

fn judges_after(rest: &[&Token]) -> bool {
    rest.iter().any(|token| JUDGING_WORDS.has(&token.text))
}

static PRONOUNS: Words = Words::of("statements.kinds.pronouns");

/// Whether a first word refers outside the sentence.
pub(super) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.has(word)
}

static EMPTY_WORDS: Words = Words::of("statements.kinds.empty");

/// Whether it is a pronoun with little content, or hardly any words.
fn is_vague(all: &[Token]) -> bool {
    let content: Vec<&Token> = all.iter().filter(|token| !token.stop).collect();
    let meaningful = content.iter().filter(|token| !EMPTY_WORDS.has(&token.text)).count();
    let pronoun = all.first().is_some_and(|token| {
        is_pronoun(token.text.strip_suffix("'s").unwrap_or(&token.text))
            || matches!(token.text.as_str(), "he's" | "she's" | "they're")
    });
    let personal = all.first().is_some_and(|token| PERSONAL_WORDS.has(&token.text));
    let names =
        all.iter().skip(1).filter(|token| token.capitalised).count() + all.iter().filter(|token| token.number).count();
    meaningful == 0
        || content.len() < 2 && all.len() < 4 && names == 0 && !all.first().is_some_and(|token| token.number)
        || (personal && meaningful < 5)
        || (pronoun && meaningful < 3 && names == 0)
}
