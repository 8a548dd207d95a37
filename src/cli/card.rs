//! A result in a few lines, like the card of the web UI.
//!
//! It shows the verdict, the reason and the strongest passages of each side. Text of other authors is made plain and
//! shortened.

use std::fmt::Write as _;

use super::output::{Colour, Output};
use crate::domain::result::{ClaimResult, EvidenceRow, FactCheck, ItemResult};
use crate::domain::verdict::{Relation, Stance, Verdict};
use crate::judging::labels::{self, Phrase, ReaderLanguage, firmness};
use crate::judging::plain::plain;
use crate::judging::vocabularies::{Vocabulary, word};

/// Characters of a passage, and of other foreign text.
const PASSAGE_CHARS: usize = 160;
const LINE_CHARS: usize = 300;
/// Passages per side.
const OF_A_SIDE: usize = 2;
const CHECKS: usize = 2;

/// Prints the main claim first.
pub(super) fn card(result: &ItemResult, asked: Option<&str>, vocabulary: Vocabulary, output: Output) -> String {
    let reader = ReaderLanguage::of(result.language.as_deref());
    let mut text = String::new();
    let mut claims: Vec<&ClaimResult> = result.claims.iter().collect();
    claims.sort_by_key(|claim| Some(&claim.claim_id) != result.main_claim.as_ref());
    for claim in &claims {
        text.push_str(&one(claim, result, asked, (reader, vocabulary), output));
    }
    if let (true, Some(explanation)) = (claims.is_empty(), &result.explanation) {
        let _infallible = writeln!(text, "{}", line(explanation, LINE_CHARS));
    }
    if !result.degraded.is_empty() {
        let causes: Vec<String> = result.degraded.iter().map(|cause| labels::cause(cause, reader)).collect();
        let gaps = format!("! {}: {}.", Phrase::Gaps.words().of(reader), causes.join("; "));
        let _infallible = writeln!(text, "  {}", output.paint(&plain(&gaps), Colour::Yellow));
    }
    text
}

fn one(
    claim: &ClaimResult,
    result: &ItemResult,
    asked: Option<&str>,
    (reader, vocabulary): (ReaderLanguage, Vocabulary),
    output: Output,
) -> String {
    let mut text = headline(claim, vocabulary, reader, output);
    text.push('\n');
    let _infallible = writeln!(text, "  {}", output.paint(&line(&claim.text, LINE_CHARS), Colour::Bold));
    if let Some(asked) = asked.filter(|asked| plain(asked).trim() != plain(&claim.text).trim()) {
        let _infallible = writeln!(text, "  ← {}", line(asked, LINE_CHARS));
    }
    if !claim.justification.is_empty() {
        let _infallible = writeln!(text, "  {}", line(&claim.justification, LINE_CHARS));
    }
    if claim.decisive {
        let _infallible = writeln!(text, "  {}", firmness::confidence(claim.confidence, reader));
    }
    let missing = firmness::firmer(claim, reader);
    if !missing.is_empty() {
        let _infallible = writeln!(text, "  {}: {missing}", firmness::FIRMER.of(reader));
    }
    for check in checks(claim, result).take(CHECKS) {
        let _infallible = writeln!(
            text,
            "  {}: {}: {} {}",
            labels::fact_check(check.relation).of(reader),
            line(&check.publisher, 60),
            labels::quoted(&line(&check.rating, 60), reader),
            output.paint(&line(&labels::place(&check.url, reader), LINE_CHARS), Colour::Dim),
        );
    }
    for row in shown(claim) {
        text.push_str(&passage(row, reader, output));
    }
    if let Some(correction) = &claim.correction {
        let heading = labels::correction(correction.kind, correction.apply).of(reader);
        let _infallible = writeln!(text, "  {heading}: {}", line(&correction.corrected, LINE_CHARS));
    }
    text
}

/// Returns the first passages of each side, and every passage that the justification cites.
fn shown(claim: &ClaimResult) -> Vec<&EvidenceRow> {
    let of = |side: Stance| claim.evidence.iter().filter(move |row| row.stance == side).take(OF_A_SIDE);
    let mut rows: Vec<&EvidenceRow> = of(Stance::Supports).chain(of(Stance::Contradicts)).collect();
    for row in claim.evidence.iter().filter(|row| claim.citations.contains(&row.n)) {
        if rows.iter().all(|known| known.n != row.n) {
            rows.push(row);
        }
    }
    rows
}

/// Returns "✗ Refuted · conclusive · corroboration: medium".
pub(super) fn headline(claim: &ClaimResult, vocabulary: Vocabulary, reader: ReaderLanguage, output: Output) -> String {
    let (sign, colour) = match claim.verdict {
        Verdict::Supported => ("✓", Colour::Green),
        Verdict::Refuted => ("✗", Colour::Red),
        Verdict::Contested | Verdict::Misleading | Verdict::Outdated => ("≠", Colour::Yellow),
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => ("?", Colour::Dim),
    };
    let verdict = match vocabulary {
        Vocabulary::Ours => labels::verdict(claim.verdict).of(reader),
        other => word(other, claim.verdict, claim.decisive),
    };
    let mut parts = vec![output.paint(&format!("{sign} {verdict}"), colour)];
    parts.extend(labels::decisive(claim.verdict, claim.decisive).map(|words| words.of(reader).to_owned()));
    if matches!(claim.verdict, Verdict::Supported | Verdict::NotEnoughEvidence) {
        parts.push(labels::tier(claim.tier).of(reader).to_owned());
    }
    parts.extend(labels::notes(claim).into_iter().map(|note| labels::note(note).of(reader).to_owned()));
    parts.join(" · ")
}

fn checks<'a>(claim: &'a ClaimResult, result: &'a ItemResult) -> impl Iterator<Item = &'a FactCheck> {
    let own = result.fact_checks.iter().filter(|check| check.claim_id == claim.claim_id);
    own.filter(|check| matches!(check.relation, Relation::Same | Relation::Opposite))
}

fn passage(row: &EvidenceRow, reader: ReaderLanguage, output: Output) -> String {
    let (sign, colour) = match row.stance {
        Stance::Supports => ("+", Colour::Green),
        Stance::Contradicts => ("−", Colour::Red),
        Stance::Neutral => ("·", Colour::Dim),
    };
    let day = row.published_at.map(|date| format!(", {}", date.format("%Y-%m-%d"))).unwrap_or_default();
    format!(
        "  {} {}{day}: {} {}\n",
        output.paint(&format!("{sign} [{}]", row.n), colour),
        line(&labels::domain(&row.domain, reader), 60),
        labels::quoted(&line(&row.passage, PASSAGE_CHARS), reader),
        output.paint(&line(&labels::place(&row.url, reader), LINE_CHARS), Colour::Dim),
    )
}

pub(super) fn line(words: &str, most: usize) -> String {
    let plain = plain(words);
    let one: String = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match one.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", one.get(..end).unwrap_or(&one).trim_end()),
        None => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::tests::with_claim;

    const PLAIN: Output = Output { json: false, quiet: true, colour: false, log: crate::config::LogFormat::Text };

    #[test]
    fn an_answer_is_a_few_short_lines_whatever_others_wrote() {
        let evil = format!("a\u{1b}[2J\u{202e}\r\n{}", "🙂 long ".repeat(5_000));
        let mut one = with_claim(Verdict::Refuted, &evil);
        one.claims[0].evidence[0].stance = Stance::Contradicts;
        one.degraded = vec![evil.clone()];
        let text = card(&one, Some("What was asked"), Vocabulary::Ours, PLAIN);
        assert!(text.lines().count() <= 9, "{text}");
        assert!(text.starts_with("✗ Refuted · conclusive"), "{text}");
        assert!(text.contains("← What was asked") && text.contains("About 5 in 10"), "{text}");
        let longest = text.lines().filter(|line| !line.starts_with("  !")).map(|line| line.chars().count()).max();
        assert!(longest < Some(700), "{longest:?}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']), "{text}");
    }

    #[test]
    fn lean_names_gap_without_figure_when_verdict_is_provisional() {
        let mut one = with_claim(Verdict::Supported, "A b.");
        one.claims[0].decisive = false;
        let text = card(&one, Some("A b."), Vocabulary::Rag, PLAIN);
        assert!(
            text.contains("Missing for a conclusive verdict: ") && !text.contains("in 10") && !text.contains('←'),
            "{text}"
        );
    }
}
