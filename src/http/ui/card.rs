//! One claim's result as a page shows it.
//!
//! It never changes a verdict. Foreign texts pass through `plain`, and links lead only to addresses that [`web`]
//! accepts.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::marks::{self, Piece};
use super::words::words;
use crate::domain::result::{ClaimResult, Correction, EvidenceRow, FactCheck, ItemResult};
use crate::domain::rules::{DomainList, DomainRules};
use crate::domain::verdict::{ClaimKind, RatingClass, Relation, Stance, Verdict};
use crate::judging::labels::{self, ReaderLanguage, firmness};
use crate::judging::plain::plain;
use crate::judging::vocabularies::{Vocabulary, word};

/// Enough words to be unique, few enough to survive edits elsewhere on the page.
const FRAGMENT_WORDS: usize = 8;
/// Escapes `-`, `,` and `&`, which have a meaning in text fragments.
const FRAGMENT: &AsciiSet = NON_ALPHANUMERIC;

#[derive(Debug)]
pub(super) struct Card {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) verdict: &'static str,
    /// `for`, `against`, `mixed` or `open`.
    pub(super) colour: &'static str,
    /// The colour as a sign, for readers who do not see it.
    pub(super) sign: &'static str,
    pub(super) firmness: Option<&'static str>,
    pub(super) facts: Vec<String>,
    pub(super) confidence: Option<String>,
    pub(super) confidence_value: String,
    pub(super) why: Vec<TextPiece>,
    /// What a conclusive verdict lacks; empty if it is conclusive.
    pub(super) firmer: String,
    pub(super) correction: Option<CorrectionDiff>,
    pub(super) has_evidence: bool,
    /// Fact-checks that support the claim; then those that contradict it.
    pub(super) checks_for: Vec<Review>,
    pub(super) checks_against: Vec<Review>,
    pub(super) supporting: Vec<Row>,
    pub(super) contradicting: Vec<Row>,
    pub(super) beside: Vec<Row>,
}

/// Text of a justification, or a citation with its link.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextPiece {
    pub(super) text: String,
    pub(super) href: Option<String>,
}

/// A correction as a difference.
#[derive(Debug)]
pub(super) struct CorrectionDiff {
    pub(super) heading: &'static str,
    pub(super) was: Vec<Piece>,
    pub(super) is: Vec<Piece>,
}

/// One passage.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) n: u32,
    pub(super) anchor: String,
    pub(super) side: &'static str,
    pub(super) outlet: String,
    pub(super) initial: String,
    /// One of four colours, constant per outlet.
    pub(super) hue: u32,
    pub(super) day: String,
    pub(super) stars: String,
    pub(super) credibility: String,
    /// The reason for the outlet's credibility.
    pub(super) believed: String,
    pub(super) stance: &'static str,
    /// The adjudicator's stance, if it differs.
    pub(super) second_reading: String,
    pub(super) language: String,
    pub(super) passage: Vec<Piece>,
    pub(super) origin: &'static str,
    /// Link to the quoted words.
    pub(super) href: Option<String>,
    pub(super) place: String,
    pub(super) same_story: String,
    /// Syndicated copies; they count as one source.
    pub(super) copies: Vec<Copy>,
}

#[derive(Debug)]
pub(super) struct Review {
    pub(super) publisher: String,
    pub(super) day: String,
    pub(super) rating: String,
    pub(super) heading: &'static str,
    pub(super) claim: String,
    pub(super) href: Option<String>,
}

#[derive(Debug)]
pub(super) struct Copy {
    pub(super) outlet: String,
    pub(super) day: String,
    pub(super) href: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) struct RenderContext<'a> {
    pub(super) reader: ReaderLanguage,
    /// Vocabulary shown in addition to our verdict.
    pub(super) vocabulary: Vocabulary,
    /// The domain lists, which explain credibility.
    pub(super) rules: &'a DomainRules,
}

/// The cards of a result, the main claim first.
pub(super) fn cards(result: &ItemResult, sight: RenderContext<'_>) -> Vec<Card> {
    let mut claims: Vec<&ClaimResult> = result.claims.iter().collect();
    claims.sort_by_key(|claim| Some(&claim.claim_id) != result.main_claim.as_ref());
    claims.into_iter().map(|claim| card(claim, &result.fact_checks, sight)).collect()
}

/// The colour of a verdict and its sign.
pub(super) const fn look(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Supported => ("for", "✓"),
        Verdict::Refuted => ("against", "✗"),
        Verdict::Contested | Verdict::Misleading | Verdict::Outdated => ("mixed", "≠"),
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => ("open", "?"),
    }
}

fn card(claim: &ClaimResult, checks: &[FactCheck], sight: RenderContext<'_>) -> Card {
    let reader = sight.reader;
    let (colour, sign) = look(claim.verdict);
    let id = format!("c-{}", claim.claim_id);
    let rows = |stance: Stance| rows(claim, stance, &id, sight);
    let own = || checks.iter().filter(|check| check.claim_id == claim.claim_id);
    let reviews =
        |side: Stance| own().filter(|check| side_of(check) == Some(side)).map(|check| review(check, reader)).collect();
    let (checks_for, checks_against): (Vec<Review>, Vec<Review>) =
        (reviews(Stance::Supports), reviews(Stance::Contradicts));
    let (supporting, contradicting, neutral) =
        (rows(Stance::Supports), rows(Stance::Contradicts), rows(Stance::Neutral));
    Card {
        text: plain(&claim.text).into_owned(),
        verdict: labels::verdict(claim.verdict).of(reader),
        colour,
        sign,
        firmness: labels::decisive(claim.verdict, claim.decisive).map(|one| one.of(reader)),
        facts: facts(claim, sight.vocabulary, reader),
        // A provisional verdict has too little evidence for a figure.
        confidence: claim.decisive.then(|| firmness::confidence(claim.confidence, reader)),
        confidence_value: format!("{:.2}", claim.confidence),
        why: linked_pieces(&claim.justification, claim, &id),
        firmer: firmness::firmer(claim, reader),
        correction: claim.correction.as_ref().map(|correction| corrected(correction, reader)),
        has_evidence: !(claim.evidence.is_empty() && checks_for.is_empty() && checks_against.is_empty()),
        checks_for,
        checks_against,
        supporting,
        contradicting,
        beside: neutral,
        id,
    }
}

fn facts(claim: &ClaimResult, vocabulary: Vocabulary, reader: ReaderLanguage) -> Vec<String> {
    let mut facts = Vec::new();
    if vocabulary != Vocabulary::Ours {
        facts.push(format!("{}: {}", vocabulary.as_str(), word(vocabulary, claim.verdict, claim.decisive)));
    }
    if matches!(claim.verdict, Verdict::Supported | Verdict::NotEnoughEvidence) {
        facts.push(labels::tier(claim.tier).of(reader).to_owned());
    }
    facts.extend(labels::notes(claim).into_iter().map(|note| labels::note(note).of(reader).to_owned()));
    facts.push(kind(claim.kind, reader).to_owned());
    if !claim.evidence.is_empty() {
        facts.push(format!("{}: {}", words("card.agreement", reader), reader.figure(claim.agreement)));
    }
    facts
}

fn kind(kind: ClaimKind, reader: ReaderLanguage) -> &'static str {
    let key = match kind {
        ClaimKind::Factual => "kind.factual",
        ClaimKind::Opinion => "kind.opinion",
        ClaimKind::Mixed => "kind.mixed",
        ClaimKind::Ambiguous => "kind.ambiguous",
    };
    words(key, reader)
}

/// The stance of a fact-check towards our claim.
fn side_of(check: &FactCheck) -> Option<Stance> {
    let is_true = matches!(check.rating_class, RatingClass::True | RatingClass::MostlyTrue);
    let is_false = check.rating_class == RatingClass::False;
    match check.relation {
        Relation::Same if is_true => Some(Stance::Supports),
        Relation::Same if is_false => Some(Stance::Contradicts),
        Relation::Opposite if is_true => Some(Stance::Contradicts),
        Relation::Opposite if is_false => Some(Stance::Supports),
        _ => None,
    }
}

pub(super) fn review(check: &FactCheck, reader: ReaderLanguage) -> Review {
    Review {
        publisher: plain(&check.publisher).into_owned(),
        day: check.review_date.map(|date| date.format("%Y-%m-%d").to_string()).unwrap_or_default(),
        rating: plain(&check.rating).into_owned(),
        heading: labels::fact_check(check.relation).of(reader),
        claim: plain(&check.claim).into_owned(),
        href: web(&check.url).map(String::from),
    }
}

/// Whether a card already lists this fact-check.
pub(super) fn is_on_a_side(check: &FactCheck, result: &ItemResult) -> bool {
    side_of(check).is_some() && result.claims.iter().any(|claim| claim.claim_id == check.claim_id)
}

fn corrected(correction: &Correction, reader: ReaderLanguage) -> CorrectionDiff {
    let (was, is) = marks::differing(&plain(&correction.original), &plain(&correction.corrected));
    CorrectionDiff { heading: labels::correction(correction.kind, correction.apply).of(reader), was, is }
}

/// Splits a justification at its citations and links them.
fn linked_pieces(words: &str, claim: &ClaimResult, id: &str) -> Vec<TextPiece> {
    let words = plain(words);
    let mut pieces: Vec<TextPiece> = Vec::new();
    let mut push = |text: &str, href: Option<String>| {
        if !text.is_empty() {
            pieces.push(TextPiece { text: text.to_owned(), href });
        }
    };
    let mut rest: &str = &words;
    while let Some((before, after)) = rest.split_once('[') {
        let cited = after.split_once(']').and_then(|(inside, behind)| Some((inside.parse::<u32>().ok()?, behind)));
        let known = cited.filter(|(n, _)| claim.evidence.iter().any(|row| row.n == *n));
        push(before, None);
        if let Some((n, behind)) = known {
            push(&format!("[{n}]"), Some(format!("#{id}-{n}")));
            rest = behind;
        } else {
            push("[", None);
            rest = after;
        }
    }
    push(rest, None);
    pieces
}

/// Passages with one stance; syndicated copies are grouped under the first.
fn rows(claim: &ClaimResult, stance: Stance, id: &str, sight: RenderContext<'_>) -> Vec<Row> {
    let reader = sight.reader;
    let mut rows: Vec<(&str, Row)> = Vec::new();
    for row in claim.evidence.iter().filter(|row| row.stance == stance) {
        match rows.iter_mut().find(|(group, _)| *group == row.independent_group) {
            Some((_, first)) => first.copies.push(copy(row, reader)),
            None => rows.push((&row.independent_group, shown(claim, row, id, sight))),
        }
    }
    let with_copies = |mut row: Row| {
        row.same_story = words("card.same_story", reader).replace("{n}", &row.copies.len().to_string());
        row
    };
    rows.into_iter().map(|(_, row)| with_copies(row)).collect()
}

fn shown(claim: &ClaimResult, row: &EvidenceRow, id: &str, sight: RenderContext<'_>) -> Row {
    let reader = sight.reader;
    let outlet = outlet(row, reader);
    let stars = (row.credibility * 5.0).round().clamp(0.0, 5.0) as usize;
    let second = row.llm_stance.filter(|stance| *stance != row.stance);
    Row {
        n: row.n,
        anchor: format!("{id}-{}", row.n),
        side: row.stance.as_str(),
        initial: outlet.chars().find(|c| c.is_alphanumeric()).map(|c| c.to_uppercase().to_string()).unwrap_or_default(),
        hue: outlet.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 4,
        outlet,
        day: day(row, reader),
        stars: "★".repeat(stars) + &"☆".repeat(5 - stars),
        credibility: reader.figure(row.credibility),
        believed: believed(row, sight),
        stance: labels::stance(row).of(reader),
        second_reading: second
            .map(|stance| format!("{}: {}", adjudicator(claim), stance_words(stance, reader)))
            .unwrap_or_default(),
        language: row.language.clone().unwrap_or_default(),
        passage: marks::shared(&claim.text, &plain(&row.passage), row.language.as_deref()),
        origin: words(origin_key(row), reader),
        href: href(row),
        place: plain(&labels::place(&row.url, reader)).into_owned(),
        same_story: String::new(),
        copies: Vec::new(),
    }
}

/// The rule that sets the outlet's credibility.
fn believed(row: &EvidenceRow, sight: RenderContext<'_>) -> String {
    let rule = web(&row.url).and_then(|url| sight.rules.rule_for(url.host_str()?).cloned());
    let Some(rule) = rule else { return words("believed.no_rule", sight.reader).to_owned() };
    let key = if rule.list == DomainList::Allow { "believed.allowed" } else { "believed.denied" };
    let kind = rule.source_type.map(|kind| format!(", {}", kind.as_str())).unwrap_or_default();
    format!("{}{kind}", words(key, sight.reader))
}

/// The name of the adjudicator, which reads passages in addition to the NLI model.
fn adjudicator(claim: &ClaimResult) -> &str {
    claim.judge.split('+').find(|part| part.contains("llm:") || part.contains("own:")).unwrap_or("llm")
}

fn stance_words(stance: Stance, reader: ReaderLanguage) -> &'static str {
    words(
        match stance {
            Stance::Supports => "stance.supports",
            Stance::Contradicts => "stance.contradicts",
            Stance::Neutral => "stance.neutral",
        },
        reader,
    )
}

fn origin_key(row: &EvidenceRow) -> &'static str {
    use crate::domain::verdict::Origin;
    match row.origin {
        Origin::Kb => "origin.kb",
        Origin::Web => "origin.web",
        Origin::FactCheck => "origin.fact_check",
        Origin::Corpus => "origin.corpus",
        Origin::Api => "origin.api",
        Origin::Database => "origin.database",
    }
}

fn copy(row: &EvidenceRow, reader: ReaderLanguage) -> Copy {
    Copy { outlet: outlet(row, reader), day: day(row, reader), href: href(row) }
}

fn outlet(row: &EvidenceRow, reader: ReaderLanguage) -> String {
    plain(&labels::domain(&row.domain, reader)).into_owned()
}

fn day(row: &EvidenceRow, reader: ReaderLanguage) -> String {
    let no_date = || labels::Phrase::NoDate.words().of(reader).to_owned();
    row.published_at.map_or_else(no_date, |date| date.format("%Y-%m-%d").to_string())
}

/// Link that opens the page at the passage; `None` if it is not a web page.
fn href(row: &EvidenceRow) -> Option<String> {
    let mut url = web(&row.url)?;
    let first: Vec<&str> = row.passage.split_whitespace().take(FRAGMENT_WORDS).collect();
    if url.fragment().is_none() && !first.is_empty() {
        let mut fragment = String::from(":~:text=");
        let _infallible = write!(fragment, "{}", utf8_percent_encode(&first.join(" "), FRAGMENT));
        url.set_fragment(Some(&fragment));
    }
    Some(url.into())
}

/// Parses an http or https address without user name and password.
pub(super) fn web(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    is_web.then_some(url)
}
