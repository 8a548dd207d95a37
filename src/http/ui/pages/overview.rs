//! The page of the last day.
//!
//! Its figures are those of `/api/overview`.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::super::card::look;
use super::super::chart::{Chart, HOURS, hour_of, stacked};
use super::super::chrome::Page;
use super::super::shown;
use crate::domain::verdict::{Tier, Verdict};
use crate::http::App;
use crate::http::problem::Problem;
use crate::http::routes::overview::{AtWork, Overview, recent};
use crate::judging::labels;

#[derive(Debug, Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    page: Page,
    total: i64,
    firm: i64,
    chart: Chart,
    verdicts: Vec<Count>,
    tiers: Vec<Count>,
    gaps: Vec<Count>,
    stated: Vec<ReliabilityBin>,
    models: Vec<(&'static str, String)>,
    languages: Vec<(&'static str, &'static str)>,
}

#[derive(Debug)]
struct Count {
    class: &'static str,
    name: String,
    items: i64,
    firm: i64,
}

pub(crate) async fn show(State(app): State<App>, page: Page) -> Result<Response, Problem> {
    let overview = recent(&app).await?;
    let now = app.services.clock.now();
    let (total, firm) = overview
        .answers
        .iter()
        .fold((0, 0), |(all, firm), row| (all + row.items, firm + if row.decisive { row.items } else { 0 }));
    let of_hours = hours(&overview, &page, |moment| hour_of(moment, now));
    shown(&OverviewPage {
        total,
        firm,
        chart: stacked(&of_hours),
        verdicts: verdicts(&overview, &page),
        tiers: tiers(&overview, &page),
        gaps: gaps(&overview, &page),
        stated: bins(),
        models: models(&overview.models, &page),
        languages: overview.models.languages.iter().map(|one| (one.language, page.t(read_by(one.by)))).collect(),
        page,
    })
}

fn hours(
    overview: &Overview,
    page: &Page,
    place: impl Fn(chrono::DateTime<chrono::Utc>) -> Option<usize>,
) -> Vec<Vec<(&'static str, i64, String)>> {
    let mut counts: Vec<BTreeMap<&'static str, i64>> = vec![BTreeMap::new(); HOURS];
    for row in &overview.answers {
        if let Some(hour) = place(row.hour).and_then(|at| counts.get_mut(at)) {
            *hour.entry(look(verdict_of(row.verdict.as_deref())).0).or_default() += row.items;
        }
    }
    let name = |class: &str| match class {
        "for" => labels::verdict(Verdict::Supported),
        "against" => labels::verdict(Verdict::Refuted),
        "mixed" => labels::verdict(Verdict::Misleading),
        _ => labels::verdict(Verdict::NotEnoughEvidence),
    };
    let part =
        |(class, count): (&'static str, i64)| (class, count, format!("{}: {count}", name(class).of(page.reader)));
    counts.into_iter().map(|hour| hour.into_iter().map(part).collect()).collect()
}

fn verdict_of(word: Option<&str>) -> Verdict {
    word.and_then(Verdict::parse).unwrap_or(Verdict::NotVerifiable)
}

fn verdicts(overview: &Overview, page: &Page) -> Vec<Count> {
    let of = |verdict: Verdict| {
        let rows = || overview.answers.iter().filter(move |row| verdict_of(row.verdict.as_deref()) == verdict);
        Count {
            class: look(verdict).0,
            name: labels::verdict(verdict).of(page.reader).to_owned(),
            items: rows().map(|row| row.items).sum(),
            firm: rows().filter(|row| row.decisive).map(|row| row.items).sum(),
        }
    };
    Verdict::ALL.iter().map(|verdict| of(*verdict)).filter(|count| count.items > 0).collect()
}

fn tiers(overview: &Overview, page: &Page) -> Vec<Count> {
    let of = |tier: Tier| Count {
        class: "open",
        name: labels::tier(tier).of(page.reader).to_owned(),
        items: overview
            .answers
            .iter()
            .filter(|row| row.tier.as_deref() == Some(tier.as_str()))
            .map(|row| row.items)
            .sum(),
        firm: 0,
    };
    Tier::ALL.iter().map(|tier| of(*tier)).collect()
}

fn gaps(overview: &Overview, page: &Page) -> Vec<Count> {
    let of = |gap: &crate::store::CauseCount| Count {
        class: "mixed",
        name: labels::cause(&gap.cause, page.reader),
        items: gap.items,
        firm: 0,
    };
    overview.gaps.iter().map(of).collect()
}

fn models(models: &AtWork, page: &Page) -> Vec<(&'static str, String)> {
    let parts = [
        ("part.stance", Some(&models.stance)),
        ("part.embedder", Some(&models.embedder)),
        ("part.reranker", Some(&models.reranker)),
        ("part.translator", models.translator.as_ref()),
        ("part.language_model", models.language_model.as_ref()),
    ];
    parts.into_iter().filter_map(|(key, name)| Some((page.t(key), name?.clone()))).collect()
}

fn read_by(by: &str) -> &'static str {
    match by {
        "model" => "overview.by_model",
        "translated" => "overview.by_translation",
        _ => "overview.by_words",
    }
}

/// How often answers with the same stated confidence were right, on held-out labelled claims.
const TABLE: &str = include_str!("../reliability.tsv");

#[derive(Debug, Clone, PartialEq)]
struct ReliabilityBin {
    /// Stated confidence, percent.
    from: u32,
    to: u32,
    answers: u32,
    /// Percent.
    mean: u32,
    right: u32,
}

/// The table, from low to high confidence.
fn bins() -> Vec<ReliabilityBin> {
    let line = |line: &str| {
        let mut fields = line.split('\t').map(|field| field.parse::<u32>().ok());
        let mut next = || fields.next().flatten();
        Some(ReliabilityBin { from: next()?, to: next()?, answers: next()?, mean: next()?, right: next()? })
    };
    TABLE.lines().filter(|text| !text.starts_with('#')).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let bins = bins();
        assert_eq!(bins.len(), lines);
        assert!(lines > 2);
        assert!(bins.iter().all(|one| one.from < one.to && one.to <= 100 && one.right <= 100 && one.answers > 0));
    }
}
