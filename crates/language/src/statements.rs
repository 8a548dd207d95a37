//! Extracts the claims of a text as self-contained statements with kind and check-worthiness.
//!
//! Errors stay ("Water boils at 50C"); the evidence corrects them. To add a language: words in its `statements.tsv`.
//! Word order is in the patterns of `statements/calls.rs`, `statements/kinds.rs` and `statements/frames.rs`.

mod calls;
mod check_worthiness;
mod clean;
mod context_dependence;
mod coreference;
mod frames;
mod kinds;
mod markup;
mod non_statement;
mod points;
mod scraps;

use std::collections::HashSet;

use super::entities::kind::EntityKind;
use super::entities::{Entity, entities};
use super::names::same_key;
use super::patterns::Pattern;
use super::sentences::sentences;
use super::tokens;
use corroborate_domain::ClaimKind;

pub use non_statement::{NonStatement, non_statement};

/// One claim of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Self-contained and cleaned; checked and shown.
    pub text: String,
    /// The sentence that `text` begins with if the claim needs it: "A bus crashed in Peru. Five people died."
    pub lead: Option<String>,
    pub kind: ClaimKind,
    /// 0–1.
    pub check_worthiness: f64,
    /// The cleaned source sentence.
    pub original: String,
}

impl Statement {
    pub fn own(&self) -> &str {
        own(&self.text, self.lead.as_deref())
    }
}

/// Returns a claim without its lead.
pub fn own<'a>(text: &'a str, lead: Option<&str>) -> &'a str {
    lead.and_then(|lead| text.strip_prefix(lead)).map_or(text, str::trim_start)
}

/// Characters; longer ones are lists without full stops.
const MAX_CHARS: usize = 1000;
/// Share of the shorter statement's stems that makes two equal.
const MIN_SAME_SHARE: f64 = 0.85;
/// Sentences read; news puts its claims first.
const MAX_SENTENCES: usize = 80;

static GREETING: Pattern = Pattern::of(r"^{statements.greeting}(?:[\s,!.]|$)");

/// Returns the text without markup, emoji, links, mentions, hashtags, calls and signatures, with normal white space.
///
/// Line breaks stay unless the text is wrapped. A tag inside a sentence ("in #Kyiv today") keeps its word.
pub fn clean(text: &str) -> String {
    points::lines(text).into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
}

struct Candidate {
    statement: Statement,
    stems: HashSet<String>,
    /// Whether a frame only passed it on.
    framed: bool,
}

/// Returns the statements in order, or the `max` most check-worthy ones.
///
/// The title counts if no sentence repeats it. A single sentence always counts, unless it is a question, greeting or
/// call. Points of a digest are separate texts.
pub fn statements(text: &str, title: Option<&str>, language: Option<&str>, max: usize) -> Vec<Statement> {
    let title = title.map(clean).filter(|title| !title.is_empty()).map(|title| one_line(&title));
    let parts = points::parts(text);
    let alone = matches!(parts.as_slice(), [part] if sentences(scraps::without_dateline(&part.text)).len() == 1);
    let mut prose = PrecedingText { title: title.as_deref(), sentences: Vec::new() };
    let mut found: Vec<Candidate> = Vec::new();
    let mut read = 0;
    for part in &parts {
        let mut own = PrecedingText { title: title.as_deref(), sentences: Vec::new() };
        let before = if part.point { &mut own } else { &mut prose };
        // Agencies end it with a stop: "МОСКВА, 18 ноя — РИА Новости."
        for sentence in sentences(scraps::without_dateline(&part.text)) {
            if read < MAX_SENTENCES {
                let sentence = one_line(sentence);
                take(scraps::without_dateline(&sentence), part.head.as_deref(), before, language, alone, &mut found);
            }
            read += 1;
        }
    }
    let alone = found.is_empty();
    if let Some(candidate) =
        title.as_deref().and_then(|title| candidate(title, &PrecedingText::default(), language, alone))
    {
        insert(&mut found, candidate, true);
    }
    best(found, max)
}

/// Adds the statement of a sentence and records the sentence as context.
fn take(
    sentence: &str,
    head: Option<&str>,
    before: &mut PrecedingText<'_>,
    language: Option<&str>,
    alone: bool,
    found: &mut Vec<Candidate>,
) {
    let found_here = candidate(sentence, before, language, alone);
    // Later sentences profit from resolved pronouns. After "X is being shared as Y", "it" is X.
    let plain = found_here.as_ref().filter(|candidate| !candidate.framed);
    before.sentences.push(plain.map_or(sentence, |candidate| candidate.statement.own()).to_owned());
    if let Some(mut candidate) = found_here {
        if let (Some(head), None) = (head, &candidate.statement.lead) {
            candidate.statement.text = format!("{head} {}", candidate.statement.text);
            candidate.statement.lead = Some(head.to_owned());
        }
        insert(found, candidate, false);
    }
}

fn one_line(sentence: &str) -> String {
    sentence.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The context before a sentence.
#[derive(Default)]
struct PrecedingText<'a> {
    title: Option<&'a str>,
    /// Earlier sentences, with pronouns resolved if possible.
    sentences: Vec<String>,
}

fn candidate(sentence: &str, before: &PrecedingText<'_>, language: Option<&str>, alone: bool) -> Option<Candidate> {
    if is_question(sentence)
        || GREETING.is_match(sentence)
        || calls::is_call(sentence)
        || sentence.chars().count() > MAX_CHARS
    {
        return None;
    }
    // A line with a colon introduces the next one.
    if !alone && sentence.ends_with(':') {
        return None;
    }
    let framed = frames::unframed(sentence);
    let bare = framed.as_deref().unwrap_or(sentence);
    let bare = if alone { bare.to_owned() } else { without_list_number(bare).to_owned() };
    let resolved = coreference::resolve(&bare, &before.with_title(), language);
    let is_resolved = resolved.is_some();
    let text = resolved.unwrap_or(bare);
    let judged = kinds::judge(&text, language, is_resolved);
    // An opinion is weighed as a whole, which is less worth a check.
    let weighed = if judged.kind == ClaimKind::Mixed { Some(text.clone()) } else { None };
    let text = judged.factual_part.unwrap_or(text);
    let stems: HashSet<String> = tokens::content_stems(&text, language).into_iter().collect();
    let cut = context_dependence::is_cut_quotation(&text);
    let find_lead = || context_dependence::lead(&text, before.title, &before.sentences, language).filter(|_| !cut);
    // "He died in custody on Friday" needs an earlier sentence.
    let found_lead = if judged.kind == ClaimKind::Ambiguous && stems.len() >= 2 { find_lead() } else { None };
    let found_lead = found_lead.filter(|lead| people(lead, language) <= 1);
    let kind = if found_lead.is_some() { ClaimKind::Factual } else { judged.kind };
    // A heading or fragment.
    if !alone && (stems.len() < 2 || (kind == ClaimKind::Ambiguous && stems.len() < 3)) {
        return None;
    }
    let checkable = matches!(kind, ClaimKind::Factual | ClaimKind::Mixed);
    if !alone && checkable && (scraps::is_scrap(&text) || cut && is_nobodys(&text, language)) {
        return None;
    }
    let check_worthiness = check_worthiness::score(weighed.as_deref().unwrap_or(&text), kind, language);
    let lead = if checkable { found_lead.or_else(find_lead) } else { None };
    let text = lead.as_ref().map_or(text.clone(), |lead| format!("{lead} {text}"));
    let statement = Statement { text, lead, kind, check_worthiness, original: sentence.to_owned() };
    Some(Candidate { statement, stems, framed: framed.is_some() })
}

impl PrecedingText<'_> {
    fn with_title(&self) -> Vec<String> {
        self.title.iter().map(|title| (*title).to_owned()).chain(self.sentences.iter().cloned()).collect()
    }
}

/// Counts the people; with two of them "he" is ambiguous.
fn people(sentence: &str, language: Option<&str>) -> usize {
    entities(sentence, language, &[]).iter().filter(|name| name.kind == EntityKind::Person).count()
}

/// Whether no name is in it, as in half a quotation.
fn is_nobodys(sentence: &str, language: Option<&str>) -> bool {
    entities(sentence, language, &[]).is_empty()
}

fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(['"', '»', '”', '’', ')', ' ', '!']).ends_with(['?', '？', '؟'])
}

/// Removes a list number: "1) First" → "First", but not "12 people".
fn without_list_number(sentence: &str) -> &str {
    let Some((head, rest)) = sentence.split_once(' ') else { return sentence };
    let number = head
        .strip_suffix([')', '.'])
        .is_some_and(|digits| digits.len() <= 2 && digits.chars().all(|c| c.is_ascii_digit()) && !digits.is_empty());
    if number && rest.starts_with(char::is_uppercase) { rest } else { sentence }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Adds a statement; of two equal ones the longer stays, at the earlier position.
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
    // Other figures, or a denial, make another statement.
    let denials = |statement: &Statement| super::negation::negations(statement.own(), None) % 2;
    // "Russia accused Ukraine" differs from "Ukraine accused Russia".
    let names = entities(candidate.statement.own(), None, &[]);
    let in_order = |present: &Statement| {
        let others = entities(present.own(), None, &[]);
        let places = names.iter().filter_map(|name| place(&others, name));
        places.is_sorted()
    };
    let twin = found.iter_mut().find(|present| {
        let small = present.stems.len().min(candidate.stems.len()) >= 3 || present.stems == candidate.stems;
        small
            && share(&present.stems, &candidate.stems) >= if first { 0.6 } else { MIN_SAME_SHARE }
            && (first || numbers(&present.stems) == numbers(&candidate.stems))
            && denials(&present.statement) == denials(&candidate.statement)
            && (first || in_order(&present.statement))
    });
    match twin {
        Some(present) if !first && candidate.stems.len() > present.stems.len() => *present = candidate,
        Some(_) => {}
        None if first => found.insert(0, candidate),
        None => found.push(candidate),
    }
}

fn place(names: &[Entity], name: &Entity) -> Option<usize> {
    names.iter().position(|other| same_key(&other.key, &name.key))
}

/// Returns the most check-worthy ones in text order.
fn best(found: Vec<Candidate>, max: usize) -> Vec<Statement> {
    let mut ranked: Vec<(usize, Statement)> =
        found.into_iter().map(|candidate| candidate.statement).enumerate().collect();
    ranked.sort_by(|a, b| b.1.check_worthiness.total_cmp(&a.1.check_worthiness).then(a.0.cmp(&b.0)));
    ranked.truncate(max);
    ranked.sort_by_key(|pair| pair.0);
    ranked.into_iter().map(|pair| pair.1).collect()
}

#[cfg(test)]
#[path = "statements/test_digest.rs"]
mod test_digest;
#[cfg(test)]
#[path = "statements/tests.rs"]
mod tests;
