//! A result as plain text and Markdown, to copy.
//!
//! Foreign text is escaped so that it cannot be markup.

use std::fmt::Write as _;

use super::card::web;
use crate::domain::ItemResult;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::Stance;
use crate::judging::labels::{self, Phrase, ReaderLanguage};
use crate::judging::plain::plain;

const SOURCES: usize = 4;

/// A line per claim, its justification and sources.
pub(super) fn text(result: &ItemResult, reader: ReaderLanguage) -> String {
    let mut text = String::new();
    for claim in &result.claims {
        let _infallible = writeln!(text, "{}: {}", answer(claim, reader), plain(&claim.text));
        let _infallible = writeln!(text, "{}", plain(&claim.justification));
        for row in sources(claim) {
            let _infallible = writeln!(
                text,
                "- [{}] {}: {}",
                row.n,
                plain(&labels::domain(&row.domain, reader)),
                plain(&labels::place(&row.url, reader))
            );
        }
    }
    gaps(result, reader, &mut text);
    text
}

pub(super) fn markdown(result: &ItemResult, reader: ReaderLanguage) -> String {
    let mut text = String::new();
    for claim in &result.claims {
        let _infallible = writeln!(text, "**{}**: {}  ", answer(claim, reader), escaped(&claim.text));
        let _infallible = writeln!(text, "{}", escaped(&claim.justification));
        for row in sources(claim) {
            let outlet = escaped(&labels::domain(&row.domain, reader));
            let _infallible = match web(&row.url) {
                // A bracket would end the address.
                Some(url) => {
                    writeln!(text, "- \\[{}\\] [{outlet}](<{}>)", row.n, String::from(url).replace('>', "%3E"))
                }
                None => writeln!(text, "- \\[{}\\] {outlet}: {}", row.n, escaped(&labels::place(&row.url, reader))),
            };
        }
    }
    gaps(result, reader, &mut text);
    text
}

fn answer(claim: &ClaimResult, reader: ReaderLanguage) -> String {
    let verdict = labels::verdict(claim.verdict).of(reader);
    labels::decisive(claim.verdict, claim.decisive)
        .map_or_else(|| verdict.to_owned(), |firm| format!("{verdict} ({})", firm.of(reader)))
}

fn sources(claim: &ClaimResult) -> impl Iterator<Item = &crate::domain::result::EvidenceRow> {
    let is_cited = |n: u32| claim.citations.contains(&n);
    claim.evidence.iter().filter(move |row| is_cited(row.n) || row.stance != Stance::Neutral).take(SOURCES)
}

fn gaps(result: &ItemResult, reader: ReaderLanguage, text: &mut String) {
    if !result.degraded.is_empty() {
        let causes: Vec<String> = result.degraded.iter().map(|cause| labels::cause(cause, reader)).collect();
        let _infallible = writeln!(text, "{}: {}.", Phrase::Gaps.words().of(reader), plain(&causes.join("; ")));
    }
}

/// Escapes what Markdown or HTML would interpret.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '&') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_others_wrote_is_markup() {
        assert_eq!(escaped("[a](javascript:x) <b>\u{202e}*c*"), "\\[a\\](javascript:x) \\<b\\>\\*c\\*");
    }
}
