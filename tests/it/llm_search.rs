//! The language model's own web search: asked where the providers brought nothing that takes a side, and believed in nothing:
//! the pages it cites are read and judged like any other.
#![cfg(all(test, feature = "embedded"))]

use serde_json::{Value, json};

use crate::support::app::environment;
use crate::support::daemon::finish;
use crate::support::simulator::{Fault, LLM_KEY, LLM_MODEL, MapWorld, Script, Simulator, Target};
use crate::support::stories::{self, TOLD, TOLD_PAGES};

/// The world with its pages, of which no search provider knows any.
fn unfound() -> MapWorld {
    MapWorld { searches: Vec::new(), ..stories::world() }
}

struct Home {
    simulator: Simulator,
    environment: Vec<(String, String)>,
    _folder: tempfile::TempDir,
}

impl Home {
    async fn new(world: MapWorld) -> Self {
        let simulator = Simulator::start_on_hosts(world, 4).await;
        let folder = tempfile::tempdir().unwrap();
        let mut environment = environment(&simulator);
        let more = [
            ("CORROBORATE_DATA_DIR", folder.path().display().to_string()),
            ("ENRICHMENT_PROVIDERS", "opensearch".to_owned()),
            ("LLM_BASE_URL", simulator.base_url(Target::LanguageModel)),
            ("LLM_API_KEY", LLM_KEY.to_owned()),
            ("LLM_MODEL", LLM_MODEL.to_owned()),
            ("LLM_SEARCH_ENABLED", "true".to_owned()),
            ("LLM_SEARCH_AFTER", "10m".to_owned()),
        ];
        environment.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Self { simulator, environment, _folder: folder }
    }

    /// The pages that the model's search cites.
    fn cites(&self, urls: Vec<String>) {
        self.simulator.set_language_model(move |_| Script::Citations(urls.clone()));
    }

    async fn enriched(&self, id: &str) -> Value {
        finish(&self.environment, &["enrich", "-"], &format!("{}\n", stories::item(id, TOLD))).await.json()
    }
}

fn traced(result: &Value, words: &str) -> bool {
    result["trace"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(words))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_what_the_models_search_cites_is_read_and_judged_and_its_tracking_is_stripped() {
    let home = Home::new(unfound()).await;
    let cited: Vec<String> =
        TOLD_PAGES.iter().map(|page| format!("{}?utm_source=chatgpt.com", home.simulator.page_url(*page))).collect();
    home.cites(cited);
    let result = home.enriched("a").await;
    let claim = &result["claims"][0];
    assert_eq!(claim["verdict"], "supported", "{result:#}");
    let evidence = claim["evidence"].as_array().unwrap();
    assert!(evidence.len() > 1 && evidence.iter().all(|row| row["provider"] == "llm_search"), "{claim:#}");
    assert!(evidence.iter().all(|row| !row["url"].as_str().unwrap().contains("utm_")), "{claim:#}");
    assert!(result["cost"]["llm_calls"] == 1 && home.simulator.calls(Target::Page) > 0, "{result:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_where_providers_settle_it_the_models_search_is_not_asked() {
    let home = Home::new(stories::world()).await;
    home.cites(vec!["https://nowhere.example/".to_owned()]);
    let result = home.enriched("a").await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    assert!(home.simulator.asked_language_model().is_empty() && result["cost"]["llm_calls"] == 0, "{result:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_citation_that_says_nothing_of_the_claim_or_cannot_be_read_makes_no_verdict() {
    let home = Home::new(unfound()).await;
    home.cites(vec!["http://127.0.0.1:9/gone".to_owned(), home.simulator.page_url(10), "ftp://x.example/".to_owned()]);
    let result = home.enriched("a").await;
    assert_eq!(result["claims"][0]["verdict"], "not_enough_evidence", "{result:#}");
    assert!(traced(&result, "model_search: "), "{result:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_search_that_fails_leaves_the_item_as_it_was_and_says_so() {
    let home = Home::new(unfound()).await;
    home.simulator.set_fault(Target::LanguageModel, Fault::status(503));
    let result = home.enriched("a").await;
    assert_eq!(result["claims"][0]["verdict"], "not_enough_evidence", "{result:#}");
    assert!(result["degraded"].as_array().unwrap().contains(&json!("model_failed:llm")), "{result:#}");
}
