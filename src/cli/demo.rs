//! `demo`: runs the recorded items and shows their results.
//!
//! It uses no network and a store of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::card;
use super::failure::Failure;
use super::output::{Colour, Output};
use super::render;
use crate::app::demo::{self, DemoItem, DemoReport};
use crate::app::demo_data;
use crate::config::Config;
use crate::domain::verdict::ClaimKind;
use crate::domain::{ItemResult, Tier, Verdict};
use crate::judging::labels::{self, ReaderLanguage};
use crate::judging::vocabularies::Vocabulary;

const LINE_CHARS: usize = 100;

/// Shows one item per kind of result, or all items with `full`.
pub(super) async fn run(config: &Config, full: bool, output: Output) -> Result<(), Failure> {
    output
        .hint("corroborate demo: recorded items, recorded answers, an embedded database; nothing leaves this machine.");
    let bar = output.progress(0);
    // The configuration would nearly fill a stack frame.
    let report = Box::pin(demo::run(config, |done, of| {
        bar.set_length(u64::try_from(of).unwrap_or(0));
        bar.set_position(u64::try_from(done).unwrap_or(0));
    }))
    .await;
    bar.finish_and_clear();
    let report = report?;
    if output.json {
        let results: Vec<_> = report.items.iter().map(|one| &one.result).collect();
        return output.value(&results);
    }
    let mut text = if full { whole(&report, output) } else { kinds(&report, output) };
    text.push_str(&summary(&report, output));
    output.text(&text)
}

fn whole(report: &DemoReport, output: Output) -> String {
    let mut text = String::new();
    let made: BTreeMap<String, String> =
        demo_data::provenance().into_iter().map(|row| (row.item_id.clone(), origin_line(&row))).collect();
    for (number, one) in report.items.iter().enumerate() {
        let _infallible =
            write!(text, "\n{}", output.paint(&format!("── {} of {} ", number + 1, report.items.len()), Colour::Dim));
        text.push_str(&render::result(&one.result, Vocabulary::Ours, output));
        if let Some(made) = made.get(&one.item.item_id) {
            let _infallible =
                writeln!(text, "   {}", output.paint(&format!("Where this item comes from: {made}"), Colour::Dim));
        }
    }
    text
}

type KindTest = fn(&ItemResult) -> bool;

/// With their meaning for an editor.
const KINDS: [(&str, &str, KindTest); 10] = [
    (
        "A finding for the claim",
        "Independent sources, or a fact-checker, say so. Open one before you print it.",
        |of| is(of, Verdict::Supported, true),
    ),
    ("A lean for the claim", "Some source says so, and too little to act on. Use it to know where to look.", |of| {
        is(of, Verdict::Supported, false) && !of.contradiction
    }),
    (
        "A finding against the claim",
        "Sources or a fact-checker say the opposite. Read them, then do not repeat the claim.",
        |of| is(of, Verdict::Refuted, true),
    ),
    ("A lean against the claim", "A source says otherwise. Ask for a second one before you correct anybody.", |of| {
        is(of, Verdict::Refuted, false)
    }),
    (
        "Misleading",
        "True in part, or of another time or place. What is missing matters more than what is said.",
        |of| is(of, Verdict::Misleading, true) || is(of, Verdict::Misleading, false),
    ),
    ("Sources differ", "Both sides are told. Name both, or wait.", |of| is(of, Verdict::Contested, false)),
    ("Not enough evidence", "Something was found and takes no clear side. It is not \"false\".", |of| {
        is(of, Verdict::NotEnoughEvidence, false) && has_passages(of) && of.degraded.is_empty()
    }),
    ("Nothing found", "Everybody was asked and nobody reports it, as far as we can see.", |of| {
        is(of, Verdict::NotEnoughEvidence, false) && !has_passages(of) && of.degraded.is_empty() && is_plain(of)
    }),
    (
        "Not everything could be asked",
        "A source was away. That does not mean that nobody reports it: ask again.",
        |of| !of.degraded.is_empty(),
    ),
    ("Nothing to check", "An opinion, a question, a forecast: there is no fact in it to look up.", |of| {
        is(of, Verdict::NotVerifiable, false)
    }),
];

fn is(of: &ItemResult, verdict: Verdict, decisive: bool) -> bool {
    of.main_claim().is_some_and(|claim| claim.verdict == verdict && claim.decisive == decisive)
}

fn is_plain(of: &ItemResult) -> bool {
    of.main_claim().is_some_and(|claim| claim.kind == ClaimKind::Factual)
}

fn has_passages(of: &ItemResult) -> bool {
    of.claims.iter().any(|claim| !claim.evidence.is_empty())
}

/// Prints three lines per kind: claim, result, meaning.
fn kinds(report: &DemoReport, output: Output) -> String {
    let mut text = String::new();
    for (kind, means, is_of_kind) in KINDS {
        let Some(found) = report.items.iter().find(|one| is_of_kind(&one.result)) else { continue };
        let _infallible = writeln!(text, "\n{}  {means}", output.paint(&format!("{kind}."), Colour::Bold));
        let reader = ReaderLanguage::of(found.result.language.as_deref());
        let Some(claim) = found.result.main_claim() else { continue };
        let _infallible = writeln!(text, "  {}", card::headline(claim, Vocabulary::Ours, reader, output));
        let _infallible = writeln!(text, "  {}", card::line(&claim.text, LINE_CHARS));
        if !claim.justification.is_empty() {
            let _infallible =
                writeln!(text, "  {}", output.paint(&card::line(&claim.justification, LINE_CHARS), Colour::Dim));
        }
    }
    text
}

fn origin_line(row: &demo_data::Provenance) -> String {
    let origin = &row.origin;
    let label = origin.label.as_deref().map(|label| format!(", labelled {label} there")).unwrap_or_default();
    let made = row.made.replace('_', " ");
    format!("{} {} ({}), {made} text{label}", origin.dataset, origin.id, origin.licence)
}

fn summary(report: &DemoReport, output: Output) -> String {
    let mut text = String::new();
    let reused = report.items.iter().filter(|one| one.reused).count();
    let heading = output.paint("Summary", Colour::Bold);
    let _infallible = writeln!(text, "\n{heading}");
    let count = |wanted: &dyn Fn(&DemoItem) -> bool| report.items.iter().filter(|one| wanted(one)).count();
    for verdict in Verdict::ALL {
        let is = |one: &DemoItem| one.result.main_claim().is_some_and(|claim| claim.verdict == *verdict);
        let decisive = |one: &DemoItem| is(one) && one.result.main_claim().is_some_and(|claim| claim.decisive);
        let word = labels::verdict(*verdict).of(ReaderLanguage::English).to_lowercase();
        let _infallible = writeln!(text, "  {word:<22}{:>3}   conclusive {:>2}", count(&is), count(&decisive));
    }
    let tiers: Vec<String> =
        Tier::ALL.iter().map(|tier| format!("{tier} {}", count(&|one| one.result.tier == Some(*tier)))).collect();
    let degraded = count(&|one| !one.result.degraded.is_empty());
    let fact_checked = count(&|one| !one.result.fact_checks.is_empty());
    let _infallible = write!(
        text,
        "  corroboration: {}\n  not everything could be asked: {degraded}   with a related fact-check: {fact_checked}\n",
        tiers.join(", "),
    );
    let _infallible = writeln!(
        text,
        "\n{} items in {:.1} s: {} judged now, {reused} stored by an earlier run and used again.",
        report.items.len(),
        report.took.as_secs_f64(),
        report.items.len() - reused,
    );
    text.push_str(
        "The items were picked to show every kind of answer, so shares of verdicts here are no measure of accuracy.\n\
         Verdicts are confidence signals with their sources, not certificates of truth.\n\n",
    );
    let folder = report.folder.display();
    let _infallible = write!(
        text,
        "How to go on (the program is target/release/corroborate; `cargo install --locked --path .` puts it on your PATH):\n  \
         corroborate demo --full         every item with its passages\n  \
         corroborate ui --demo           the same on a page\n  \
         corroborate check \"<claim>\"     look one claim up (GDELT needs no key; set others by environment)\n  \
         corroborate serve               the daemon; upstream puts items on its queue\n  \
         corroborate doctor              what is configured and what is missing\n  \
         rm -r {folder}   removes what the demo stored\n",
    );
    text
}
