//! Summarises an item with several claims in the reader's language, as counts or a line per claim.

use corroborate_domain::Verdict;
use corroborate_domain::result::{ClaimResult, EvidenceRow};

use super::cited_text::{CitedTextError, Source, hold};
use super::labels::{self, Phrase, ReaderLanguage, words};

/// Maximum claims with a line; a count replaces the rest.
pub const MAX_LINES: usize = 3;

/// Maximum characters of a claim.
const MAX_CLAIM_CHARS: usize = 160;

/// Counts the verdicts; `None` under two claims. `is_cut`: the item may have more.
pub fn counted(claims: &[ClaimResult], is_cut: bool, reader: ReaderLanguage) -> Option<String> {
    if claims.len() < 2 {
        return None;
    }
    let of = |verdict: &Verdict| claims.iter().filter(|claim| claim.verdict == *verdict).count();
    let counts: Vec<String> = Verdict::ALL
        .iter()
        .filter(|verdict| of(verdict) > 0)
        .map(|verdict| format!("{}: {}", labels::verdict(*verdict).of(reader), of(verdict)))
        .collect();
    let worthiest = words(
        "the most check-worthy ones",
        "выбраны самые важные для проверки",
        "вибрано найважливіші для перевірки",
        "as que mais importa verificar",
    );
    let note = if is_cut { format!(" ({})", worthiest.of(reader)) } else { String::new() };
    Some(format!("{}: {}{note}. {}.", Phrase::Claims.words().of(reader), claims.len(), counts.join("; ")))
}

/// The distinct cited rows in order; a row's number is its place, from 1.
pub fn cited_rows(claims: &[ClaimResult]) -> Vec<&EvidenceRow> {
    let mut rows: Vec<&EvidenceRow> = Vec::new();
    for row in claims.iter().flat_map(rows_of) {
        if !rows.iter().any(|known| is_same(known, row)) {
            rows.push(row);
        }
    }
    rows
}

pub fn rows_of(claim: &ClaimResult) -> impl Iterator<Item = &EvidenceRow> {
    claim.evidence.iter().filter(|row| claim.citations.contains(&row.n))
}

pub fn place_of(rows: &[&EvidenceRow], row: &EvidenceRow) -> Option<usize> {
    rows.iter().position(|known| is_same(known, row))
}

fn is_same(one: &EvidenceRow, other: &EvidenceRow) -> bool {
    one.evidence_id == other.evidence_id && one.passage == other.passage
}

/// The claims with a line; those with citations take precedence.
pub fn lined(claims: &[ClaimResult]) -> Vec<&ClaimResult> {
    let has_rows = |claim: &&ClaimResult| rows_of(claim).next().is_some();
    let (cited, other): (Vec<&ClaimResult>, Vec<&ClaimResult>) = claims.iter().partition(has_rows);
    let most = if claims.len() <= MAX_LINES + 1 { claims.len() } else { MAX_LINES };
    let kept: Vec<&ClaimResult> = cited.into_iter().chain(other).take(most).collect();
    claims.iter().filter(|claim| kept.iter().any(|one| std::ptr::eq(*one, *claim))).collect()
}

/// Adds verdict and sources to a language model's lines, one for each of [`lined`]. If a line fails the check against
/// its claim's rows, the whole summary is dropped.
pub fn worded(
    claims: &[ClaimResult],
    lines: &[Option<String>],
    language: Option<&str>,
    is_cut: bool,
) -> Result<String, CitedTextError> {
    let reader = ReaderLanguage::of(language);
    let rows = cited_rows(claims);
    let sources: Vec<Source<'_>> = rows.iter().map(|row| source(row)).collect();
    let lined = lined(claims);
    let mut written = Vec::new();
    for (position, claim) in lined.iter().enumerate() {
        let own: Vec<usize> = rows_of(claim).filter_map(|row| place_of(&rows, row)).collect();
        let text = match lines.get(position).and_then(Option::as_deref) {
            _ if own.is_empty() => cut(&claim.text),
            None => return Err(CitedTextError::Uncited),
            Some(line) => {
                let of_claim = Source { text: &claim.text, language, ..Source::default() };
                let cited = hold(line, &sources, &of_claim, language)?;
                if !cited.iter().all(|place| own.contains(place)) {
                    return Err(CitedTextError::NoSuchPassage);
                }
                if states_another(line, claim.verdict, reader) {
                    return Err(CitedTextError::Verdict);
                }
                line.trim().to_owned()
            }
        };
        let sure = labels::decisive(claim.verdict, claim.decisive).map(|sure| format!(", {}", sure.of(reader)));
        written.push(format!("{}{}: {text}", labels::verdict(claim.verdict).of(reader), sure.unwrap_or_default()));
    }
    if lined.len() < claims.len() {
        written.extend(counted(claims, is_cut, reader));
    }
    let numbered = rows.iter().enumerate().map(|(place, row)| {
        let domain = labels::domain(&row.domain, reader);
        format!("[{}] {domain}", place + 1)
    });
    written.push(numbered.collect::<Vec<_>>().join(", "));
    Ok(written.join("\n"))
}

fn source(row: &EvidenceRow) -> Source<'_> {
    Source {
        text: &row.passage,
        title: row.title.as_deref(),
        domain: &row.domain,
        language: row.language.as_deref(),
        day: row.published_at,
    }
}

fn states_another(line: &str, own: Verdict, reader: ReaderLanguage) -> bool {
    let line = line.to_lowercase();
    let label = |verdict: Verdict| labels::verdict(verdict).of(reader).to_lowercase();
    Verdict::ALL.iter().any(|verdict| *verdict != own && line.contains(&label(*verdict)))
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_CLAIM_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
