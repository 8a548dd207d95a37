//! A text that a language model wrote, held against the passages it cites.
//!
//! `[N]` in it names a passage by its place, from 1. The text is used only where all of it stands in what it cites: every
//! figure and date of a sentence in that sentence's passages, every name and quotation too, across languages. What the claim
//! says may be told as the claim's. Nothing of it is mended: what does not hold is thrown away whole, and the words that the
//! rules make stand in its place. Whether a sentence means what its passage means is not checked here: the verdict is decided
//! without it.

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

/// Longest text, characters: three short sentences with room to spare.
pub const LONGEST: usize = 600;

/// Letters from which a text has a language.
const LETTERS_OF_A_LANGUAGE: usize = 16;

/// Confidence from which a text of the same alphabet is of another language.
const SURELY_OTHER: f64 = 0.6;

/// What a model says of itself and of what it was told.
static OF_ITSELF: Words = Words::of("cited_text.itself");

/// What presents something as the claim's and not as a passage's.
static OF_THE_CLAIM: Words = Words::of("cited_text.claim");

/// What stands before a figure that is not so.
static CONTRAST: Words = Words::of("cited_text.contrast");

/// A passage, or the claim, with what a reader sees of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    pub text: &'a str,
    /// Stands beside the passage, so names may come from it.
    pub title: Option<&'a str>,
    /// Whose page it is; empty of a claim.
    pub domain: &'a str,
    /// ISO 639-1, where known.
    pub language: Option<&'a str>,
    /// The day its relative dates are counted from.
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

/// Why a text is thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// It cites nothing.
    Uncited,
    /// `[N]` of no passage.
    NoSuchPassage,
    /// A figure, a date or a quantity that its sentence's passages do not state.
    Figure,
    /// A name that no cited passage and not the claim has.
    Name,
    /// A quotation that no cited passage has word for word.
    Quotation,
    /// An address or an e-mail.
    Address,
    /// Another language than asked for.
    Language,
    /// Markup, brackets besides `[N]`, lines.
    Markup,
    TooLong,
    /// It speaks of its writer or of instructions.
    OfItself,
    /// It names another verdict than the one that stands.
    Verdict,
    /// It cites none of the passages that the verdict rests on.
    Stance,
}

impl Unsupported {
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
            Self::OfItself => "it speaks of itself or of instructions",
            Self::Verdict => "it names another verdict",
            Self::Stance => "it cites no passage of the verdict's side, or one that decides nothing",
        }
    }
}

/// A source, read once.
#[derive(Debug)]
struct Side<'a> {
    source: Source<'a>,
    profile: TextProfile,
    /// What relative dates are counted from, in the source and in a sentence that is held against it.
    day: DateTime<Utc>,
}

impl<'a> Side<'a> {
    fn new(source: Source<'a>) -> Self {
        // "On 3 May" on a page without a date belongs to the first year that the page names.
        let told = || dates::dates(source.text, None).first().map(|date| date.start).and_then(midnight);
        let any = || NaiveDate::from_ymd_opt(2000, 1, 1).and_then(midnight).unwrap_or_default();
        let day = source.day.or_else(told).unwrap_or_else(any);
        Self { source, profile: TextProfile::new(source.text, source.language, Some(day), &[]), day }
    }

    fn domain(&self) -> &'a str {
        self.source.domain.strip_prefix("www.").unwrap_or(self.source.domain)
    }
}

fn midnight(day: NaiveDate) -> Option<DateTime<Utc>> {
    day.and_hms_opt(0, 0, 0).map(|moment| moment.and_utc())
}

/// A sentence without its marks, and the places of the passages it cites, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sentence {
    text: String,
    cites: Vec<usize>,
}

/// The places, from 0, of the passages that the text cites, in order, each once; or why it is not to be used. `language` is
/// what it was to be written in, where that is known.
pub fn hold(
    text: &str,
    passages: &[Source<'_>],
    claim: &Source<'_>,
    language: Option<&str>,
) -> Result<Vec<usize>, Unsupported> {
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
        Told { words: &words, language, own: &own, all: &all, claim: &claim, is_in_its_place: false }.hold()?;
    }
    Ok(cited)
}

/// Whether one sentence may be read in the claim's place: all of its figures, names and quotations stand in one of the
/// passages, or in the claim as it is. It cites nothing itself.
pub fn hold_in_its_place(
    text: &str,
    passages: &[Source<'_>],
    claim: &Source<'_>,
    language: Option<&str>,
) -> Result<(), Unsupported> {
    if text.chars().count() > LONGEST || sentences::sentences(text).len() != 1 {
        return Err(Unsupported::TooLong);
    }
    if text.contains(['[', ']']) {
        return Err(Unsupported::Markup);
    }
    let sides: Vec<Side<'_>> = passages.iter().map(|source| Side::new(*source)).collect();
    let (all, claim): (Vec<&Side<'_>>, Side<'_>) = (sides.iter().collect(), Side::new(*claim));
    hold_manner(text, &all, &claim, language)?;
    Told { words: text, language, own: &all, all: &all, claim: &claim, is_in_its_place: true }.hold()
}

/// Whether it is plain words in the language asked for, of the world and not of their writer.
fn hold_manner(text: &str, cited: &[&Side<'_>], claim: &Side<'_>, language: Option<&str>) -> Result<(), Unsupported> {
    let bare = plain(text, cited)?;
    if is_of_another_language(&bare, language) {
        return Err(Unsupported::Language);
    }
    if is_of_itself(&bare, cited, claim) { Err(Unsupported::OfItself) } else { Ok(()) }
}

/// A sentence with what it may say.
struct Told<'a> {
    words: &'a str,
    language: Option<&'a str>,
    /// The passages that it cites itself.
    own: &'a [&'a Side<'a>],
    /// All that the text cites.
    all: &'a [&'a Side<'a>],
    claim: &'a Side<'a>,
    /// It is to stand in the claim's place, and keeps what the claim says right.
    is_in_its_place: bool,
}

impl Told<'_> {
    fn hold(&self) -> Result<(), Unsupported> {
        quotations::hold(self)?;
        figures::hold(self)?;
        names::hold(self)
    }

    /// Whether what stands at that byte is told as the claim's: the sentence cites nothing, or its clause says so before it.
    fn is_of_the_claim(&self, at: usize) -> bool {
        if self.own.is_empty() || self.is_in_its_place {
            return true;
        }
        let before = self.words.get(..at).unwrap_or_default();
        let clause = before.rsplit([',', ';', ':', '—', '–']).next().unwrap_or_default();
        let words: Vec<String> = tokens::tokens(clause, self.language).into_iter().map(|word| word.text).collect();
        // "Not 40", "instead of 40"; but "not fewer than 40" is told as so.
        let is_denied = match words.as_slice() {
            [.., one, other] => CONTRAST.has(other) || CONTRAST.has(&format!("{one} {other}")),
            [only] => CONTRAST.has(only),
            [] => false,
        };
        is_denied || words.iter().any(|word| OF_THE_CLAIM.has(word))
    }
}

/// Every `[N]`, as places from 0.
fn citations(text: &str, passages: usize) -> Result<Vec<usize>, Unsupported> {
    if text.chars().count() > LONGEST {
        return Err(Unsupported::TooLong);
    }
    let mut cited = Vec::new();
    for place in marks(text) {
        let place = place.filter(|place| *place < passages).ok_or(Unsupported::NoSuchPassage)?;
        if !cited.contains(&place) {
            cited.push(place);
        }
    }
    if cited.is_empty() { Err(Unsupported::Uncited) } else { Ok(cited) }
}

static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\s*\[(\d{1,4})\]").ok());

/// The places of the marks of a text, from 0; `None` of one that can be no place.
fn marks(text: &str) -> impl Iterator<Item = Option<usize>> {
    let found = MARK.as_ref().into_iter().flat_map(|mark| mark.captures_iter(text));
    found.map(|found| found.get(1)?.as_str().parse::<usize>().ok()?.checked_sub(1))
}

fn without_marks(text: &str) -> String {
    MARK.as_ref().map_or_else(|| text.to_owned(), |mark| mark.replace_all(text, "").trim().to_owned())
}

/// The text with `[N]` by those places, from 0, and without the marks of others: `places` are the old ones in the order of
/// their new numbers.
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
    // Where the first of several marks went, its space went with it.
    let mut before = ' ';
    let mut told = String::with_capacity(kept.len());
    for c in kept.chars() {
        if c == '[' && before.is_alphanumeric() {
            told.push(' ');
        }
        told.push(c);
        before = c;
    }
    told.trim().to_owned()
}

static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)https?:|www\.|\S@\S").ok());

static DOMAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b[\p{L}\d][\p{L}\d-]*(?:\.[\p{L}\d-]+)*\.(?:[a-z]{2,}|рф|укр)\b").ok());

/// The text without marks, quotations and the domains of what it cites, where it is plain words.
fn plain(text: &str, cited: &[&Side<'_>]) -> Result<String, Unsupported> {
    let bare = without_domains(&without_marks(text), cited);
    let found = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_none_or(|pattern| pattern.is_match(&bare));
    if found(&ADDRESS) || found(&DOMAIN) {
        return Err(Unsupported::Address);
    }
    let is_markup = |c: char| {
        matches!(c, '[' | ']' | '{' | '}' | '<' | '>' | '|' | '`' | '*' | '_' | '#' | '~' | '\\' | '^')
            || c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            || matches!(c, '\u{e0000}'..='\u{e0fff}')
    };
    if bare.contains(is_markup) { Err(Unsupported::Markup) } else { Ok(quotations::without(&bare)) }
}

/// The text without domains of cited pages: "reuters.com" names the source of a passage and is no address.
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
    if text.chars().filter(|c| c.is_alphabetic()).count() < LETTERS_OF_A_LANGUAGE {
        return false;
    }
    let found = detect::detect(text);
    let Some(language) = found.language else { return false };
    let cyrillic = |code: &str| matches!(code, "ru" | "uk" | "be" | "bg" | "mk" | "sr" | "kk" | "mn" | "tg");
    found.mixed
        || language != asked
            && (cyrillic(&language) != cyrillic(&asked) && has_cyrillic(text) != cyrillic(&asked)
                || found.confidence >= SURELY_OTHER)
}

fn is_of_itself(text: &str, cited: &[&Side<'_>], claim: &Side<'_>) -> bool {
    let words = |text: &str| tokens::tokens(text, None).into_iter().map(|word| word.text).collect::<Vec<String>>();
    let ours = words(text);
    let theirs: Vec<String> = cited.iter().copied().chain([claim]).flat_map(|side| words(side.source.text)).collect();
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        (ours.iter().map(String::as_str).collect(), theirs.iter().map(String::as_str).collect());
    OF_ITSELF.has_phrase_beside(&ours, &theirs)
}

/// The sentences. A mark behind a full stop belongs to the sentence before it, unless the text puts its marks first.
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

/// Lower case, one kind of quotation mark, one space.
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

/// Whether a text has those words as they stand, whole.
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

/// Whether a word or a number goes on beyond its edge: "12" is not the beginning of "12.5".
fn goes_on(mut beyond: impl Iterator<Item = char>) -> bool {
    match beyond.next() {
        Some(c) if c.is_alphanumeric() => true,
        Some('.' | ',') => beyond.next().is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
