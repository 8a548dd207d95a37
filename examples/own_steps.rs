//! The pipeline with steps of your own: a harbour desk that writes its bulletins in one form, keeps a log, and knows best what
//! a figure in it means.
//!
//! ```sh
//! cargo run --example own_steps
//! ```
//!
//! Each of the three steps can be replaced alone. What they bring goes the usual way: a claim that its bulletin does not bear
//! out is thrown away, what the log says is read and judged by the model that ships as well, two entries of one log are one
//! source, and the desk's word alone makes no verdict firm.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use corroborate::app::{App, Purpose};
use corroborate::config::{LoadOptions, load};
use corroborate::domain::evidence::Adjudication;
use corroborate::domain::verdict::{ClaimKind, Stance};
use corroborate::domain::{Item, ItemResult};
use corroborate::inference::steps::{
    Adjudicator, ClaimAdjudication, ClaimData, ClaimExtractor, ExtractedClaim, Extraction, ItemData, StepError,
    TextData,
};
use corroborate::language::numbers::quantities;
use corroborate::pipeline::{Gatherers, Outcome, Request, Steps, run};
use corroborate::providers::Query;
use corroborate::providers::gatherer::{GatheredPage, Gatherer};
use futures::future::{BoxFuture, ready};
use serde_json::json;
use tokio::time::Instant;

/// A bulletin: a line for each harbour, who says so in brackets.
const BULLETIN: &str = "\
HARBOUR BULLETIN, Tuesday
* Velmora: 4200 tonnes of grain were shipped in October (port office)
* Osterik: 12 ships are waiting at the roads (pilots)";

/// The desk's own log: place, day, what was entered.
const LOG: [(&str, &str, &str); 2] = [
    (
        "Velmora",
        "2026-11-02",
        "The port of Velmora shipped 4200 tonnes of grain in October, the harbour master entered.",
    ),
    ("Osterik", "2026-11-24", "This morning 7 ships are waiting at the roads of Osterik, the harbour master entered."),
];

/// Claims: the rules that ship read prose; this form is the desk's own.
#[derive(Debug)]
struct Bulletins;

impl ClaimExtractor for Bulletins {
    fn name(&self) -> &'static str {
        "bulletins"
    }

    fn extract<'a>(
        &'a self,
        text: &'a TextData<'a>,
        _until: Instant,
    ) -> BoxFuture<'a, Result<Option<Extraction>, StepError>> {
        // Any other text is left to the rules.
        if !text.text.starts_with("HARBOUR BULLETIN") {
            return Box::pin(ready(Ok(None)));
        }
        let claims = text.text.lines().filter_map(|line| {
            let (place, told) = line.strip_prefix("* ")?.split_once(": ")?;
            let told = told.split(" (").next().unwrap_or(told);
            Some(ExtractedClaim {
                text: format!("In {place}, {told}."),
                kind: ClaimKind::Factual,
                entities: vec![place.to_owned()],
                why: Some("the harbour's log has it".to_owned()),
                worth: None,
            })
        });
        let extracted = Extraction { kind: Some(ClaimKind::Factual), claims: claims.collect() };
        Box::pin(ready(Ok(Some(extracted))))
    }
}

/// Evidence: the log. A real one would be a database or a service; an error would say that it could not be asked.
#[derive(Debug)]
struct HarbourLog;

impl Gatherer for HarbourLog {
    fn name(&self) -> &'static str {
        "harbour log"
    }

    fn gather<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<GatheredPage>, StepError>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for (place, day, text) in LOG {
                if query.text.contains(place) {
                    found.push(GatheredPage {
                        url: format!("log://harbour/{place}/{day}").parse()?,
                        title: format!("Log of {place}"),
                        text: Some(text.to_owned()),
                        published_at: Some(format!("{day}T08:00:00Z").parse()?),
                        credibility: Some(0.9),
                    });
                }
            }
            Ok(found)
        })
    }
}

/// Stances: a log entry with the bulletin's figure bears it out, one with another denies it.
#[derive(Debug)]
struct Figures;

impl Adjudicator for Figures {
    fn name(&self) -> &'static str {
        "figures"
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn adjudicate<'a>(
        &'a self,
        _item: &'a ItemData<'a>,
        claims: &'a [ClaimData<'a>],
        _until: Instant,
    ) -> BoxFuture<'a, Result<Option<Vec<ClaimAdjudication>>, StepError>> {
        let figures = |text: &str| quantities(text, Some("en")).iter().map(|one| one.low).collect::<Vec<f64>>();
        let said = claims.iter().map(|claim| {
            let stated = figures(claim.text);
            let place = LOG.iter().map(|(place, ..)| *place).find(|place| claim.text.contains(place));
            let stances = claim.passages.iter().map(|passage| {
                // An entry of another harbour says nothing of this one.
                let place = place?;
                let entered = figures(Some(passage.text).filter(|text| text.contains(place))?);
                // Without a figure on both sides nothing is said.
                let (one, other) = (stated.first()?, entered.first()?);
                let is_same = (one - other).abs() < 0.5;
                let stance = if is_same { Stance::Supports } else { Stance::Contradicts };
                Some(Adjudication { stance, elsewhere: false })
            });
            ClaimAdjudication { stances: stances.collect(), ..ClaimAdjudication::default() }
        });
        let said = said.collect();
        Box::pin(ready(Ok(Some(said))))
    }
}

/// The bulletin through the pipeline, in a store of its own in `folder`. Further settings as from the environment.
pub(crate) async fn enriched(
    folder: &std::path::Path,
    settings: &[(&str, &str)],
) -> Result<ItemResult, Box<dyn Error>> {
    let data_dir = ("CORROBORATE_DATA_DIR".to_owned(), folder.display().to_string());
    let further = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let config = load(LoadOptions { file: None, env: std::iter::once(data_dir).chain(further) })?.config;
    let steps = Steps {
        claims: Some(Arc::new(Bulletins)),
        gatherers: Gatherers::Instead(vec![Arc::new(HarbourLog)]),
        adjudicator: Some(Arc::new(Figures)),
    };
    let app = App::open_with_steps(Arc::new(config), Purpose::Check, steps).await?;
    let item: Item = serde_json::from_value(json!({
        "schema": 1,
        "item_id": "desk:1",
        "text": BULLETIN,
        "language": "en",
        "published_at": "2026-11-24T09:00:00Z",
    }))?;
    let done = run(&app.services, &Request::personal(item)).await;
    app.close().await?;
    match done? {
        Outcome::Done(result) => Ok(*result),
        Outcome::AlreadyDone { .. } | Outcome::Poorer(_) => {
            Err("this bulletin was done before: give it another folder".into())
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let result = enriched(folder.path(), &[]).await?;
    let mut out = std::io::stdout().lock();
    for claim in &result.claims {
        let how = if claim.decisive { "firm" } else { "not firm" };
        writeln!(out, "{}\n  {} ({how}), by {}", claim.text, claim.verdict, claim.judge)?;
        for row in &claim.evidence {
            writeln!(out, "  {} | {}", row.domain, row.passage)?;
        }
    }
    Ok(())
}
