//! The labelled claims: the file's rows with a stance for each passage.

use std::io::BufRead as _;
use std::path::Path;

use anyhow::Context as _;
use chrono::{DateTime, NaiveDate, Utc};
use corroborate::domain::verdict::Stance;
use corroborate::pipeline::given::{GivenClaim, GivenText};
use serde::Deserialize;
use url::Url;

/// A claim with people's verdict, and their stance of each of its passages.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) set: String,
    pub(crate) label: String,
    pub(crate) given: GivenClaim,
    /// In the order of the passages.
    pub(crate) stances: Vec<Stance>,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    set: String,
    claim: String,
    #[serde(default)]
    claim_date: Option<NaiveDate>,
    label: String,
    evidence: Vec<Passage>,
    stances: Vec<String>,
}

#[derive(Deserialize)]
struct Passage {
    text: String,
    url: Url,
    published_at: Option<DateTime<Utc>>,
}

/// Every row of the file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Row>> {
    let file = std::fs::File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    std::io::BufReader::new(file).lines().map(|line| row(&line?)).collect()
}

fn row(line: &str) -> anyhow::Result<Row> {
    let Line { id, set, claim, claim_date, label, evidence, stances } = serde_json::from_str(line)?;
    anyhow::ensure!(
        evidence.len() == stances.len(),
        "{id} has {} passages and {} stances",
        evidence.len(),
        stances.len()
    );
    let stances = stances.iter().map(|word| match word.as_str() {
        "support" => Ok(Stance::Supports),
        "contradict" => Ok(Stance::Contradicts),
        "neutral" => Ok(Stance::Neutral),
        other => anyhow::bail!("{id} has the stance {other:?}"),
    });
    let stances = stances.collect::<anyhow::Result<Vec<Stance>>>()?;
    let text = |one: Passage| GivenText { text: one.text, url: Some(one.url), published_at: one.published_at };
    let date = claim_date.and_then(|day| day.and_hms_opt(12, 0, 0)).map(|moment| moment.and_utc());
    let given = GivenClaim { id, text: claim, date, evidence: evidence.into_iter().map(text).collect() };
    Ok(Row { set, label, given, stances })
}

/// The sets by name, in the order of the file.
pub(crate) fn sets(rows: &[Row]) -> Vec<String> {
    let mut sets: Vec<String> = rows.iter().map(|row| row.set.clone()).collect();
    sets.dedup();
    sets
}
