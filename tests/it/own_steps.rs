//! The pipeline with steps that are not ours: the example of the library, run, and steps that fail. In embedded mode.
#![cfg(test)]

use std::sync::Arc;
use std::time::Duration;

use corroborate::app::{App, Purpose};
use corroborate::config::{LoadOptions, load};
use corroborate::domain::verdict::{Stance, Verdict};
use corroborate::domain::{Item, ItemResult};
use corroborate::inference::steps::{
    Adjudicator, ClaimAdjudication, ClaimData, ClaimExtractor, Extraction, ItemData, StepError, TextData,
};
use corroborate::pipeline::{Gatherers, Outcome, Request, Steps, run};
use corroborate::providers::Query;
use corroborate::providers::gatherer::{GatheredPage, Gatherer};
use futures::future::{BoxFuture, pending, ready};
use serde_json::json;
use tokio::time::Instant;

#[expect(dead_code, reason = "its main is run by hand")]
#[path = "../../examples/own_steps.rs"]
mod example;

/// What is quick and moves with no weights.
const SETTINGS: [(&str, &str); 3] =
    [("INFERENCE_EMBEDDER", "hashed"), ("INFERENCE_STANCE", "rules"), ("INFERENCE_RERANKER", "lexical")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_takes_claims_gathers_evidence_and_adjudicates_by_its_own_steps() {
    let folder = tempfile::tempdir().unwrap();
    let result = example::enriched(folder.path(), &SETTINGS).await.unwrap();
    let told: Vec<(&str, Verdict)> = result.claims.iter().map(|one| (one.text.as_str(), one.verdict)).collect();
    assert_eq!(
        told,
        [
            (
                "In Velmora, 4200 tonnes of grain were shipped in October. (written on 24 November 2026)",
                Verdict::Supported
            ),
            ("In Osterik, 12 ships are waiting at the roads.", Verdict::Refuted),
        ],
        "{result:#?}"
    );
    for claim in &result.claims {
        assert_eq!(claim.judge, "rules+own:figures");
        assert!(!claim.decisive, "one log, and an adjudicator that nobody bears out: {claim:#?}");
        let [row] = claim.evidence.as_slice() else { panic!("one entry each: {claim:#?}") };
        assert!(row.llm_stance.is_some_and(|stance| stance != Stance::Neutral), "{row:#?}");
        assert_eq!((row.provider.as_str(), row.domain.as_str()), ("gatherer", "log:harbour"));
    }
    assert!(result.degraded.is_empty(), "{:?}", result.degraded);
}

/// A step that fails, or never answers.
#[derive(Debug, Clone, Copy)]
enum Failing {
    AtOnce,
    Never,
}

impl Failing {
    fn fails<'a, T: Send + 'a>(self) -> BoxFuture<'a, Result<T, StepError>> {
        match self {
            Self::AtOnce => Box::pin(ready(Err("the desk is closed".into()))),
            Self::Never => Box::pin(pending()),
        }
    }
}

impl ClaimExtractor for Failing {
    fn name(&self) -> &'static str {
        "desk"
    }

    fn extract<'a>(&'a self, _: &'a TextData<'a>, _: Instant) -> BoxFuture<'a, Result<Option<Extraction>, StepError>> {
        self.fails()
    }
}

impl Gatherer for Failing {
    fn name(&self) -> &'static str {
        "archive"
    }

    fn gather<'a>(&'a self, _: &'a Query) -> BoxFuture<'a, Result<Vec<GatheredPage>, StepError>> {
        self.fails()
    }
}

impl Adjudicator for Failing {
    fn name(&self) -> &'static str {
        "reader"
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn adjudicate<'a>(
        &'a self,
        _: &'a ItemData<'a>,
        _: &'a [ClaimData<'a>],
        _: Instant,
    ) -> BoxFuture<'a, Result<Option<Vec<ClaimAdjudication>>, StepError>> {
        self.fails()
    }
}

/// One entry, whatever is asked.
#[derive(Debug)]
struct OneEntry;

impl Gatherer for OneEntry {
    fn name(&self) -> &'static str {
        "log"
    }

    fn gather<'a>(&'a self, _: &'a Query) -> BoxFuture<'a, Result<Vec<GatheredPage>, StepError>> {
        let entry = GatheredPage {
            url: "log://harbour/1".parse().unwrap(),
            title: "Log".to_owned(),
            text: Some("The port of Velmora shipped 4200 tonnes of grain in October.".to_owned()),
            published_at: None,
            credibility: None,
        };
        Box::pin(ready(Ok(vec![entry])))
    }
}

async fn of(steps: Steps) -> ItemResult {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = ("CORROBORATE_DATA_DIR".to_owned(), folder.path().display().to_string());
    let further = SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let config = load(LoadOptions { file: None, env: std::iter::once(data_dir).chain(further) }).unwrap().config;
    let app = App::open_with_steps(Arc::new(config), Purpose::Check, steps).await.unwrap();
    let item: Item = serde_json::from_value(json!({
        "schema": 1, "item_id": "desk:1", "language": "en",
        "text": "The port of Velmora shipped 4200 tonnes of grain in October, the harbour master says.",
        "options": {"max_seconds": 6},
    }))
    .unwrap();
    let done = run(&app.services, &Request::personal(item)).await;
    app.close().await.unwrap();
    match done.unwrap() {
        Outcome::Done(result) => *result,
        Outcome::AlreadyDone { .. } | Outcome::Poorer(_) => panic!("it was never done before"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_steps_fail_or_hang_the_item_goes_on_by_rules_and_names_each() {
    for failing in [Failing::AtOnce, Failing::Never] {
        let result = of(Steps {
            claims: Some(Arc::new(failing)),
            gatherers: Gatherers::Instead(vec![Arc::new(OneEntry)]),
            adjudicator: Some(Arc::new(failing)),
        })
        .await;
        assert_eq!(result.degraded, ["model_failed:desk", "model_failed:reader"], "{failing:?}: {result:#?}");
        let claim = result.main_claim().unwrap();
        assert_eq!((claim.judge.as_str(), claim.evidence.len()), ("rules", 1), "{failing:?}: {claim:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_could_not_be_asked_is_never_one_that_knows_nothing() {
    for failing in [Failing::AtOnce, Failing::Never] {
        let result = of(Steps { gatherers: Gatherers::Instead(vec![Arc::new(failing)]), ..Steps::default() }).await;
        assert!(result.degraded.iter().any(|cause| cause.contains("gatherer") || cause == "deadline"), "{result:#?}");
        assert_eq!(result.main_claim().unwrap().verdict, Verdict::NotEnoughEvidence);
    }
}
