//! Configuration problems: one line each, all at once.
//!
//! No problem contains a secret. For an unknown name the nearest known one is suggested.

use std::fmt;

use super::kind::KEYS;
use super::load::{CONFIG_FILE_ENV, FILE_TWIN};

/// Longest value in a message, in characters.
const LONGEST_SHOWN: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// As the user wrote it: a variable, or a file and a path in it.
    pub key: String,
    /// As the user wrote it; `None` if it may be secret.
    pub value: Option<String>,
    pub what: String,
    pub fix: String,
}

impl Problem {
    pub(super) fn new(key: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { key: key.into(), value: None, what: what.into(), fix: fix.into() }
    }

    pub(super) fn with_value(mut self, value: &str) -> Self {
        self.value = (!may_hold_secret(value)).then(|| shorten(value));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value:?}")?;
        }
        // Parser messages may have several lines.
        let what = self.what.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, ": {what}; {}", self.fix)
    }
}

/// All problems of a configuration. Exit code 78.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.problems.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

pub(super) fn sounds_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "DSN", "BEARER", "COOKIE"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns true for a URL with a user or query, and for a long text of letters and digits without spaces and dots.
fn may_hold_secret(value: &str) -> bool {
    let url_like = value.contains("://") && (value.contains('@') || value.contains('?'));
    let is_key_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '=' | '+');
    let key_like = value.chars().count() >= 20
        && value.chars().all(is_key_letter)
        && value.chars().any(|c| c.is_ascii_digit())
        && value.chars().any(|c| c.is_ascii_alphabetic());
    url_like || key_like || value.contains("Bearer ")
}

fn shorten(value: &str) -> String {
    if value.chars().count() <= LONGEST_SHOWN {
        return value.to_owned();
    }
    let mut short: String = value.chars().take(LONGEST_SHOWN).collect();
    short.push('…');
    short
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Suggestion {
    pub(super) name: String,
    /// Letters to change.
    pub(super) distance: usize,
    /// Then the unknown value is probably secret too.
    pub(super) secret: bool,
}

pub(super) fn nearest_env(unknown: &str) -> Option<Suggestion> {
    let twins = KEYS.iter().filter(|key| key.is_secret()).map(|key| (format!("{}{FILE_TWIN}", key.env()), false));
    let names = KEYS.iter().map(|key| (key.env().to_owned(), key.is_secret()));
    nearest(unknown, names.chain(twins).chain([(CONFIG_FILE_ENV.to_owned(), false)]))
}

/// Compares also the last part alone, because a key may be in the wrong table.
pub(super) fn nearest_path(unknown: &str) -> Option<Suggestion> {
    let paths = KEYS.iter().map(|key| (key.path.clone(), key.is_secret()));
    nearest(unknown, paths).or_else(|| {
        let last = unknown.rsplit('.').next().unwrap_or(unknown);
        let mut same_end = KEYS.iter().filter(|key| key.path.rsplit('.').next() == Some(last));
        match (same_end.next(), same_end.next()) {
            (Some(only), None) => Some(Suggestion { name: only.path.clone(), distance: 1, secret: only.is_secret() }),
            _ => None,
        }
    })
}

fn nearest(unknown: &str, names: impl Iterator<Item = (String, bool)>) -> Option<Suggestion> {
    names
        .filter_map(|(name, secret)| Some(Suggestion { distance: apart(unknown, &name)?, name, secret }))
        .min_by_key(|found| found.distance)
}

/// Finds `enrichment` for `enrichmnt`, `providers.gdelt` for `gdelt`.
pub(super) fn nearest_table(unknown: &str) -> Option<&'static str> {
    let mut tables: Vec<&'static str> = Vec::new();
    for path in KEYS.iter().map(|key| key.path.as_str()) {
        tables.extend(path.match_indices('.').filter_map(|(at, _)| path.get(..at)));
    }
    tables.sort_unstable();
    tables.dedup();
    let spelt = tables.iter().copied().filter_map(|table| Some((apart(unknown, table)?, table))).min();
    spelt.map(|(_, table)| table).or_else(|| {
        let mut same_end = tables.iter().copied().filter(|table| table.rsplit('.').next() == Some(unknown));
        same_end.next().filter(|_| same_end.next().is_none())
    })
}

/// Returns `None` if the names are too different. A word with more than half its letters changed is another word (`URL`
/// and `RPM`). A missing or extra middle word (`SEARXNG_URL`) is more likely than three wrong letters.
fn apart(unknown: &str, known: &str) -> Option<usize> {
    /// Exceeds the limit of two for shared prefixes, so `DATABASE_READONLY_URL` does not match `DATABASE_URL`.
    const WORD_LEFT_OUT: usize = 3;
    let words = |name: &str| name.split(['_', '.']).map(str::to_lowercase).collect::<Vec<String>>();
    let (ours, theirs) = (words(known), words(unknown));
    let letters = distance(unknown, known);
    if ours.len() == theirs.len() {
        let furthest = (unknown.chars().count() / 6).clamp(2, 4);
        let misspelt = |(a, b): (&String, &String)| 2 * distance(a, b) <= a.chars().count().max(b.chars().count());
        return (letters <= furthest && ours.iter().zip(&theirs).all(misspelt)).then_some(letters);
    }
    let (longer, shorter) = if ours.len() > theirs.len() { (&ours, &theirs) } else { (&theirs, &ours) };
    let ends_agree = longer.first() == shorter.first() && longer.last() == shorter.last();
    let mut rest = longer.iter();
    let one_left_out = longer.len() == shorter.len() + 1
        && shorter.len() > 1
        && ends_agree
        && shorter.iter().all(|word| rest.any(|other| other == word));
    if one_left_out {
        return Some(WORD_LEFT_OUT);
    }
    // A missing or extra separator: `HTTPBIND`.
    (letters <= 2).then_some(letters)
}

/// Counts insertions, deletions, changes and swaps of neighbours; case is ignored.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, right) in b.iter().enumerate() {
            let change = rows[i][j] + usize::from(left != right);
            let mut best = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *left == b[j - 1] && a[i - 1] == *right {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_and_misses_are_one_edit() {
        assert_eq!(distance("FETCH_TIMEOUT", "FECTH_TIMEOUT"), 1);
        assert_eq!(distance("HTTP_BIND", "HTTP_BID"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "SAME"), 0);
    }

    #[test]
    fn a_suggestion_shares_the_words_of_the_name_and_not_only_its_letters() {
        let suggested = |unknown| nearest_env(unknown).map(|found| found.name);
        for (unknown, meant) in [
            ("ENRICHMENT_SEARXNG_URL", "ENRICHMENT_SEARXNG_BASE_URL"),
            ("ENRICHMENT_NEWSAPI_KEY", "ENRICHMENT_NEWSAPI_API_KEY"),
            ("LLM_URL", "LLM_BASE_URL"),
            ("ENRICHMENT_GDELT_RMP", "ENRICHMENT_GDELT_RPM"),
            ("ENRICHMENTGDELT_RPM", "ENRICHMENT_GDELT_RPM"),
            ("ENRICHMENT_MAX_SOURCE", "ENRICHMENT_MAX_SOURCES"),
        ] {
            assert_eq!(suggested(unknown).as_deref(), Some(meant), "{unknown}");
        }
        for unlike in ["ENRICHMENT_GDELT_TTL", "ENRICHMENT_SEARXNG", "FETCH_PROXY"] {
            assert_eq!(suggested(unlike), None, "{unlike}");
        }
        let foreign = nearest_env("DATABASE_READONLY_URL").is_none_or(|found| found.distance > 2);
        assert!(foreign, "the name of another program");
        assert_eq!(
            nearest_path("providers.searxng.url").map(|found| found.name).as_deref(),
            Some("providers.searxng.base_url")
        );
    }

    #[test]
    fn a_misspelt_or_misplaced_table_is_known() {
        assert_eq!(nearest_table("enrichmnt"), Some("enrichment"));
        assert_eq!(nearest_table("providers.gdlet"), Some("providers.gdelt"));
        assert_eq!(nearest_table("gdelt"), Some("providers.gdelt"));
        assert_eq!(nearest_table("recipes"), None);
    }

    #[test]
    fn what_might_be_a_secret_is_recognised() {
        assert!(may_hold_secret("postgres://u:p@h/d"));
        assert!(may_hold_secret("AIzaSyA1234567890abcdefghijk"));
        assert!(may_hold_secret("https://x/?api_key=1"));
        assert!(!may_hold_secret("127.0.0.1:8080"));
        assert!(!may_hold_secret("gdelt,newsapi"));
        assert!(sounds_secret("LLM_APIKEY"));
        assert!(!sounds_secret("FETCH_TIMEOUT"));
    }
}
