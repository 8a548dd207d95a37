//! Checks a language model's text against the passages that it cites.
//!
//! `[N]` names a passage by place, from 1. Figures and dates must be in the sentence's own passages; names and
//! quotations in any cited passage, across languages. A sentence may repeat the claim if it attributes the words to it.
//! A text that fails is dropped whole, and the rule-based text replaces it. The meaning is not checked, because the
//! verdict does not depend on it.

mod figures;
mod names;
mod quotations;

use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate, Utc};
use regex::Regex;

use corroborate_domain::evidence::JudgedPassage;
use corroborate_language::lexicon::Words;
use corroborate_language::{dates, detect, has_cyrillic, sentences, tokens};

use crate::profile::TextProfile;

/// Maximum characters: three short sentences.
pub const MAX_CHARS: usize = 600;

/// Minimum number of letters for language detection.
const MIN_LETTERS: usize = 16;

/// Confidence from which a text in the same alphabet is in another language.
const MIN_OTHER_LANGUAGE_CONFIDENCE: f64 = 0.6;

/// Words of a model about itself or its instructions.
static SELF_REFERENCES: Words = Words::of("cited_text.itself");

/// Words that attribute a statement to the claim.
static CLAIM_ATTRIBUTIONS: Words = Words::of("cited_text.claim");

/// Words before a figure that is denied.
static CONTRAST: Words = Words::of("cited_text.contrast");

/// A passage or the claim, as a reader sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    pub text: &'a str,
    /// Shown with the passage, so names may come from it.
    pub title: Option<&'a str>,
    /// Empty for a claim.
    pub domain: &'a str,
    /// ISO 639-1.
    pub language: Option<&'a str>,
    /// Base of relative dates.
    pub day: Option<DateTime<Utc>>,
}

impl<'a> From<&'a JudgedPassage> for Source<'a> {
    fn from(passage: &'a JudgedPassage) -> Self {
        Self {
            text: &passage.passage,
            title: passage.title.as_deref(),
            domain: &passage.domain,
            language: passage.language.as_deref(),
            day: passage.published_at,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CitedTextError {
    Uncited,
    /// `[N]` without a passage N.
    NoSuchPassage,
    /// A figure, date or quantity that its sentence's passages lack.
    Figure,
    /// A name that neither cited passages nor claim have.
    Name,
    /// A quotation that no cited passage has verbatim.
    Quotation,
    /// A web or e-mail address.
    Address,
    Language,
    /// Markup, brackets other than `[N]`, or line breaks.
    Markup,
    TooLong,
    /// Mentions the model or its instructions.
    SelfReference,
    /// Names another verdict.
    Verdict,
    /// Cites no passage of the verdict.
    Stance,
}

impl CitedTextError {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Uncited => "it cites nothing",
            Self::NoSuchPassage => "it cites a passage that does not exist",
            Self::Figure => "a figure or date stands in no cited passage",
            Self::Name => "a name stands in no cited passage",
            Self::Quotation => "a quotation stands in no cited passage",
            Self::Address => "it has an address",
            Self::Language => "it is in another language",
            Self::Markup => "it has markup",
            Self::TooLong => "it is too long",
            Self::SelfReference => "it speaks of itself or of instructions",
            Self::Verdict => "it names another verdict",
            Self::Stance => "it cites no passage of the verdict's side, or one that decides nothing",
        }
    }
}

#[derive(Debug)]
struct Side<'a> {
    source: Source<'a>,
    profile: TextProfile,
    /// Base of relative dates, also for sentences compared with it.
    day: DateTime<Utc>,
}

impl<'a> Side<'a> {
    fn new(source: Source<'a>) -> Self {
        // An undated page's "on 3 May" belongs to the first year that it names.
        let stated = || dates::dates(source.text, None).first().map(|date| date.start).and_then(midnight);
        let any = || NaiveDate::from_ymd_opt(2000, 1, 1).and_then(midnight).unwrap_or_default();
        let day = source.day.or_else(stated).unwrap_or_else(any);
        Self { source, profile: TextProfile::new(source.text, source.language, Some(day), &[]), day }
    }

    fn domain(&self) -> &'a str {
        self.source.domain.strip_prefix("www.").unwrap_or(self.source.domain)
    }
}

fn midnight(day: NaiveDate) -> Option<DateTime<Utc>> {
    day.and_hms_opt(0, 0, 0).map(|moment| moment.and_utc())
}

/// A sentence without marks, and its passages' places, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sentence {
    text: String,
    cites: Vec<usize>,
}

/// Returns the distinct cited places (from 0) in order, or why the text is dropped. `language` is the requested one.
pub fn hold(
    text: &str,
    passages: &[Source<'_>],
    claim: &Source<'_>,
    language: Option<&str>,
) -> Result<Vec<usize>, CitedTextError> {
    let cited = citations(text, passages.len())?;
    let used = passages.iter().enumerate().map(|(place, source)| cited.contains(&place).then(|| Side::new(*source)));
    let sides: Vec<Option<Side<'_>>> = used.collect();
    let claim = Side::new(*claim);
    let all: Vec<&Side<'_>> = sides.iter().flatten().collect();
    hold_manner(text, &all, &claim, language)?;
    for sentence in split(text) {
        let own: Vec<&Side<'_>> = sentence.cites.iter().filter_map(|place| sides.get(*place)?.as_ref()).collect();
        let words = without_domains(&sentence.text, &all);
        if own.iter().any(|side| contains(side.source.text, &words)) {
            continue;
        }
        CheckedSentence { words: &words, language, own: &own, all: &all, claim: &claim, is_in_its_place: false }
            .hold()?;
    }
    Ok(cited)
}

/// Checks one sentence without citations that may replace the claim: its figures, names and quotations are in one
/// passage or the claim.
pub fn hold_in_its_place(
    text: &str,
    passages: &[Source<'_>],
    claim: &Source<'_>,
    language: Option<&str>,
) -> Result<(), CitedTextError> {
    if text.chars().count() > MAX_CHARS || sentences::sentences(text).len() != 1 {
        return Err(CitedTextError::TooLong);
    }
    if text.contains(['[', ']']) {
        return Err(CitedTextError::Markup);
    }
    let sides: Vec<Side<'_>> = passages.iter().map(|source| Side::new(*source)).collect();
    let (all, claim): (Vec<&Side<'_>>, Side<'_>) = (sides.iter().collect(), Side::new(*claim));
    hold_manner(text, &all, &claim, language)?;
    CheckedSentence { words: text, language, own: &all, all: &all, claim: &claim, is_in_its_place: true }.hold()
}

fn hold_manner(
    text: &str,
    cited: &[&Side<'_>],
    claim: &Side<'_>,
    language: Option<&str>,
) -> Result<(), CitedTextError> {
    let bare = plain(text, cited)?;
    if is_of_another_language(&bare, language) {
        return Err(CitedTextError::Language);
    }
    if is_of_itself(&bare, cited, claim) { Err(CitedTextError::SelfReference) } else { Ok(()) }
}

struct CheckedSentence<'a> {
    words: &'a str,
    language: Option<&'a str>,
    /// Cited by the sentence.
    own: &'a [&'a Side<'a>],
    /// Cited by the text.
    all: &'a [&'a Side<'a>],
    claim: &'a Side<'a>,
    /// The sentence replaces the claim and may keep its correct parts.
    is_in_its_place: bool,
}

impl CheckedSentence<'_> {
    fn hold(&self) -> Result<(), CitedTextError> {
        quotations::hold(self)?;
        figures::hold(self)?;
        names::hold(self)
    }

    /// Whether the words at a byte offset are the claim's: the sentence cites nothing, or its clause attributes them.
    fn is_of_the_claim(&self, at: usize) -> bool {
        if self.own.is_empty() || self.is_in_its_place {
            return true;
        }
        let before = self.words.get(..at).unwrap_or_default();
        let clause = before.rsplit([',', ';', ':', '—', '–']).next().unwrap_or_default();
        let words: Vec<String> = tokens::tokens(clause, self.language).into_iter().map(|word| word.text).collect();
        // "Not 40" and "instead of 40" are denied; "not fewer than 40" is not.
        let is_denied = match words.as_slice() {
            [.., one, other] => CONTRAST.has(other) || CONTRAST.has(&format!("{one} {other}")),
            [only] => CONTRAST.has(only),
            [] => false,
        };
        is_denied || words.iter().any(|word| CLAIM_ATTRIBUTIONS.has(word))
    }
}

fn citations(text: &str, passages: usize) -> Result<Vec<usize>, CitedTextError> {
    if text.chars().count() > MAX_CHARS {
        return Err(CitedTextError::TooLong);
    }
    let mut cited = Vec::new();
    for place in marks(text) {
        let place = place.filter(|place| *place < passages).ok_or(CitedTextError::NoSuchPassage)?;
        if !cited.contains(&place) {
            cited.push(place);
        }
    }
    if cited.is_empty() { Err(CitedTextError::Uncited) } else { Ok(cited) }
}

static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\s*\[(\d{1,4})\]").ok());

/// The places of all marks, from 0; `None` for an impossible one.
fn marks(text: &str) -> impl Iterator<Item = Option<usize>> {
    let found = MARK.as_ref().into_iter().flat_map(|mark| mark.captures_iter(text));
    found.map(|found| found.get(1)?.as_str().parse::<usize>().ok()?.checked_sub(1))
}

fn without_marks(text: &str) -> String {
    MARK.as_ref().map_or_else(|| text.to_owned(), |mark| mark.replace_all(text, "").trim().to_owned())
}

/// The text with renumbered marks and without others. `places` has old places (from 0) in the order of new numbers.
pub fn renumbered(text: &str, places: &[usize]) -> String {
    let Some(mark) = MARK.as_ref() else { return text.to_owned() };
    let number = |found: &regex::Captures<'_>| {
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        let old = found.get(1).and_then(|n| n.as_str().parse::<usize>().ok()?.checked_sub(1));
        let space = whole.split('[').next().unwrap_or_default();
        old.and_then(|old| places.iter().position(|place| *place == old))
            .map_or_else(String::new, |new| format!("{space}[{}]", new + 1))
    };
    let kept = mark.replace_all(text, number);
    // Restores the space before a mark if the first of several was removed.
    let mut before = ' ';
    let mut spaced = String::with_capacity(kept.len());
    for c in kept.chars() {
        if c == '[' && before.is_alphanumeric() {
            spaced.push(' ');
        }
        spaced.push(c);
        before = c;
    }
    spaced.trim().to_owned()
}

static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)https?:|www\.|\S@\S").ok());

static DOMAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b[\p{L}\d][\p{L}\d-]*(?:\.[\p{L}\d-]+)*\.(?:[a-z]{2,}|рф|укр)\b").ok());

/// The text without marks, quotations and cited domains, if plain.
fn plain(text: &str, cited: &[&Side<'_>]) -> Result<String, CitedTextError> {
    let bare = without_domains(&without_marks(text), cited);
    let found = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_none_or(|pattern| pattern.is_match(&bare));
    if found(&ADDRESS) || found(&DOMAIN) {
        return Err(CitedTextError::Address);
    }
    let is_markup = |c: char| {
        matches!(c, '[' | ']' | '{' | '}' | '<' | '>' | '|' | '`' | '*' | '_' | '#' | '~' | '\\' | '^')
            || c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            || matches!(c, '\u{e0000}'..='\u{e0fff}')
    };
    if bare.contains(is_markup) { Err(CitedTextError::Markup) } else { Ok(quotations::without(&bare)) }
}

/// Removes the domains of cited pages: "reuters.com" then names a source and is no address.
fn without_domains(text: &str, cited: &[&Side<'_>]) -> String {
    let Some(pattern) = DOMAIN.as_ref() else { return text.to_owned() };
    let own = |found: &regex::Captures<'_>| {
        let domain = found.get(0).map_or("", |whole| whole.as_str());
        let is_cited = cited.iter().any(|side| side.domain().eq_ignore_ascii_case(domain));
        if is_cited { String::new() } else { domain.to_owned() }
    };
    pattern.replace_all(text, own).into_owned()
}

fn is_of_another_language(text: &str, language: Option<&str>) -> bool {
    let Some(asked) = language.and_then(|code| code.split(['-', '_']).next()).map(str::to_lowercase) else {
        return false;
    };
    if text.chars().filter(|c| c.is_alphabetic()).count() < MIN_LETTERS {
        return false;
    }
    let found = detect::detect(text);
    let Some(language) = found.language else { return false };
    let cyrillic = |code: &str| matches!(code, "ru" | "uk" | "be" | "bg" | "mk" | "sr" | "kk" | "mn" | "tg");
    found.mixed
        || language != asked
            && (cyrillic(&language) != cyrillic(&asked) && has_cyrillic(text) != cyrillic(&asked)
                || found.confidence >= MIN_OTHER_LANGUAGE_CONFIDENCE)
}

fn is_of_itself(text: &str, cited: &[&Side<'_>], claim: &Side<'_>) -> bool {
    let words = |text: &str| tokens::tokens(text, None).into_iter().map(|word| word.text).collect::<Vec<String>>();
    let ours = words(text);
    let theirs: Vec<String> = cited.iter().copied().chain([claim]).flat_map(|side| words(side.source.text)).collect();
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        (ours.iter().map(String::as_str).collect(), theirs.iter().map(String::as_str).collect());
    SELF_REFERENCES.has_phrase_outside(&ours, &theirs)
}

/// A mark after a full stop belongs to the sentence before, unless the text puts marks first.
fn split(text: &str) -> Vec<Sentence> {
    let is_first = text.trim_start().starts_with('[');
    let mut found: Vec<Sentence> = Vec::new();
    for piece in sentences::sentences(text) {
        let mut rest = piece.trim();
        let mut leading = Vec::new();
        while let Some((mark, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            leading.extend(mark.parse::<usize>().ok().and_then(|n| n.checked_sub(1)));
            rest = behind.trim_start_matches(['.', ',', ';']).trim_start();
        }
        let mut cites: Vec<usize> = marks(rest).flatten().collect();
        let begins_small = rest.chars().find(|c| c.is_alphanumeric()).is_some_and(char::is_lowercase);
        match found.last_mut() {
            Some(before) if !is_first && !begins_small => before.cites.extend(leading),
            _ => cites.extend(leading),
        }
        let text = without_marks(rest);
        if text.chars().any(char::is_alphanumeric) {
            found.push(Sentence { text, cites });
        } else if let Some(before) = found.last_mut() {
            before.cites.extend(cites);
        }
    }
    found
}

/// Lower case, uniform quotation marks, single spaces.
fn even(text: &str) -> String {
    let one = |c: char| match c {
        '«' | '»' | '“' | '”' | '„' | '‟' => '"',
        '‘' | '’' | 'ʼ' | '`' => '\'',
        '–' | '—' | '‑' | '−' => '-',
        c if c.is_whitespace() => ' ',
        c => c,
    };
    let even: String = text.chars().map(one).flat_map(char::to_lowercase).collect();
    even.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn contains(text: &str, words: &str) -> bool {
    let (text, words) = (even(text), even(words));
    let words = words.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '$' | '€' | '₴' | '-'));
    !words.is_empty()
        && text.match_indices(words).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default();
            let behind = text.get(at + words.len()..).unwrap_or_default();
            !goes_on(before.chars().rev()) && !goes_on(behind.chars())
        })
}

/// Whether a word or number continues: "12" is not the beginning of "12.5".
fn goes_on(mut beyond: impl Iterator<Item = char>) -> bool {
    match beyond.next() {
        Some(c) if c.is_alphanumeric() => true,
        Some('.' | ',') => beyond.next().is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
