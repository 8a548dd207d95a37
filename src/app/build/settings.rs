//! Converts the configuration's numbers into the settings of each module.
//!
//! It reads no files except the fitted ones of `curves`.

use super::{AppError, curves};
use crate::config::{Config, ScoringConfig, WebhookEndpoint};
use crate::judging::decision::DecisionTables;
use crate::judging::scoring::Scoring;
use crate::outbound::pages::PageSettings;
use crate::pipeline::{LanguagePolicy, Listeners, Pilot, Settings, WebhookTarget};

/// Converts the settings of the pipeline. Only a daemon (`is_daemon`) publishes results.
pub(super) fn settings(config: &Config, is_daemon: bool) -> Result<Settings, AppError> {
    let enrichment = &config.enrichment;
    let (has_broker, endpoints) = (config.amqp.url.is_some(), &config.webhooks.endpoints);
    Ok(Settings {
        enrichment_enabled: enrichment.enabled,
        pilot: Pilot::new(&enrichment.pilot_channels),
        min_importance: enrichment.min_importance,
        max_sources: enrichment.max_sources,
        max_time: enrichment.max_time,
        min_claim_chars: config.fact_check.min_claim_length,
        fact_check_results: config.fact_check.max_results,
        claims_per_item: enrichment.claims_per_item,
        queries_per_claim: enrichment.queries_max,
        languages: LanguagePolicy {
            always: enrichment.query_languages.clone(),
            rules: enrichment.language_rules.clone(),
            into_english: enrichment.query_translate,
        },
        translated_passages: config.translate.passages,
        translated_chars: config.translate.chars_per_item,
        passages_shown: enrichment.evidence_max_per_item,
        scoring: Scoring { llm_reliability: config.llm.reliability, ..scoring(&config.scoring)? },
        evidence_ttl: enrichment.evidence_ttl,
        page_ttl: config.cache.page_ttl,
        dedup_similarity: enrichment.evidence_dedup_similarity,
        similar_item_threshold: enrichment.similar_threshold,
        results_exchange: (is_daemon && has_broker).then(|| config.amqp.results_exchange.clone()),
        webhooks: endpoints.iter().filter(|_| is_daemon).map(webhook).collect(),
        redo: false,
        llm_calls_per_item: config.llm.calls_per_item,
        llm_usd_per_item: config.llm.usd_per_item,
        llm_search_after: config.llm.search_after,
        expands_links: enrichment.links.expand,
    })
}

/// Returns the receivers of results that a command writes; a daemon sends them.
pub(super) fn listeners(config: &Config) -> Listeners {
    Listeners {
        results_exchange: config.amqp.url.as_ref().map(|_| config.amqp.results_exchange.clone()),
        webhooks: config.webhooks.endpoints.iter().map(webhook).collect(),
    }
}

fn webhook(endpoint: &WebhookEndpoint) -> WebhookTarget {
    WebhookTarget { name: endpoint.name.clone(), events: endpoint.events() }
}

fn scoring(config: &ScoringConfig) -> Result<Scoring, AppError> {
    let fitted = config.calibration.as_deref().map(curves::read).transpose()?;
    let decision = match &config.decision {
        Some(path) => DecisionTables::default().with(&curves::decision(path)?),
        None => DecisionTables::default(),
    };
    Ok(Scoring { calibration: fitted.map(|fitted| fitted.curves), decision, ..Scoring::default() })
}

pub(super) fn page_settings(config: &Config) -> PageSettings {
    PageSettings {
        timeout: config.fetch.timeout,
        max_bytes: config.fetch.max_bytes,
        allow_private: config.fetch.allow_private_addresses,
        extra_ports: config.fetch.extra_ports.clone(),
        user_agent: config.fetch.user_agent.clone(),
        respect_robots: config.fetch.respect_robots,
        ..PageSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_sources_get_as_many_search_results_and_four_passages_each() {
        let mut config = Config::built_in();
        let few = settings(&config, false).unwrap();
        assert_eq!((few.search_results(), few.passages_per_claim()), (15, 20));
        config.enrichment.max_sources = 20;
        let many = settings(&config, false).unwrap();
        assert_eq!((many.search_results(), many.passages_per_claim()), (20, 80));
    }

    #[test]
    fn a_calibration_that_cannot_be_read_stops_the_start_and_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("calibration.json");
        let with = || scoring(&ScoringConfig { calibration: Some(file.clone()), ..Config::built_in().scoring });
        let told = |found: Result<Scoring, AppError>| {
            let error = found.unwrap_err();
            (error.exit_code(), error.to_string())
        };
        let (code, message) = told(with());
        assert!(
            code == 78 && message.contains("calibration.json") && message.contains("--calibration OUT"),
            "{message}"
        );
        std::fs::write(&file, "{\"curves\": 1}").unwrap();
        assert_eq!(told(with()).0, 78);
        let curve = r#"{"slope":2.0,"offset":-1.0}"#;
        let text = format!(
            r#"{{"data":"c.jsonl","judge":"rules","rows":1,"curves":{{"score":{curve},"supported":{curve},"refuted":{curve},"contested":{curve}}},
            "confidence_error":0.1,"confidence_reliability":[],"score_error":0.1,"score_reliability":[]}}"#
        );
        std::fs::write(&file, text).unwrap();
        assert!(with().unwrap().calibration.is_some_and(|fitted| fitted.score.slope > 1.9));
    }
}
