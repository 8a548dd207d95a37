//! What a text claims: its sentences as self-contained statements, their kinds, and how worth checking each is.
//!
//! Errors in a claim are kept as they are: "Water boils at 50C" is a claim, and the evidence will say what is wrong with it.
//! To add a language: its words in `statements/kinds.rs`, its calls to subscribe in `statements/clean.rs`, its pronouns below.

mod clean;
mod frames;
mod kinds;
mod worth;

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

pub use clean::clean;

use super::entities::{Entity, EntityKind, entities};
use super::sentences::sentences;
use super::{has_cyrillic, tokens};
use crate::domain::ClaimKind;

/// One claim of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Self-contained and cleaned: what is checked and shown.
    pub text: String,
    pub kind: ClaimKind,
    /// 0–1: how much a check of it would tell.
    pub check_worthiness: f64,
    /// The sentence it was taken from, cleaned and otherwise as written.
    pub original: String,
}

/// A sentence longer than this is a list or a page without stops; it would match nothing. Characters.
const LONGEST: usize = 1000;
/// Stems two statements must share to be one, of the shorter one's.
const SAME: f64 = 0.85;
/// Sentences looked at: news puts its claims first, and the work stays bounded.
const MOST_SENTENCES: usize = 80;

static GREETING: LazyLock<Regex> = LazyLock::new(|| {
    clean::pattern(
        r"(?i)^(?:hi|hello|hey|good (?:morning|afternoon|evening|night|day)|welcome|greetings|thanks|thank you|happy (?:birthday|new year)|dear (?:friends|subscribers|all)|привет|здравствуйте|здравствуй|добр(?:ый|ое|ого) (?:день|утро|вечер|дня|утра|вечера)|доброй ночи|спасибо|дорогие|друзья|всем привет|поздравля\S+|з повагою|привіт|вітаю|вітаємо|доброго (?:ранку|дня|вечора)|добрий (?:день|ранок|вечір)|на добраніч|дякую|дякуємо|шановні|друзі)(?:[\s,!.]|$)",
    )
});

/// A sentence with what is known of it.
struct Candidate {
    statement: Statement,
    stems: HashSet<String>,
}

/// The statements of a text, in its order; where there are more than `max`, the most check-worthy ones. A title counts as a
/// statement of its own where no sentence says the same. A text of one sentence always gives one statement, unless it asks
/// or greets.
pub fn statements(text: &str, title: Option<&str>, language: Option<&str>, max: usize) -> Vec<Statement> {
    let text = clean(text);
    let title = title.map(clean).filter(|title| !title.is_empty());
    let all = sentences(&text);
    let alone = all.len() == 1;
    let mut context: Vec<String> = title.iter().cloned().collect();
    let mut found: Vec<Candidate> = Vec::new();
    for sentence in all.into_iter().take(MOST_SENTENCES) {
        let sentence = one_line(sentence);
        if let Some(candidate) = candidate(&sentence, &context, language, alone) {
            insert(&mut found, candidate, false);
        }
        context.push(sentence);
    }
    if let Some(candidate) = title.and_then(|title| candidate(&one_line(&title), &[], language, found.is_empty())) {
        insert(&mut found, candidate, true);
    }
    best(found, max)
}

fn one_line(sentence: &str) -> String {
    sentence.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn candidate(sentence: &str, context: &[String], language: Option<&str>, alone: bool) -> Option<Candidate> {
    if is_question(sentence) || GREETING.is_match(sentence) || sentence.chars().count() > LONGEST {
        return None;
    }
    let framed = frames::unframed(sentence);
    let bare = framed.as_deref().unwrap_or(sentence);
    let bare = if alone { bare.to_owned() } else { without_list_number(bare).to_owned() };
    let resolved = resolve(&bare, context, language);
    let is_resolved = resolved.is_some();
    let text = resolved.unwrap_or(bare);
    let judged = kinds::judge(&text, language, is_resolved);
    // What the speaker only thinks is less worth a check than what is stated.
    let weighed = if judged.kind == ClaimKind::Mixed { Some(text.clone()) } else { None };
    let text = judged.factual_part.unwrap_or(text);
    let stems: HashSet<String> = tokens::content_stems(&text, language).into_iter().collect();
    // A heading or a scrap among sentences claims nothing.
    if !alone && (stems.len() < 2 || (judged.kind == ClaimKind::Ambiguous && stems.len() < 3)) {
        return None;
    }
    let check_worthiness = worth::check_worthiness(weighed.as_deref().unwrap_or(&text), judged.kind, language);
    let statement = Statement { text, kind: judged.kind, check_worthiness, original: sentence.to_owned() };
    Some(Candidate { statement, stems })
}

fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(['"', '»', '”', ')', ' ', '!']).ends_with(['?', '？', '؟'])
}

/// "1) First" → "First"; a figure that is the sentence's own ("12 people") stays.
fn without_list_number(sentence: &str) -> &str {
    let Some((head, rest)) = sentence.split_once(' ') else { return sentence };
    let number = head
        .strip_suffix([')', '.'])
        .is_some_and(|digits| digits.len() <= 2 && digits.chars().all(|c| c.is_ascii_digit()) && !digits.is_empty());
    if number && rest.starts_with(char::is_uppercase) { rest } else { sentence }
}

/// With its first letter a capital.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Replaces a leading pronoun by the one name it can mean. `None` where there is no such pronoun, or more than one name.
fn resolve(sentence: &str, context: &[String], language: Option<&str>) -> Option<String> {
    let (first, rest) = sentence.split_once(' ')?;
    let word = tokens::normalise_word(first.trim_end_matches(','));
    let (kinds, possessive): (&[EntityKind], bool) = match word.as_str() {
        "he" | "she" | "он" | "она" | "він" | "вона" => (&[EntityKind::Person], false),
        "his" | "her" => (&[EntityKind::Person], true),
        "it" => (&[EntityKind::Org, EntityKind::Misc, EntityKind::Loc], false),
        "its" => (&[EntityKind::Org, EntityKind::Misc, EntityKind::Loc], true),
        "they" | "они" | "вони" => (&[EntityKind::Org], false),
        _ => return None,
    };
    if word == "it" && is_expletive(rest) {
        return None;
    }
    let name = antecedent(context, kinds, language)?;
    // A Russian or Ukrainian name found in an oblique case cannot be the subject as it stands.
    if has_cyrillic(&name.text) && (possessive || oblique(&name.text))
        || has_cyrillic(sentence) != has_cyrillic(&name.text)
    {
        return None;
    }
    let own = if possessive { "'s" } else { "" };
    let resolved = format!("{}{own} {rest}", name.text);
    (tokens::tokens(&resolved, language).len() > 1).then_some(resolved)
}

/// "It is known that", "It rained": no thing is meant.
fn is_expletive(rest: &str) -> bool {
    let words: Vec<String> = rest.split_whitespace().take(3).map(tokens::normalise_word).collect();
    let first = words.first().map(String::as_str).unwrap_or_default();
    let second = words.get(1).map(String::as_str).unwrap_or_default();
    matches!(first, "rained" | "snowed" | "seems" | "appears" | "turns" | "turned" | "takes" | "took")
        || (matches!(first, "is" | "was" | "has" | "will" | "would")
            && matches!(
                second,
                "known"
                    | "true"
                    | "clear"
                    | "possible"
                    | "impossible"
                    | "likely"
                    | "unlikely"
                    | "important"
                    | "not"
                    | "been"
                    | "raining"
                    | "said"
                    | "claimed"
                    | "unclear"
            ))
}

/// The one name of those kinds in the nearest of the three sentences before that names any; `None` where it names several.
fn antecedent(context: &[String], kinds: &[EntityKind], language: Option<&str>) -> Option<Entity> {
    let fitting = |sentence: &String| -> Vec<Entity> {
        entities(sentence, language, &[]).into_iter().filter(|name| kinds.contains(&name.kind)).collect()
    };
    let mut nearest = context.iter().rev().take(3).map(fitting).find(|names| !names.is_empty())?;
    if nearest.len() == 1 { nearest.pop() } else { None }
}

/// Endings that a Russian or Ukrainian name has in other cases.
fn oblique(name: &str) -> bool {
    let last = name.split_whitespace().last().unwrap_or_default().to_lowercase();
    ["ого", "ому", "ым", "им", "ом", "ем", "ою", "ей", "у", "ю", "ові", "еві"]
        .iter()
        .any(|ending| last.ends_with(ending))
        && !["ым", "им"].contains(&last.as_str())
        || ["ова", "ева", "ина", "ына"].iter().any(|ending| last.ends_with(ending))
            && name.split_whitespace().count() > 1
            && male_genitive(name)
}

/// "Владимира Путина": both words in the genitive.
fn male_genitive(name: &str) -> bool {
    let first = name.split_whitespace().next().unwrap_or_default().to_lowercase();
    ["ра", "на", "ла", "са", "та", "да", "ма", "ея", "ия", "ія", "ана", "ора"]
        .iter()
        .any(|ending| first.ends_with(ending))
        && !matches!(
            first.as_str(),
            "анна"
                | "елена"
                | "олена"
                | "ирина"
                | "ірина"
                | "татьяна"
                | "светлана"
                | "екатерина"
                | "людмила"
                | "галина"
                | "оксана"
                | "никита"
                | "микита"
                | "юлия"
                | "юлія"
                | "мария"
                | "марія"
                | "анастасия"
                | "наталия"
                | "наталія"
                | "илья"
        )
}

/// Adds a statement unless one already says it; the longer of two that do stays, at the earlier place.
fn insert(found: &mut Vec<Candidate>, candidate: Candidate, first: bool) {
    let share = |a: &HashSet<String>, b: &HashSet<String>| {
        let shared = a.intersection(b).count() as f64;
        shared / a.len().min(b.len()).max(1) as f64
    };
    let numbers = |stems: &HashSet<String>| {
        let mut numbers: Vec<String> =
            stems.iter().filter(|stem| stem.starts_with(|c: char| c.is_ascii_digit())).cloned().collect();
        numbers.sort();
        numbers
    };
    // Two statements with different figures are two, however alike their words; and so are a denial and what it denies.
    let denials = |statement: &Statement| super::negation::negations(&statement.text, None) % 2;
    let twin = found.iter_mut().find(|present| {
        let small = present.stems.len().min(candidate.stems.len()) >= 3 || present.stems == candidate.stems;
        small
            && share(&present.stems, &candidate.stems) >= if first { 0.6 } else { SAME }
            && (first || numbers(&present.stems) == numbers(&candidate.stems))
            && denials(&present.statement) == denials(&candidate.statement)
    });
    match twin {
        Some(present) if !first && candidate.stems.len() > present.stems.len() => *present = candidate,
        Some(_) => {}
        None if first => found.insert(0, candidate),
        None => found.push(candidate),
    }
}

/// At most `max`, the most check-worthy, in the order of the text.
fn best(found: Vec<Candidate>, max: usize) -> Vec<Statement> {
    let mut ranked: Vec<(usize, Statement)> =
        found.into_iter().map(|candidate| candidate.statement).enumerate().collect();
    ranked.sort_by(|a, b| b.1.check_worthiness.total_cmp(&a.1.check_worthiness).then(a.0.cmp(&b.0)));
    ranked.truncate(max);
    ranked.sort_by_key(|pair| pair.0);
    ranked.into_iter().map(|pair| pair.1).collect()
}

#[cfg(test)]
#[path = "statements/tests.rs"]
mod tests;
