//! Measures grouping on real reprints and real independent reports: `tests/data/reports.tsv`.

use std::path::Path;

use super::super::samples::{context, passage};
use super::super::verdicts::assess;
use super::*;
use corroborate_domain::evidence::JudgedPassage;
use corroborate_domain::verdict::{Note, Tier, Verdict};

#[derive(Debug, Clone, PartialEq)]
struct Report {
    event: String,
    origin: String,
    site: String,
    text: String,
}

/// Columns: language, event, origin, address, licence, text.
fn reports() -> Vec<Report> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reports.tsv");
    let rows = std::fs::read_to_string(file).unwrap();
    rows.lines()
        .map(|line| {
            let [_, event, origin, site, _, text] =
                <[&str; 6]>::try_from(line.split('\t').collect::<Vec<_>>()).unwrap();
            Report { event: event.into(), origin: origin.into(), site: site.into(), text: text.into() }
        })
        .collect()
}

fn grouped(reports: &[Report]) -> Vec<String> {
    let sources: Vec<SourceText<'_>> = reports
        .iter()
        .map(|report| SourceText {
            evidence_id: &report.site,
            url: &report.site,
            domain: &report.site,
            text: &report.text,
            canonical: None,
            based_on: &[],
            publisher: None,
            reference_work: false,
        })
        .collect();
    groups(&sources)
}

#[test]
fn real_reprints_are_one_source_and_real_reports_of_one_event_are_not() {
    let reports = reports();
    let groups = grouped(&reports);
    let (mut copies, mut different) = (0, 0);
    for (index, (report, group)) in reports.iter().zip(&groups).enumerate() {
        for (other, other_group) in reports.iter().zip(&groups).take(index) {
            let is_copy = (&report.event, &report.origin) == (&other.event, &other.origin);
            assert_eq!(group == other_group, is_copy, "{} and {}", report.site, other.site);
            copies += usize::from(is_copy);
            different += usize::from(!is_copy && report.event == other.event);
        }
    }
    println!("reports: {copies} pairs of reprints met, {different} pairs of reports of one event apart");
    assert!(copies >= 10 && different >= 6, "{copies} {different}");
}

/// Four reprints are one source, and another author adds one.
#[test]
fn four_real_reprints_of_one_release_give_tier_medium_at_most() {
    let judged = |reports: &[Report]| {
        let supporting: Vec<JudgedPassage> = reports
            .iter()
            .zip(grouped(reports))
            .map(|(report, group)| JudgedPassage {
                independent_group: group,
                credibility: 0.7,
                ..passage(&report.site, 0.95, 0.02)
            })
            .collect();
        assess(&context(), &supporting, &[])
    };
    let of = |event: &str| -> Vec<Report> { reports().into_iter().filter(|report| report.event == event).collect() };
    let vaccine = of("vaccine");
    assert_eq!(vaccine.len(), 4);
    let found = judged(&vaccine);
    assert_eq!((found.verdict, found.tier, found.decisive), (Verdict::Supported, Tier::Medium, false));
    assert_eq!(found.notes, [Note::SingleSource]);
    let landing = judged(&of("mars-landing"));
    assert_eq!((landing.verdict, landing.tier), (Verdict::Supported, Tier::High), "a release, and another hand");
    assert_eq!(landing.features.agree_dom, 2);
}
