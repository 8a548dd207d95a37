//! Prints a result in the language of the item.
//!
//! Text of other authors is made plain first, so that it cannot move the cursor, colour the terminal or reverse a line.
//!
//! A figure is shown only if it fits the verdict. Support in passages does not matter for a fact-check's verdict. A
//! verdict on one weak source is not more certain because no source contradicts it.

use std::fmt::Write as _;

use super::output::{Colour, Output};
use crate::domain::result::{ClaimResult, EvidenceRow, FactCheck, ItemResult};
use crate::domain::verdict::{Relation, Stance, Verdict};
use crate::judging::labels::{self, Phrase, ReaderLanguage};
use crate::judging::plain::plain;
use crate::judging::vocabularies::{ModuleFeatures, Vocabulary, word};
use crate::pipeline::{BY_FACT_CHECK, channels_shown, digest_evidence};

const PASSAGE_CHARS: usize = 240;

/// Prints about ten lines per claim. The verdict is a label in the item's language, or a word of another vocabulary.
pub(super) fn result(result: &ItemResult, vocabulary: Vocabulary, output: Output) -> String {
    let mut text = String::new();
    let reader = ReaderLanguage::of(result.language.as_deref());
    let _infallible = writeln!(text, "{}", output.paint(&plain(&result.item_id), Colour::Dim));
    for claim in &result.claims {
        let verdict = match vocabulary {
            Vocabulary::Ours => labels::verdict(claim.verdict).of(reader),
            other => word(other, claim.verdict, claim.decisive),
        };
        text.push_str(&one_claim(claim, verdict, reader, output));
        if matches!(vocabulary, Vocabulary::Module) {
            let _infallible = writeln!(text, "   {}", features(&ModuleFeatures::from(&claim.features)));
        }
    }
    // Unless a claim has the same justification.
    let repeats = |text: &String| result.claims.iter().any(|claim| claim.justification == *text);
    if let Some(explanation) = result.explanation.as_ref().filter(|explanation| !repeats(explanation)) {
        let _infallible = writeln!(text, "   {}", plain(explanation));
    }
    if result.claims.len() > 1 {
        let _infallible = writeln!(text, "   {}", counts(&result.claims, reader));
    }
    for check in &result.fact_checks {
        let _infallible = writeln!(text, "   {}", fact_check(check, reader));
    }
    text.push_str(&gaps(result, reader, output));
    for line in digest(result, reader) {
        let _infallible = writeln!(text, "   {}: {}", Phrase::Digest.words().of(reader), plain(&line));
    }
    text
}

/// Returns "Claims: 3 (Supported 1, Refuted 2)".
fn counts(claims: &[ClaimResult], reader: ReaderLanguage) -> String {
    let of = |verdict: &Verdict| claims.iter().filter(|claim| claim.verdict == *verdict).count();
    let parts: Vec<String> = Verdict::ALL
        .iter()
        .filter(|verdict| of(verdict) > 0)
        .map(|verdict| format!("{} {}", labels::verdict(*verdict).of(reader), of(verdict)))
        .collect();
    format!("{}: {} ({})", Phrase::Claims.words().of(reader), claims.len(), parts.join(", "))
}

fn gaps(result: &ItemResult, reader: ReaderLanguage, output: Output) -> String {
    if result.degraded.is_empty() {
        return String::new();
    }
    let causes: Vec<String> = result.degraded.iter().map(|cause| labels::cause(cause, reader)).collect();
    let line = format!("{}: {}.", Phrase::Gaps.words().of(reader), causes.join("; "));
    let mut text = format!("   {}\n", output.paint(&plain(&line), Colour::Yellow));
    if reader != ReaderLanguage::English {
        return text;
    }
    // In the providers' own words.
    let mut replies: Vec<String> = result.trace.iter().filter_map(|line| own_words(line)).collect();
    replies.dedup();
    for line in replies {
        let _infallible = writeln!(text, "     {}", plain(&line));
    }
    text
}

/// Returns "GDELT: the provider asks us to slow down".
pub(super) fn own_words(line: &str) -> Option<String> {
    let (whom, why) = line.split_once("could not be asked: ")?;
    let whom = whom.rsplit([' ', ':']).find(|word| !word.is_empty())?;
    Some(format!("{}: {why}", labels::asked(whom, ReaderLanguage::English)))
}

/// Returns the lines in the reader's language; the JSON has those for digest services.
fn digest(result: &ItemResult, reader: ReaderLanguage) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(channels) = channels_shown(&result.also_reported_by) {
        lines.push(format!("{}: {channels}", Phrase::AlsoReportedBy.words().of(reader)));
    }
    if let Some(related) = result.fact_checks.iter().find(|check| check.relation != Relation::Other) {
        let place = labels::place(&related.url, reader);
        lines.push(format!("{}: {place}", Phrase::RelatedFactCheck.words().of(reader)));
    }
    let sides = result.main_claim().map(digest_evidence).unwrap_or_default();
    lines.extend(labels::evidence(sides.supporting, sides.contradicting, reader));
    lines
}

/// Uses the names of the `Module` vocabulary.
fn features(of: &ModuleFeatures) -> String {
    let figures = match of.num_ok {
        Some(true) => "agree",
        Some(false) => "disagree",
        None => "none to compare",
    };
    format!(
        "entail_max {:.2} · entail_mean3 {:.2} · contradict_max {:.2} · agree_domain_count {} · relevance_score_avg {:.2} · \
         recency_weight_max {:.2} · figures {figures}",
        of.entail_max,
        of.entail_mean3,
        of.contradict_max,
        of.agree_domain_count,
        of.relevance_score_avg,
        of.recency_weight_max,
    )
}

fn verdict_line(claim: &ClaimResult, verdict: &str, reader: ReaderLanguage, output: Output) -> String {
    let colour = match claim.verdict {
        Verdict::Supported => Colour::Green,
        Verdict::Refuted => Colour::Red,
        Verdict::Contested | Verdict::Misleading | Verdict::Outdated => Colour::Yellow,
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => Colour::Dim,
    };
    let mut parts: Vec<String> = vec![output.paint(verdict, colour)];
    parts.extend(labels::decisive(claim.verdict, claim.decisive).map(|words| words.of(reader).to_owned()));
    let of = |phrase: Phrase| phrase.words().of(reader);
    // A provisional verdict gets no confidence.
    if claim.decisive {
        parts.push(format!("{} {}", of(Phrase::Confidence), reader.figure(claim.confidence)));
    }
    if let Some(score) = claim.score.filter(|_| rests_on_passages(claim)) {
        parts.push(format!("{}: {score} {}", of(Phrase::Support), of(Phrase::OutOf100)));
    }
    if matches!(claim.verdict, Verdict::Supported | Verdict::NotEnoughEvidence) {
        parts.push(labels::tier(claim.tier).of(reader).to_owned());
    }
    parts.extend(labels::notes(claim).into_iter().map(|note| labels::note(note).of(reader).to_owned()));
    parts.join(" · ")
}

/// Returns true if support in passages matters for the verdict. A fact-check decides alone; misleading or outdated
/// claims may be supported.
fn rests_on_passages(claim: &ClaimResult) -> bool {
    matches!(claim.verdict, Verdict::Supported | Verdict::Refuted | Verdict::Contested)
        && !claim.judge.split('+').any(|judge| judge == BY_FACT_CHECK)
}

fn one_claim(claim: &ClaimResult, verdict: &str, reader: ReaderLanguage, output: Output) -> String {
    let mut text = String::new();
    let _infallible = writeln!(text, "{}", output.paint(&plain(&claim.text), Colour::Bold));
    let _infallible = writeln!(text, "   {}", verdict_line(claim, verdict, reader, output));
    if !claim.justification.is_empty() {
        let _infallible = writeln!(text, "   {}", plain(&claim.justification));
    }
    for row in &claim.evidence {
        text.push_str(&evidence(row, reader, output));
    }
    if let Some(correction) = &claim.correction {
        let heading = labels::correction(correction.kind, correction.apply).of(reader);
        let _infallible = writeln!(text, "   {heading}: {}", plain(&correction.corrected));
    }
    text
}

fn evidence(row: &EvidenceRow, reader: ReaderLanguage, output: Output) -> String {
    let colour = match row.stance {
        Stance::Supports => Colour::Green,
        Stance::Contradicts => Colour::Red,
        Stance::Neutral => Colour::Dim,
    };
    let no_date = || Phrase::NoDate.words().of(reader).to_owned();
    let date = row.published_at.map_or_else(no_date, |date| date.format("%Y-%m-%d").to_string());
    let passage: String = row.passage.chars().take(PASSAGE_CHARS).collect();
    let cut = if passage.len() < row.passage.len() { "…" } else { "" };
    let passage = plain(&passage);
    format!(
        "   [{}] {} · {} · {date}\n       {}\n       {}\n",
        row.n,
        output.paint(labels::stance(row).of(reader), colour),
        plain(&labels::domain(&row.domain, reader)),
        output.paint(&plain(&labels::place(&row.url, reader)), Colour::Dim),
        labels::quoted(&format!("{passage}{cut}"), reader),
    )
}

fn fact_check(check: &FactCheck, reader: ReaderLanguage) -> String {
    let date = check.review_date.map_or_else(String::new, |date| format!(", {}", date.format("%Y-%m-%d")));
    format!(
        "{}: {}{date}: {}\n       {}\n       {}",
        labels::fact_check(check.relation).of(reader),
        plain(&check.publisher),
        labels::quoted(&plain(&check.rating), reader),
        labels::quoted(&plain(&check.claim), reader),
        plain(&labels::place(&check.url, reader))
    )
}

#[cfg(test)]
pub(super) mod tests {
    use chrono::{DateTime, Utc};
    use serde_json::json;

    use std::borrow::Cow;

    use super::*;
    use crate::domain::result::Features;
    use crate::domain::verdict::{Note, Tier};

    const PLAIN: Output = Output { json: false, quiet: true, colour: false, log: crate::config::LogFormat::Text };

    pub(in crate::cli) fn result(id: &str) -> ItemResult {
        serde_json::from_value(json!({
            "schema": 1, "item_id": id, "message_id": null, "enriched_at": DateTime::<Utc>::UNIX_EPOCH, "status": "complete",
            "degraded": [], "language": "en", "tier": null, "score": null, "agreement": 0.0, "contradiction": false,
            "notes": [], "also_reported_by": [], "explanation": null, "overall_summary": null, "sources_checked": [],
            "fact_checks": [], "claims": [],
            "context": {"evidence": [], "background": [], "digest_lines": []},
            "cost": {"usd": 0.0, "provider_calls": {}, "llm_calls": 0, "llm_tokens": 0, "millis": 0}, "trace": []
        }))
        .unwrap()
    }

    pub(in crate::cli) fn with_claim(verdict: Verdict, text: &str) -> ItemResult {
        let mut result = result(text);
        let claim = json!({
            "claim_id": "c", "text": text, "kind": "factual", "source": 0, "judge": "rules", "verdict": verdict,
            "decisive": true, "confidence": 0.5, "score": null, "tier": "low", "agreement": 0.0, "contradiction": false,
            "notes": [], "features": Features::default(), "justification": text, "citations": [], "correction": {
                "type": "replace", "original": text, "corrected": text, "confidence": 0.5, "note": text,
                "apply": "review", "sources": [text]
            },
            "evidence": [{
                "n": 1, "evidence_id": "e", "url": text, "domain": text, "title": text, "published_at": null,
                "language": null, "passage": text, "stance": "neutral", "entail": 0.0, "contradict": 0.0, "neutral": 1.0,
                "agreement": 0.0, "relevance": 0.0, "quality": 0.0, "credibility": 0.0, "origin": "web", "provider": "x",
                "independent_group": "g", "extraction_failed": false
            }]
        });
        result.claims = vec![serde_json::from_value(claim).unwrap()];
        result
    }

    #[test]
    fn nothing_that_others_wrote_reaches_the_terminal_as_a_command() {
        let evil = "a\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}b\u{2066}c\u{200f}\rd\ne\u{0}";
        let mut one = with_claim(Verdict::Refuted, evil);
        one.explanation = Some(format!("Why: {evil}"));
        one.degraded = vec![evil.to_owned()];
        one.trace = vec![format!("search: gdelt could not be asked: {evil}")];
        one.also_reported_by = vec![evil.to_owned()];
        one.fact_checks = vec![check(evil)];
        let text = super::result(&one, Vocabulary::Ours, PLAIN);
        let bad: Vec<char> =
            text.chars().filter(|c| (c.is_control() && *c != '\n') || matches!(*c, '\u{200f}'..='\u{2069}')).collect();
        assert!(bad.iter().all(|c| matches!(c, '\u{201c}' | '\u{201d}' | '\u{2026}')), "{bad:?} in {text}");
        assert!(text.contains("a\u{fffd}]0;owned\u{fffd}\u{fffd}2Jbc d e\u{fffd}"), "{text}");
        assert!(matches!(plain("Україна \u{201c}ok\u{201d}"), Cow::Borrowed(_)));
    }

    fn check(text: &str) -> FactCheck {
        serde_json::from_value(json!({
            "claim": text, "url": text, "publisher": text, "rating": text, "rating_class": "false",
            "review_date": null, "similarity": 0.5, "claim_id": "c", "relation": "related", "language": null
        }))
        .unwrap()
    }

    /// Returns all text in that language, with empty foreign text.
    fn whole(language: &str, verdict: Verdict) -> ItemResult {
        let mut one = with_claim(verdict, "");
        one.language = Some(language.to_owned());
        one.fact_checks = vec![check("")];
        one.degraded =
            ["provider_open:feeds", "provider_failed:corpus", "model_failed:stance", "deadline", "no_page_read"]
                .map(str::to_owned)
                .to_vec();
        one.also_reported_by = vec!["@a".into()];
        let claim = &mut one.claims[0];
        claim.notes = Note::ALL.to_vec();
        claim.score = Some(12);
        claim.contradiction = true;
        let row = &mut claim.evidence[0];
        row.domain = "xn--e1afmkfd.xn--p1ai".into();
        row.url = "corpus://gazette/bridge.md#L3-L3".into();
        row.stance = Stance::Contradicts;
        one.claims.push(one.claims[0].clone());
        one
    }

    #[test]
    fn a_person_reads_no_name_of_ours_and_one_language() {
        for verdict in Verdict::ALL {
            for language in ["en", "ru", "uk", "pt-BR"] {
                let text = super::result(&whole(language, *verdict), Vocabulary::Ours, PLAIN);
                for ours in ["_", "xn--", "corpus", "provider", "tier", "e 0.", "\\u{"] {
                    assert!(!text.contains(ours), "{ours:?} in {language}:\n{text}");
                }
                assert!(text.contains("пример.рф"), "{text}");
                if matches!(language, "ru" | "uk") {
                    // "bridge.md" and "@a" are foreign text.
                    let own = text.replace("bridge.md", "").replace("@a", "");
                    assert!(!own.contains(|c: char| c.is_ascii_alphabetic()), "{language}:\n{own}");
                }
            }
        }
    }

    #[test]
    fn text_has_word_of_vocabulary_when_one_is_chosen() {
        let one = with_claim(Verdict::Refuted, "A b.");
        assert!(super::result(&one, Vocabulary::Loop, PLAIN).contains("   CONTRADICTED · conclusive"));
        assert!(super::result(&one, Vocabulary::Ours, PLAIN).contains("   Refuted · conclusive"));
    }

    #[test]
    fn an_explanation_that_a_claim_gives_is_not_repeated() {
        let mut one = with_claim(Verdict::NotVerifiable, "It is an opinion.");
        let without = super::result(&one, Vocabulary::Ours, PLAIN);
        one.explanation = Some("It is an opinion.".into());
        assert_eq!(super::result(&one, Vocabulary::Ours, PLAIN), without);
        one.explanation = Some("It is a question.".into());
        assert!(super::result(&one, Vocabulary::Ours, PLAIN).contains("   It is a question.\n"));
    }

    fn line(verdict: Verdict, change: impl FnOnce(&mut ClaimResult)) -> String {
        let mut one = with_claim(verdict, "A b.");
        change(&mut one.claims[0]);
        let text = super::result(&one, Vocabulary::Ours, PLAIN);
        text.lines().nth(2).unwrap().trim().to_owned()
    }

    #[test]
    fn figure_is_named_and_shown_when_it_agrees_with_verdict() {
        let scored = |claim: &mut ClaimResult| claim.score = Some(12);
        assert_eq!(
            line(Verdict::Refuted, scored),
            "Refuted · conclusive · confidence in this verdict 0.50 · support for the claim in the passages: 12 of 100"
        );
        let checked = |claim: &mut ClaimResult| {
            (claim.score, claim.judge, claim.tier) = (Some(12), BY_FACT_CHECK.into(), Tier::Medium);
        };
        assert_eq!(
            line(Verdict::Supported, checked),
            "Supported · conclusive · confidence in this verdict 0.50 · corroboration: medium"
        );
        let unsure = |claim: &mut ClaimResult| (claim.decisive, claim.confidence) = (false, 1.0);
        assert_eq!(line(Verdict::Refuted, unsure), "Refuted · provisional");
        let open = |claim: &mut ClaimResult| (claim.decisive, claim.score) = (false, Some(58));
        assert_eq!(line(Verdict::NotEnoughEvidence, open), "Not enough evidence · corroboration: low");
        assert_eq!(line(Verdict::NotVerifiable, |claim| claim.decisive = false), "Not verifiable");
    }

    #[test]
    fn a_note_that_would_contradict_the_verdict_is_left_out() {
        let noted = |note| move |claim: &mut ClaimResult| (claim.decisive, claim.notes) = (false, vec![note]);
        assert_eq!(line(Verdict::Refuted, noted(Note::NoCorroboration)), "Refuted · provisional");
        assert_eq!(line(Verdict::Contested, noted(Note::ConflictingSources)), "Contested");
        let open = "Not enough evidence · corroboration: low";
        assert_eq!(line(Verdict::NotEnoughEvidence, noted(Note::ConflictingSources)), open);
        assert_eq!(line(Verdict::NotEnoughEvidence, noted(Note::SingleSource)), format!("{open} · one source only"));
    }

    #[test]
    fn cause_has_name_and_words_of_provider_when_provider_failed() {
        assert_eq!(own_words("search: gdelt could not be asked: slow down").as_deref(), Some("GDELT: slow down"));
        assert_eq!(own_words("knowledge: could not be asked: x").as_deref(), Some("stored evidence: x"));
        assert_eq!(own_words("decide: refuted"), None);
    }
}
