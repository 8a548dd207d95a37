//! Converts the configuration's numbers into the settings of each module.
//!
//! It reads no files except the fitted ones of `curves`.

use std::time::Duration;

use super::{AppError, curves};
use crate::config::{Config, EnrichmentConfig, LinksConfig, ScoringConfig, WebhookEndpoint};
use crate::judging::decision::DecisionTables;
use crate::judging::scoring::{
    FeatureWeights, HalfLives, QualityShares, ScoreCurve, Scoring, SufficiencyLimits, VerdictLimits,
};
use crate::outbound::pages::PageSettings;
use crate::pipeline::{LanguagePolicy, LanguageRule, LinkSettings, Listeners, Pilot, Settings, WebhookTarget};

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
        languages: languages(enrichment),
        passages_per_claim: enrichment.passages_per_claim,
        judged_passages: enrichment.judged_passages,
        translated_passages: config.translate.passages,
        translated_chars: config.translate.chars_per_item,
        passages_per_group: enrichment.passages_per_group,
        passages_shown: enrichment.evidence_max_per_item,
        scoring: Scoring { llm_reliability: config.llm.reliability, ..scoring(&config.scoring)? },
        evidence_ttl: enrichment.evidence_ttl,
        negative_ttl: config.cache.page_failure_ttl,
        page_ttl: config.cache.page_ttl,
        dedup_similarity: enrichment.evidence_dedup_similarity,
        similar_item_window: enrichment.similar_window,
        similar_item_threshold: enrichment.similar_threshold,
        sufficient_relevance: enrichment.sufficient_relevance,
        sufficient_age: enrichment.sufficient_age,
        results_exchange: (is_daemon && has_broker).then(|| config.amqp.results_exchange.clone()),
        webhooks: endpoints.iter().filter(|_| is_daemon).map(webhook).collect(),
        search_results: enrichment.candidate_pages,
        redo: false,
        llm_calls_per_item: config.llm.calls_per_item,
        llm_usd_per_item: config.llm.usd_per_item,
        llm_search_after: config.llm.search_after,
        links: links(&enrichment.links),
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

fn links(config: &LinksConfig) -> Option<LinkSettings> {
    config.expand.then_some(LinkSettings {
        most: config.max,
        per_link: config.timeout_per_link,
        total: config.timeout,
        characters: config.max_chars,
    })
}

fn languages(config: &EnrichmentConfig) -> LanguagePolicy {
    let rule = |rule: &crate::config::LanguageRule| LanguageRule {
        name: rule.name.clone(),
        channels: rule.channels.clone(),
        keywords: rule.keywords.clone(),
        languages: rule.languages.clone(),
    };
    LanguagePolicy {
        always: config.query_languages.clone(),
        rules: config.language_rules.iter().map(rule).collect(),
        into_english: config.query_translate,
    }
}

fn scoring(config: &ScoringConfig) -> Result<Scoring, AppError> {
    let days = |span: Duration| span.as_secs_f64() / 86_400.0;
    let ScoringConfig { quality, weights, score, verdict, sufficiency, .. } = config;
    Ok(Scoring {
        llm_reliability: Scoring::default().llm_reliability,
        calibration: config.calibration.as_deref().map(curves::read).transpose()?.map(|fitted| fitted.curves),
        relevance_floor: config.relevance_floor,
        half_lives: HalfLives {
            usual: days(config.half_life),
            breaking: days(config.half_life_breaking),
            lasting: days(config.half_life_lasting),
        },
        quality: QualityShares {
            credibility: quality.credibility,
            freshness: quality.freshness,
            relevance: quality.relevance,
            specificity: quality.specificity,
        },
        weights: FeatureWeights {
            e_max: weights.e_max,
            e_mean3: weights.e_mean3,
            agree_dom: weights.agree_dom,
            agree_dom_full: weights.agree_dom_full,
            rel_avg: weights.rel_avg,
            rec_max: weights.rec_max,
            c_max: weights.c_max,
            num_ok: weights.num_ok,
        },
        curve: ScoreCurve {
            center: score.center,
            scale: score.scale,
            cap_unsupported: score.cap_unsupported,
            cap_refuted: score.cap_refuted,
        },
        limits: VerdictLimits {
            lean: verdict.lean,
            conflict: verdict.conflict,
            lone_credibility: verdict.single_source_credibility,
        },
        sufficiency: SufficiencyLimits {
            support: sufficiency.support,
            refute: sufficiency.refute,
            groups: usize::try_from(sufficiency.groups).unwrap_or(usize::MAX),
        },
        decision: match &config.decision {
            Some(path) => DecisionTables::default().with(&curves::decision(path)?),
            None => DecisionTables::default(),
        },
    })
}

pub(super) fn page_settings(config: &Config) -> PageSettings {
    PageSettings {
        timeout: config.fetch.timeout,
        connect_timeout: config.fetch.connect_timeout,
        max_bytes: config.fetch.max_bytes,
        allow_private: config.fetch.allow_private_addresses,
        extra_ports: config.fetch.extra_ports.clone(),
        user_agent: config.fetch.user_agent.clone(),
        max_redirects: config.fetch.max_redirects,
        concurrency: config.fetch.concurrency,
        per_host: config.fetch.per_host,
        host_pause: config.fetch.host_pause,
        respect_robots: config.fetch.respect_robots,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_and_the_rules_name_the_same_numbers() {
        assert_eq!(scoring(&Config::built_in().scoring).unwrap(), Scoring::default());
    }

    #[test]
    fn a_calibration_that_cannot_be_read_stops_the_start_and_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("calibration.json");
        let with = || scoring(&ScoringConfig { calibration: Some(file.clone()), ..Config::built_in().scoring.clone() });
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
