//! Regular expressions with words from the lexicon. A role in braces matches any of its words:
//!
//! ```text
//! static GREETING: Pattern = Pattern::of(r"^{statements.greeting}(?:[\s,!.]|$)");
//! GREETING.is_match("Hello, world")
//! ```
//!
//! * A `prefix`, or a `*` word of a `phrase`, matches any further letters. Only `written` has case.
//! * `е` also matches `ё`, and any apostrophe any other, as in [`super::tokens`].
//! * Longer words are tried first, prefixes last.
//! * `{role@latin}` and `{role@cyrillic}` take one alphabet, because the fast boundary `(?-u:\b)` knows only Latin
//!   letters.
//! * `{role?}` may be empty in a language; its group needs a `?`. Such a pattern is built per language, so that
//!   languages never mix. A language without words of a required role is left out.
//!
//! An unknown role is an error. The tests of [`super::lexicon`] build every pattern.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex};

use super::has_cyrillic;
use super::lexicon::{self, Entry, Kind};
use super::tokens::is_apostrophe;

/// Built at first use.
#[derive(Debug)]
pub struct Pattern {
    template: &'static str,
    regex: OnceLock<Regex>,
}

impl Pattern {
    pub const fn of(template: &'static str) -> Self {
        Self { template, regex: OnceLock::new() }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        #[expect(clippy::expect_used, reason = "a literal of the sources; the tests of the lexicon build every one")]
        self.regex.get_or_init(|| built(self.template).expect("a pattern of the sources can be built"))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum PatternError {
    /// No such role, or no words in these letters.
    NoWords(String),
    /// A lemma or suffix entry has no literal text.
    NoText(&'static str),
    Empty,
    Regex(regex::Error),
}

impl fmt::Display for PatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWords(role) => write!(formatter, "the lexicon has no words for {{{role}}}"),
            Self::NoText(form) => write!(formatter, "{form} is a lemma or a suffix, which no pattern can hold"),
            Self::Empty => write!(formatter, "no entry of the lexicon is what is asked for"),
            Self::Regex(error) => write!(formatter, "{error}"),
        }
    }
}

impl std::error::Error for PatternError {}

pub fn built(template: &str) -> Result<Regex, PatternError> {
    Regex::new(&filled(template)?).map_err(PatternError::Regex)
}

/// Returns the source text of [`built`].
pub fn filled(template: &str) -> Result<String, PatternError> {
    let of_all = with_words_of(template, None)?;
    let Some(languages) = apart(template) else { return Ok(of_all) };
    let each = languages.into_iter().map(|language| with_words_of(template, Some(language)));
    let each = each.collect::<Result<Vec<_>, _>>()?;
    if each.is_empty() { Err(PatternError::Empty) } else { Ok(format!("(?:{})", each.join("|"))) }
}

pub fn filled_alternatives(templates: &[&str]) -> Result<String, PatternError> {
    let each = templates.iter().map(|template| Ok(format!("(?:{})", filled(template)?)));
    Ok(each.collect::<Result<Vec<_>, _>>()?.join("|"))
}

/// Languages to fill in separately: those with all required roles. `None` without an optional role.
fn apart(template: &str) -> Option<BTreeSet<&'static str>> {
    let languages_of = |role: &str| lexicon::entries(role).map(|entry| entry.language).collect::<BTreeSet<_>>();
    let roles: Vec<(BTreeSet<&str>, bool)> = ROLE
        .captures_iter(template)
        .filter_map(|found| Some((languages_of(found.get(1)?.as_str()), found.get(3).is_some())))
        .collect();
    let has_words = |language: &&str| roles.iter().all(|(known, left_out)| *left_out || known.contains(language));
    let any_left_out = roles.iter().any(|(_, left_out)| *left_out);
    any_left_out.then(|| roles.iter().flat_map(|(known, _)| known).copied().filter(has_words).collect())
}

/// Two or more names, letters, optional mark.
static ROLE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a literal pattern, compiled by every test of this file")]
    Regex::new(r"\{([a-z_]+(?:\.[a-z_]+)+)(?:@(latin|cyrillic))?(\?)?\}")
        .expect("the pattern is a literal of this file")
});

const NO_MATCH: &str = r"[^\s\S]";

fn with_words_of(template: &str, language: Option<&str>) -> Result<String, PatternError> {
    let mut text = String::with_capacity(template.len());
    let mut end = 0;
    for found in ROLE.captures_iter(template) {
        let Some(place) = found.get(0) else { continue };
        text.push_str(template.get(end..place.start()).unwrap_or_default());
        text.push_str(&words(&found, language)?);
        end = place.end();
    }
    text.push_str(template.get(end..).unwrap_or_default());
    Ok(text)
}

fn words(found: &Captures<'_>, language: Option<&str>) -> Result<String, PatternError> {
    let group = |index: usize| found.get(index).map_or("", |group| group.as_str());
    let of_letters = |form: &str| match group(2) {
        "latin" => !has_cyrillic(form),
        "cyrillic" => has_cyrillic(form),
        _ => true,
    };
    let mut known: Vec<Entry> = lexicon::entries(group(1)).filter(|entry| of_letters(entry.form)).collect();
    if known.is_empty() {
        return Err(PatternError::NoWords(found.get(0).map_or("", |all| all.as_str()).trim_matches(['{', '}']).into()));
    }
    known.retain(|entry| language.is_none_or(|language| language == entry.language));
    if known.is_empty() {
        return Ok(NO_MATCH.to_owned());
    }
    one_of(known.into_iter())
}

/// Returns the source text of entries, longest first, prefixes last.
pub fn one_of(entries: impl Iterator<Item = Entry>) -> Result<String, PatternError> {
    let (prefixes, mut others): (Vec<Entry>, Vec<Entry>) = entries.partition(|entry| entry.kind == Kind::Prefix);
    let length = |entry: &Entry| (std::cmp::Reverse(entry.form.chars().count()), entry.form);
    others.sort_by_key(length);
    let mut forms = others.into_iter().map(form).collect::<Result<Vec<_>, _>>()?;
    forms.dedup();
    let mut beginnings: Vec<String> = prefixes.into_iter().map(|prefix| letters(prefix.form)).collect();
    beginnings.sort();
    beginnings.dedup();
    if !beginnings.is_empty() {
        // Once for all prefixes, because it is large when compiled.
        forms.push(format!(r"(?i:(?:{})\p{{L}}*)", beginnings.join("|")));
    }
    if forms.is_empty() { Err(PatternError::Empty) } else { Ok(format!("(?:{})", forms.join("|"))) }
}

fn form(entry: Entry) -> Result<String, PatternError> {
    let form = entry.form;
    Ok(match entry.kind {
        Kind::Word => format!("(?i:{})", letters(form)),
        Kind::Phrase => format!("(?i:{})", letters(form).replace(r"\*", r"\p{L}*")),
        Kind::Written => format!("(?-i:{})", letters(form)),
        Kind::Part => format!("(?i:{})", letters(&form.replace('_', " "))),
        Kind::Prefix | Kind::Lemma | Kind::Suffix => return Err(PatternError::NoText(form)),
    })
}

/// Escapes a form, with spelling variants. Spaces match in verbose patterns too.
fn letters(form: &str) -> String {
    let mut text = String::with_capacity(form.len());
    for letter in form.chars() {
        match letter {
            ' ' => text.push_str(r"\x20"),
            'е' => text.push_str("[её]"),
            'Е' => text.push_str("[ЕЁ]"),
            letter if is_apostrophe(letter) => text.push_str("['’ʼ‘＇´]"),
            letter => text.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: Kind, form: &'static str) -> Entry {
        Entry { language: "en", kind, form, value: "" }
    }

    #[test]
    fn each_kind_matches_what_it_is() {
        for (kind, form, fits, fails) in [
            (Kind::Word, "let's", "Let’s", "lets"),
            (Kind::Word, "передает", "передаёт", "передаст"),
            (Kind::Prefix, "сообща", "Сообщается", "сообщил"),
            (Kind::Phrase, "непроверенн* данным", "непроверенным данным", "непроверенн* данным"),
            (Kind::Written, "AP", "AP", "ap"),
            (Kind::Written, "U.S.", "U.S.", "UASA"),
            (Kind::Part, ",_but_", ", But ", ",_but_"),
        ] {
            let one = one_of([entry(kind, form)].into_iter()).unwrap();
            for flags in ["", "(?i)", "(?x)"] {
                let regex = Regex::new(&format!("{flags}^{one}$")).unwrap();
                assert!(regex.is_match(fits) && !regex.is_match(fails), "{form} in {regex}");
            }
        }
        for kind in [Kind::Lemma, Kind::Suffix] {
            assert_eq!(one_of([entry(kind, "go")].into_iter()), Err(PatternError::NoText("go")));
        }
        assert_eq!(one_of(std::iter::empty()), Err(PatternError::Empty));
    }

    #[test]
    fn the_longer_is_tried_before_the_shorter_and_nothing_twice() {
        let forms = ["in", "in fact", "in"].map(|form| entry(Kind::Phrase, form));
        assert_eq!(one_of(forms.into_iter()).unwrap(), r"(?:(?i:in\x20fact)|(?i:in))");
    }

    #[test]
    fn role_matches_its_words() {
        let regex = built(r"^{dates.weekday} \p{L}{2,3}$").unwrap();
        assert!(regex.is_match("Monday at") && regex.is_match("понедельник тот") && !regex.is_match("Monday a"));
        let latin = built("^{dates.weekday@latin}$").unwrap();
        assert!(latin.is_match("monday") && !latin.is_match("понедельник"));
        let cyrillic = built("^{dates.weekday@cyrillic}$").unwrap();
        assert!(!cyrillic.is_match("monday") && cyrillic.is_match("понедельник"));
    }

    #[test]
    fn a_role_without_words_is_an_error() {
        for role in ["no.role", "no.other.role@latin", "statements.kinds.years@cyrillic"] {
            // Split, so that the lexicon test does not find it.
            let template = format!("{{statements.greeting}}|{{{role}}}");
            let error = PatternError::NoWords(role.to_owned());
            assert_eq!(filled(&template), Err(error));
        }
        assert_eq!(filled(r"\p{Lu}{2,3}{4}x{name}").as_deref(), Ok(r"\p{Lu}{2,3}{4}x{name}"));
    }

    #[test]
    fn where_a_role_may_be_left_out_one_language_is_matched_at_a_time() {
        let whole = |template: &str| Regex::new(&format!("^{}$", filled(template).unwrap())).unwrap();
        let all = whole("{dates.weekday}(?: {statements.kinds.years})?");
        assert!(all.is_match("понедельник years") && all.is_match("понедельник"));
        let apart = whole("{dates.weekday}(?: {statements.kinds.years?})?");
        assert!(apart.is_match("monday years") && apart.is_match("monday") && apart.is_match("понедельник"));
        assert!(!apart.is_match("понедельник years") && !apart.is_match("понедельник "));
        let one = filled("{statements.kinds.years} {statements.kinds.since} {dates.weekday?}").unwrap();
        assert!(one.contains("monday") && !one.contains('д'), "Russian has no words of the first role");
        let nobodys = "{statements.kinds.years} {statements.kinds.ever} {dates.weekday?}";
        assert_eq!(filled(nobodys), Err(PatternError::Empty), "no language has both");
    }
}
