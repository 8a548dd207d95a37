//! `rescore` judges stored items again with the current settings; `rejudge` queues them for a full run by a daemon.
//!
//! `rescore` calls no provider. Items that another run changes meanwhile are left unchanged.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;

use super::failure::Failure;
use super::output::{Colour, Output};
use crate::app::{self, AppError, OpenStore, Upkeep};
use crate::config::Config;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::{Tier, Verdict};
use crate::domain::{Clock as _, Reason, SystemClock};
use crate::judging::labels::{self, ReaderLanguage};
use crate::pipeline::rescore::{RescoredItem, Terms, judge_again};
use crate::store::StoreError;

const BATCH: i64 = 100;
/// `--json` prints all.
const MOST_SHOWN: usize = 200;

#[derive(Debug, Default, Serialize)]
struct Tally {
    items: u64,
    changed: u64,
    /// Another run judged or removed these items meanwhile.
    overtaken: u64,
    /// Unchanged for another reason.
    left: Vec<Left>,
    changes: Vec<Change>,
}

#[derive(Debug, Serialize)]
struct Left {
    item_id: String,
    why: String,
}

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
    let opened = open(config).await?;
    let mut tally = Tally::default();
    let done = pass(config, &opened, since, dry_run, output, &mut tally).await;
    let closed = opened.close().await;
    // Writes before a failure are reported. Without writes do not print "nothing to do".
    if done.is_ok() || tally.items > 0 || !tally.left.is_empty() {
        tally.show(dry_run, done.is_ok(), output)?;
    }
    done?;
    closed?;
    match tally.left.len() {
        0 => Ok(()),
        count => Err(Failure::failed(format!("{count} item(s) were left as they are; see above"))),
    }
}

/// Queues items for a full run.
pub(super) async fn request(config: &Config, since: Option<DateTime<Utc>>, output: Output) -> Result<(), Failure> {
    let opened = open(config).await?;
    let queued = opened.store.request_rejudging(since).await;
    let closed = opened.close().await;
    let queued = queued?;
    closed?;
    if output.json {
        return output.value(&json!({ "queued": queued }));
    }
    output.text(&format!("{queued} item(s) queued for re-evaluation by a running daemon\n"))
}

async fn open(config: &Config) -> Result<OpenStore, Failure> {
    OpenStore::open(config, Upkeep::Command).await.map_err(|error| match error {
        AppError::DataFolderBusy { .. } => Failure::unavailable(format!(
            "{error}; stop it and run this again, or keep the data in a Postgres that both reach"
        )),
        other => other.into(),
    })
}

async fn pass(
    config: &Config,
    opened: &OpenStore,
    since: Option<DateTime<Utc>>,
    dry_run: bool,
    output: Output,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let store = &opened.store;
    let terms: Terms = app::rescore_terms(config, store).await?;
    let bar = output.progress(u64::try_from(store.judged_count(since).await?).unwrap_or(0));
    let mut after = String::new();
    loop {
        let page = store.judgements(since, &after, BATCH).await?;
        let Some(last) = page.last else { break };
        after = last;
        bar.inc((page.read.len() + page.unreadable.len()) as u64);
        for (item_id, error) in page.unreadable {
            tally.left.push(Left { item_id, why: error.to_string() });
        }
        for stored in &page.read {
            tally.items += 1;
            let Some(rescored) = judge_again(stored, &terms) else { continue };
            match rescored.write(store, stored, (Reason::Settings, &terms), SystemClock.now(), dry_run).await {
                Ok(true) => tally.take(&rescored),
                Ok(false) => tally.overtaken += 1,
                Err(error @ StoreError::NoEvidence { .. }) => {
                    tally.left.push(Left { item_id: stored.result.item_id.clone(), why: error.to_string() });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

impl Tally {
    fn show(&self, dry_run: bool, complete: bool, output: Output) -> Result<(), Failure> {
        if !output.json {
            return output.text(&self.text(dry_run, output));
        }
        let mut value = serde_json::to_value(self)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("dry_run".to_owned(), json!(dry_run));
            object.insert("complete".to_owned(), json!(complete));
        }
        output.value(&value)
    }

    fn take(&mut self, rescored: &RescoredItem) {
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
            let _infallible = writeln!(
                text,
                "{count:>6}  {} → {}",
                labels::verdict(before).of(ReaderLanguage::English),
                labels::verdict(after).of(ReaderLanguage::English)
            );
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
        for Left { item_id, why } in &self.left {
            let _infallible = writeln!(text, "{}  left as it is: {why}", output.paint(item_id, Colour::Bold));
        }
        text
    }
}

fn told(figures: &Figures) -> String {
    let Figures { verdict, decisive, tier, score, confidence } = figures;
    let score = score.map_or_else(|| "–".to_owned(), |score| score.to_string());
    let decisive = if *decisive { ", conclusive" } else { "" };
    let verdict = labels::verdict(*verdict).of(ReaderLanguage::English);
    format!("{verdict} (corroboration {tier}, support {score}, confidence {confidence:.2}{decisive})")
}
