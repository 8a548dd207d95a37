//! `rescore`: stored items judged again by today's settings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;

use super::failure::Failure;
use super::output::{Colour, Output};
use super::reach::{self, Reach};
use crate::app::{self, OpenStore};
use crate::config::Config;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::{Tier, Verdict};
use crate::pipeline::rescore::{Rescored, Terms, judge_again};
use crate::store::Rejudged;

/// Items read at once.
const BATCH: i64 = 100;
/// Changes that are shown one by one to a person; `--json` has all.
const MOST_SHOWN: usize = 200;

/// What happened.
#[derive(Debug, Default, Serialize)]
struct Tally {
    /// Items judged again.
    items: u64,
    /// Those of which something changed.
    changed: u64,
    /// Those that were judged anew, or removed, while this ran: left as they are.
    overtaken: u64,
    changes: Vec<Change>,
}

/// One claim that changed.
#[derive(Debug, Serialize)]
struct Change {
    item_id: String,
    claim_id: String,
    claim: String,
    before: Figures,
    after: Figures,
}

#[derive(Debug, Serialize, PartialEq)]
struct Figures {
    verdict: Verdict,
    decisive: bool,
    tier: Tier,
    score: Option<u32>,
    confidence: f64,
}

impl From<&ClaimResult> for Figures {
    fn from(claim: &ClaimResult) -> Self {
        let ClaimResult { verdict, decisive, tier, score, confidence, .. } = claim;
        Self { verdict: *verdict, decisive: *decisive, tier: *tier, score: *score, confidence: *confidence }
    }
}

pub(super) async fn run(
    config: &Config,
    since: Option<DateTime<Utc>>,
    dry_run: bool,
    output: Output,
) -> Result<(), Failure> {
    let opened = match reach::store(config).await? {
        Reach::Here(opened) => opened,
        Reach::Daemon(_) => {
            return Err(Failure::unavailable(
                "a daemon holds the embedded store; stop it and run this again, or keep the data in a Postgres that both reach",
            ));
        }
    };
    let done = pass(config, &opened, since, dry_run, output).await;
    opened.close().await?;
    let tally = done?;
    if output.json {
        let mut value = serde_json::to_value(&tally)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("dry_run".to_owned(), json!(dry_run));
        }
        return output.value(&value);
    }
    output.text(&tally.text(dry_run, output))
}

async fn pass(
    config: &Config,
    opened: &OpenStore,
    since: Option<DateTime<Utc>>,
    dry_run: bool,
    output: Output,
) -> Result<Tally, Failure> {
    let store = &opened.store;
    let terms: Terms = app::rescore_terms(config, store).await?;
    let bar = output.progress(u64::try_from(store.judged_count(since).await?).unwrap_or(0));
    let (mut tally, mut after) = (Tally::default(), String::new());
    loop {
        let batch = store.judgements(since, &after, BATCH).await?;
        let Some(last) = batch.last() else { break };
        after.clone_from(&last.result.item_id);
        for stored in &batch {
            tally.items += 1;
            let Some(rescored) = judge_again(stored, &terms) else { continue };
            let rows: Vec<Rejudged<'_>> =
                rescored.claims.iter().map(|one| Rejudged { claim: &one.after, passages: &one.passages }).collect();
            if dry_run || store.write_rejudged(&rescored.result, stored.evaluated_at, &rows).await? {
                tally.take(&rescored);
            } else {
                tally.overtaken += 1;
            }
        }
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    Ok(tally)
}

impl Tally {
    fn take(&mut self, rescored: &Rescored) {
        self.changed += 1;
        self.changes.extend(rescored.claims.iter().map(|claim| Change {
            item_id: rescored.result.item_id.clone(),
            claim_id: claim.after.claim_id.clone(),
            claim: claim.after.text.clone(),
            before: Figures::from(&claim.before),
            after: Figures::from(&claim.after),
        }));
    }

    fn text(&self, dry_run: bool, output: Output) -> String {
        let mut text = String::new();
        for change in self.changes.iter().take(MOST_SHOWN) {
            // Writing to a String cannot fail.
            let _infallible = writeln!(
                text,
                "{}  {}\n    {} → {}",
                output.paint(&change.item_id, Colour::Bold),
                change.claim,
                told(&change.before),
                told(&change.after)
            );
        }
        if self.changes.len() > MOST_SHOWN {
            let _infallible = writeln!(text, "… and {} more; --json has all", self.changes.len() - MOST_SHOWN);
        }
        let mut moved: BTreeMap<(Verdict, Verdict), usize> = BTreeMap::new();
        for change in self.changes.iter().filter(|change| change.before.verdict != change.after.verdict) {
            *moved.entry((change.before.verdict, change.after.verdict)).or_default() += 1;
        }
        for ((before, after), count) in moved {
            let _infallible = writeln!(text, "{count:>6}  {before} → {after}");
        }
        let word = if dry_run { "would change" } else { "changed" };
        let _infallible = writeln!(
            text,
            "{} item(s) judged again, {} of them {word} in {} claim(s)",
            self.items,
            self.changed,
            self.changes.len()
        );
        if self.overtaken > 0 {
            let _infallible =
                writeln!(text, "{} item(s) were judged anew meanwhile and left as they are", self.overtaken);
        }
        text
    }
}

fn told(figures: &Figures) -> String {
    let Figures { verdict, decisive, tier, score, confidence } = figures;
    let score = score.map_or_else(|| "–".to_owned(), |score| score.to_string());
    let decisive = if *decisive { ", decisive" } else { "" };
    format!("{verdict} ({tier}, score {score}, confidence {confidence:.2}{decisive})")
}
