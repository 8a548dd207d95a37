//! `demo`: the main job, shown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::failure::Failure;
use super::output::{Colour, Output};
use super::render;
use crate::app::demo::{self, DemoItem, DemoReport};
use crate::app::demo_data;
use crate::config::Config;
use crate::domain::{Tier, Verdict};
use crate::judging::labels::{self, ReaderLanguage};
use crate::judging::vocabularies::Vocabulary;

pub(super) async fn run(config: &Config, output: Output) -> Result<(), Failure> {
    output
        .hint("corroborate demo: recorded items, recorded answers, an embedded database; nothing leaves this machine.");
    let bar = output.progress(0);
    // On the heap: the configuration alone takes much of what a stack frame should.
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
    let mut text = String::new();
    let made: BTreeMap<String, String> =
        demo_data::provenance().into_iter().map(|row| (row.item_id.clone(), said(&row))).collect();
    for (number, one) in report.items.iter().enumerate() {
        let _infallible =
            write!(text, "\n{}", output.paint(&format!("── {} of {} ", number + 1, report.items.len()), Colour::Dim));
        text.push_str(&render::result(&one.result, Vocabulary::Ours, output));
        if let Some(made) = made.get(&one.item.item_id) {
            let _infallible =
                writeln!(text, "   {}", output.paint(&format!("Where this item comes from: {made}"), Colour::Dim));
        }
    }
    text.push_str(&summary(&report, output));
    output.text(&text)
}

/// Where an item's text comes from, and what was done to it.
fn said(row: &demo_data::Provenance) -> String {
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
        let _infallible = writeln!(text, "  {word:<22}{:>3}   decisive {:>2}", count(&is), count(&decisive));
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
        "How to go on (the program is target/release/corroborate; `cargo install --path .` puts it on your PATH):\n  \
         corroborate check \"<claim>\"     look one claim up (GDELT needs no key; set others by environment)\n  \
         corroborate serve               the daemon; upstream puts items on its queue\n  \
         corroborate doctor              what is configured and what is missing\n  \
         rm -r {folder}   removes what the demo stored\n",
    );
    text
}
