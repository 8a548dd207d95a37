//! Tests of the whole configuration.

mod reference;
mod secrets;
mod tables;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::domain::rules::DomainList;
use crate::domain::verdict::SourceType;

const CONTRACT_NAMES: &str = "DATABASE_URL AMQP_URL CORROBORATE_DATA_DIR HTTP_BIND ADMIN_TOKEN WORKER_CONCURRENCY \
    LOG_FORMAT RUST_LOG FACTCHECK_GOOGLE_ENABLED FACTCHECK_GOOGLE_API_KEY FACTCHECK_GOOGLE_BASE_URL \
    FACTCHECK_GOOGLE_MAX_RESULTS FACTCHECK_GOOGLE_RPM FACTCHECK_CACHE_TTL_HOURS FACTCHECK_MIN_CLAIM_LENGTH \
    ENRICHMENT_ENABLED ENRICHMENT_PILOT_CHANNELS ENRICHMENT_MIN_IMPORTANCE ENRICHMENT_MAX_SOURCES \
    ENRICHMENT_MAX_SECONDS ENRICHMENT_MIN_AGREEMENT ENRICHMENT_ALLOWLIST_DOMAINS ENRICHMENT_DENYLIST_DOMAINS \
    ENRICHMENT_ALLOWLIST_ONLY ENRICHMENT_QUERY_TRANSLATE ENRICHMENT_PROVIDERS ENRICHMENT_EVIDENCE_TTL_DAYS \
    ENRICHMENT_EVIDENCE_DEDUP_SIM ENRICHMENT_EVIDENCE_MAX_PER_ITEM ENRICHMENT_DAILY_BUDGET_USD \
    ENRICHMENT_MONTHLY_CAP_USD ENRICHMENT_PROVIDER_COOLDOWN ENRICHMENT_MAX_LAG ENRICHMENT_MAX_QUEUE_LENGTH \
    ENRICHMENT_OVERLOAD ENRICHMENT_OPENSEARCH_BACKENDS FETCH_ALLOW_PRIVATE_ADDRESSES FETCH_MAX_BYTES FETCH_TIMEOUT \
    LLM_BASE_URL LLM_API_KEY LLM_MODEL LLM_SEARCH_ENABLED TRANSLATE_BASE_URL TRANSLATE_API_KEY INFERENCE_BASE_URL \
    MODELS_DIR";

fn contract_names() -> Vec<String> {
    let mut names: Vec<String> = CONTRACT_NAMES.split_whitespace().map(str::to_owned).collect();
    for provider in ["GDELT", "EVENTREGISTRY", "NEWSAPI", "BRAVE", "SERPAPI", "SEARXNG"] {
        for setting in ["RPM", "DAILY_LIMIT", "BASE_URL", "API_KEY", "COST_USD"] {
            names.push(format!("ENRICHMENT_{provider}_{setting}"));
        }
    }
    names
}

fn load_env(env: &[(&str, &str)]) -> Result<LoadedConfig, ConfigError> {
    load(LoadOptions { file: None, env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())) })
}

fn config(env: &[(&str, &str)]) -> Config {
    load_env(env).unwrap().config
}

fn error(env: &[(&str, &str)]) -> String {
    load_env(env).unwrap_err().to_string()
}

fn file_with(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn load_file(text: &str, env: &[(&str, &str)]) -> Result<LoadedConfig, ConfigError> {
    let file = file_with(text);
    let env: Vec<(String, String)> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    load(LoadOptions { file: Some(file.path().to_path_buf()), env })
}

/// Values of each kind. At least one differs from the default.
fn samples(kind: &Kind) -> Vec<String> {
    let texts: &[&str] = match kind {
        Kind::Flag => &["true", "false"],
        Kind::Integer { min, max } => {
            return vec![(min + 9).min(*max).to_string(), (min + 57).min(*max).to_string()];
        }
        Kind::Number { min, max } => return vec![(min + 0.125_f64).min(*max).to_string(), (min + 0.25).to_string()],
        Kind::Duration { bare: None, .. } => &["7s", "9m"],
        Kind::Duration { bare: Some(_), .. } => &["7", "9m"],
        Kind::Bytes { .. } => &["77KiB", "100000"],
        Kind::Word(words) => return words.iter().map(|word| (*word).to_owned()).collect(),
        Kind::List(kind) => return vec![samples(kind).first().cloned().unwrap_or_default()],
        Kind::Entry(_) => &["Example.org"],
        Kind::Tables(shape) => return vec![table_sample(shape)],
        Kind::Text { format: "uri", .. } => &["https://example.org/prefix"],
        Kind::Text { format: "address", .. } => &["127.0.0.2:9999"],
        Kind::Text { format: "path", .. } => &["/elsewhere"],
        Kind::Text { format: "filter", .. } => &["debug,corroborate=trace"],
        Kind::Text { .. } => &["another"],
        Kind::Secret { schemes: [] } => &["5ecret-of-some-length"],
        Kind::Secret { schemes } => return vec![format!("{}://u:5ecret@h/d", schemes[0])],
        Kind::Table(_) => &[],
    };
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn own_samples(key: &Key) -> Vec<String> {
    match key.path.as_str() {
        "enrichment.query_languages" => vec!["el,de".to_owned()],
        "enrichment.language_rules" => vec![r#"[{"name":"a","languages":["el"],"channels":["@a"]}]"#.to_owned()],
        _ => samples(key.kind),
    }
}

/// A table with its required fields, as JSON.
fn table_sample(shape: &kind::Shape) -> String {
    let value = |name: &str| samples(shape.field(name).unwrap()).first().cloned().unwrap_or_default();
    let fields: Vec<String> = shape.required.iter().map(|name| format!("{name:?}: {:?}", value(name))).collect();
    format!("[{{{}}}]", fields.join(", "))
}

fn company(key: &Key) -> Vec<(&'static str, &'static str)> {
    match key.path.as_str() {
        "llm.base_url" => vec![("LLM_MODEL", "m")],
        path if path.starts_with("llm.") && path.ends_with("_enabled") => {
            vec![("LLM_MODEL", "m"), ("LLM_BASE_URL", "http://localhost/v1")]
        }
        _ => Vec::new(),
    }
}

#[test]
fn every_name_of_the_contract_is_known() {
    let known: BTreeSet<String> = KEYS.iter().map(|key| key.env().to_owned()).collect();
    for name in contract_names() {
        assert!(known.contains(&name), "{name} is not in the table");
    }
    assert_eq!(known.len(), KEYS.len(), "two keys share an environment name");
}

#[test]
fn every_name_changes_its_key_and_only_its_key() {
    for key in KEYS.iter() {
        let mut company: Vec<(String, String)> =
            company(key).into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let base = load(LoadOptions { file: None, env: company.clone() });
        // Some keys are valid only together.
        let base = base.unwrap_or_else(|_| load_env(&[]).unwrap());
        let mut changed = false;
        for sample in own_samples(key) {
            company.retain(|(name, _)| *name != key.env());
            company.push((key.env().to_owned(), sample.clone()));
            let loaded = load(LoadOptions { file: None, env: company.clone() })
                .unwrap_or_else(|error| panic!("{} = {sample}: {error}", key.env()));
            let at = |loaded: &LoadedConfig| show(loaded).into_iter().find(|shown| shown.key == key.path).unwrap();
            assert_eq!(at(&loaded).from, Source::Environment(key.env().to_owned()), "{}", key.path);
            let typed_differs = format!("{:?}", loaded.config) != format!("{:?}", base.config);
            changed |= typed_differs && at(&loaded).value != at(&base).value;
        }
        assert!(changed, "{} does not reach the typed configuration", key.env());
    }
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let config = Config::built_in();
    assert_eq!(config.http.bind.to_string(), "127.0.0.1:8080");
    assert_eq!(config.fact_check.cache_ttl, Duration::from_hours(48));
    assert_eq!((config.fact_check.max_results, config.fact_check.min_claim_length), (3, 40));
    assert_eq!(config.enrichment.max_time, Duration::from_mins(1));
    assert_eq!(config.enrichment.evidence_ttl, Duration::from_hours(30 * 24));
    assert_eq!(config.enrichment.provider_cooldown, Duration::from_mins(10));
    assert_eq!(config.enrichment.max_lag, Duration::from_mins(5));
    assert_eq!(config.enrichment.overload, Overload::Degrade);
    assert_eq!(config.enrichment.providers, SearchProvider::ALL);
    assert_eq!(config.enrichment.opensearch_backends, OpenSearchBackend::ALL);
    let rates: Vec<u32> = config.providers.named().iter().map(|(_, provider)| provider.rpm.get()).collect();
    assert_eq!(rates, [60, 6, 30, 30, 60, 10, 20, 60]);
    assert!(config.providers.named().iter().all(|(_, provider)| provider.api_key.is_none()));
    assert!(config.providers.searxng.base_url.is_none() && config.providers.gdelt.base_url.is_some());
    assert!(!config.fetch.allow_private_addresses && !config.enrichment.allowlist_only);
    assert!(show(&load_env(&[]).unwrap()).iter().any(|shown| shown.key == "http.max_body" && shown.value == "8MiB"));
    assert_eq!(config.inference.servers().count(), 0);
    assert_eq!([&config.inference.embedder, &config.inference.stance, &config.inference.reranker], ["auto"; 3]);
    assert!(load_env(&[]).unwrap().warnings.is_empty(), "the defaults warn of themselves");
}

#[test]
fn later_layer_wins_and_is_named_when_several_set_a_key() {
    let file = "[fact_check]\nmax_results = 7\ncache_ttl = \"1h\"\n";
    let loaded = load_file(file, &[("FACTCHECK_GOOGLE_MAX_RESULTS", "9")]).unwrap();
    assert_eq!(loaded.config.fact_check.max_results, 9);
    assert_eq!(loaded.config.fact_check.cache_ttl, Duration::from_hours(1));
    assert_eq!(loaded.config.fact_check.min_claim_length, 40);
    let from = |path: &str| show(&loaded).into_iter().find(|shown| shown.key == path).unwrap().from;
    assert_eq!(from("fact_check.max_results"), Source::Environment("FACTCHECK_GOOGLE_MAX_RESULTS".into()));
    assert!(matches!(from("fact_check.cache_ttl"), Source::File(_)));
    assert_eq!(from("fact_check.min_claim_length"), Source::Default);
}

#[test]
fn the_variable_names_the_file_and_the_option_wins() {
    let (one, two) = (file_with("[worker]\nconcurrency = 3\n"), file_with("[worker]\nconcurrency = 4\n"));
    let named = one.path().display().to_string();
    assert_eq!(config(&[("CORROBORATE_CONFIG", &named)]).worker.concurrency, 3);
    let options =
        LoadOptions { file: Some(two.path().into()), env: [("CORROBORATE_CONFIG".to_owned(), named.clone())] };
    assert_eq!(load(options).unwrap().config.worker.concurrency, 4);
    let missing = error(&[("CORROBORATE_CONFIG", "/nowhere/corroborate.toml")]);
    assert!(missing.starts_with("/nowhere/corroborate.toml: cannot be read"), "{missing}");
}

#[test]
fn error_lists_each_problem_on_a_line_when_there_are_several() {
    let text = error(&[
        ("ENRICHMENT_MIN_AGREEMENT", "1.5"),
        ("ENRICHMENT_GDELT_RPM", "0"),
        ("HTTP_BIND", "localhost"),
        ("ENRICHMENT_OVERLOAD", "panic"),
        ("ENRICHMENT_PROVIDER_COOLDOWN", "10"),
        ("FACTCHECK_GOOGLE_RMP", "60"),
        ("RUST_LOG", "corroborate=loud"),
        ("LLM_BASE_URL", "localhost:11434"),
    ]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 8, "{text}");
    for expected in [
        "ENRICHMENT_MIN_AGREEMENT = \"1.5\": is not within 0 and 1; write a number from 0 to 1, with a point",
        "ENRICHMENT_GDELT_RPM = \"0\": is less than 1; write a whole number from 1 to 1000000",
        "HTTP_BIND = \"localhost\": is not an address and port; write it like 127.0.0.1:8080 or [::1]:8080",
        "ENRICHMENT_OVERLOAD = \"panic\": \"panic\" is not known; choose from degrade, defer, drop",
        "ENRICHMENT_PROVIDER_COOLDOWN = \"10\": has no unit; write it like 500ms, 30s, 10m, 48h or 30d",
        "FACTCHECK_GOOGLE_RMP = \"60\": is not a known name; did you mean FACTCHECK_GOOGLE_RPM?",
    ] {
        assert!(lines.contains(&expected), "{expected}\nis missing in\n{text}");
    }
}

#[test]
fn error_suggests_key_when_key_of_file_is_unknown() {
    let text = load_file(
        "[fact_check]\nmax_result = 3\n[fetchh]\ntimeout = \"1s\"\n[providers.gdelt]\nmax_sources = 2\n[enrichment]\noverload = [\"drop\"]\nqueries_max = \"many\"\n[http]\nbind = 8080\n",
        &[],
    )
    .unwrap_err()
    .to_string();
    for expected in [
        "fact_check.max_result = \"3\": is not a known key; did you mean fact_check.max_results?",
        "fetchh: is not a known table; did you mean [fetch]?",
        "providers.gdelt.max_sources = \"2\": is not a known key; did you mean enrichment.max_sources?",
        "enrichment.overload: one value is expected, not a list",
        "enrichment.queries_max = \"many\": is not a whole number",
        "http.bind = \"8080\": is not an address and port",
    ] {
        assert!(text.contains(expected), "{expected}\nis missing in\n{text}");
    }
    assert!(load_file("database = 3\n", &[]).unwrap_err().to_string().contains("is a table, not a value"));
}

#[test]
fn names_of_others_are_left_alone() {
    let foreign = [
        ("HTTP_PROXY", "http://proxy:3128"),
        ("DATABASE_HOST", "db"),
        ("LOG_LEVEL", "debug"),
        ("ADMIN_EMAIL", "a@example.org"),
        ("RUST_BACKTRACE", "1"),
        ("PATH", "/bin"),
        ("CORROBORATE_SERVICE_HOST", "10.0.0.1"),
        ("CORROBORATE_SERVICE_PORT_HTTP", "80"),
        ("CORROBORATE_PORT", "tcp://10.0.0.1:80"),
        ("LLM_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("CORROBORATE_TEST_DATABASE", "x"),
        ("CORROBORATE_TOKEN", "x"),
        ("CORROBORATE_URL", "http://127.0.0.1:8080"),
        ("CORROBORATE_SHARED_DATA", "/data"),
    ];
    assert!(load_env(&foreign).is_ok());
    assert!(error(&[("HTTP_BINDS", "x")]).contains("did you mean HTTP_BIND?"));
    assert!(error(&[("CORROBORATE_PORT", "8080")]).contains("CORROBORATE_PORT"));
    assert!(error(&[("ENRICHMENT_SOMETHING_ELSE", "1")]).contains("config show"));
}

#[test]
fn an_empty_value_counts_as_not_set_and_none_unsets() {
    let plain = config(&[("ENRICHMENT_MAX_SOURCES", ""), ("FACTCHECK_GOOGLE_API_KEY", " "), ("LLM_MODEL", "")]);
    assert_eq!(plain.enrichment.max_sources, 5);
    assert!(plain.providers.google.api_key.is_none() && plain.llm.model.is_none());
    let file =
        "data_dir = \"/a\"\n[providers.brave]\ndaily_limit = 5\n[http]\ncors_origins = []\nallowed_hosts = [\"h\"]\n";
    let emptied = load_file(
        file,
        &[
            ("CORROBORATE_DATA_DIR", "none"),
            ("ENRICHMENT_BRAVE_DAILY_LIMIT", "NONE"),
            ("ENRICHMENT_ALLOWLIST_DOMAINS", "none"),
        ],
    )
    .unwrap();
    assert!(emptied.config.data_dir.is_none() && emptied.config.providers.brave.daily_limit.is_none());
    assert!(emptied.config.enrichment.first_rules().is_empty());
    assert_eq!(emptied.config.http.allowed_hosts, ["h"]);
    assert!(show(&emptied).iter().any(|shown| shown.key == "data_dir" && shown.value == "unset"));
    assert!(error(&[("ENRICHMENT_MAX_SOURCES", "none")]).contains("is not a whole number"));
}

#[test]
fn contradictions_stop_the_start() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("LLM_BASE_URL", "http://localhost/v1")], "LLM_BASE_URL: is set and LLM_MODEL is not"),
        (
            &[("INFERENCE_STANCE_URL", "http://localhost"), ("INFERENCE_STANCE", "rules")],
            "INFERENCE_STANCE_URL: is set, and inference.stance is rules",
        ),
        (&[("LLM_SEARCH_ENABLED", "true")], "LLM_SEARCH_ENABLED: is true and LLM_BASE_URL is not set"),
        (&[("LLM_CLAIMS_ENABLED", "true")], "LLM_CLAIMS_ENABLED: is true and LLM_BASE_URL is not set"),
        (&[("ENRICHMENT_QUERY_LANGUAGES", "el,greek")], "\"greek\": holds what is no language code"),
        (
            &[("ENRICHMENT_LANGUAGE_RULES", r#"[{"name":"a","languages":["el"]}]"#)],
            "ENRICHMENT_LANGUAGE_RULES = \"a\": is a rule with neither channels nor keywords",
        ),
        (&[("ENRICHMENT_LANGUAGE_RULES", r#"[{"name":"a","languages":[],"channels":["@a"]}]"#)], "without languages"),
        (&[("ENRICHMENT_LANGUAGE_RULES", r#"[{"name":"a","languages":["el"],"keywords":["!"]}]"#)], "that is no word"),
        (
            &[("ENRICHMENT_ALLOWLIST_DOMAINS", "a.org,b.org"), ("ENRICHMENT_DENYLIST_DOMAINS", "https://www.B.org/x")],
            "ENRICHMENT_DENYLIST_DOMAINS: names b.org, which ENRICHMENT_ALLOWLIST_DOMAINS names too",
        ),
        (&[("ENRICHMENT_OPENSEARCH_BACKENDS", "none")], "is empty while ENRICHMENT_PROVIDERS names opensearch"),
        (&[("CORROBORATE_AMQP_DEAD_QUEUE", "factcheck")], "is also the name of amqp.factcheck_queue"),
        (&[("CORROBORATE_QUEUE_RETRY_DELAYS", "30s,5s")], "each pause must be longer than the one before"),
        (&[("ENRICHMENT_PROVIDERS", "gdelt,gdelt")], "gdelt is in it twice"),
    ];
    for (env, expected) in cases {
        let text = error(env);
        assert!(text.contains(expected) && text.lines().count() == 1, "{expected}\nis not\n{text}");
    }
    // An unreadable key gives one problem only.
    let text = error(&[("LLM_BASE_URL", "http://localhost/v1"), ("LLM_MODEL", "\u{1}x")]);
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_removed_key_gives_a_warning_that_names_what_is_in_force() {
    let file = "[enrichment]\njudged_passages = 9\n[scoring.weights]\ne_max = 0.5\n[scoring]\nhalf_life = \"1d\"\n";
    let loaded = load_file(file, &[("CORROBORATE_SCORING_VERDICT_LEAN", "0.6"), ("CORROBORATE_FETCH_PER_HOST", "9")]);
    let warnings = loaded.unwrap().warnings;
    for expected in [
        "enrichment.judged_passages has no effect any more: it is 8; take it out",
        "scoring.weights has no effect any more: the scoring rules fix it",
        "scoring.half_life has no effect any more",
        "CORROBORATE_SCORING_VERDICT_LEAN has no effect any more",
        "CORROBORATE_FETCH_PER_HOST has no effect any more: it is 2; unset it",
    ] {
        assert!(warnings.iter().any(|warning| warning.contains(expected)), "{expected}: {warnings:?}");
    }
    assert!(error(&[("CORROBORATE_SCORING_WEIGHT", "1")]).contains("is not a known name"));
}

#[test]
fn what_is_doubtful_is_warned_of() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("HTTP_BIND", "0.0.0.0:8080")], "everything but the probes and /metrics is closed"),
        (&[("FETCH_ALLOW_PRIVATE_ADDRESSES", "true")], "internal network"),
        (&[("ENRICHMENT_MONTHLY_CAP_USD", "5")], "before the budget warns"),
        (
            &[("INFERENCE_API_KEY", "k"), ("INFERENCE_STANCE_URL", "http://nli.example.org")],
            "the base URL of INFERENCE_STANCE_URL is http: its key travels unencrypted",
        ),
        (&[("ENRICHMENT_QUERY_LANGUAGES", "el")], "ENRICHMENT_QUERY_LANGUAGES is set and no translator is configured"),
        (
            &[("ENRICHMENT_QUERY_LANGUAGES", "el,de,pl"), ("TRANSLATE_BASE_URL", "http://localhost:5000")],
            "ENRICHMENT_QUERY_LANGUAGES names 3 languages at once and enrichment.queries_max leaves room for 2",
        ),
        (
            &[("ENRICHMENT_PROVIDERS", "none"), ("ENRICHMENT_FEEDS_ENABLED", "false")],
            "no search provider is asked; evidence comes from stored pages only",
        ),
        (
            &[("ENRICHMENT_PROVIDERS", "none"), ("ENRICHMENT_CORPUS_FOLDER", "/srv/archive")],
            "evidence comes from stored pages, feeds, your own documents only",
        ),
        (&[("ENRICHMENT_NEWSAPI_API_KEY", "k")], "set ENRICHMENT_NEWSAPI_LICENSED=true"),
        (
            &[("ENRICHMENT_BRAVE_API_KEY", "k"), ("ENRICHMENT_PROVIDERS", "gdelt")],
            "ENRICHMENT_BRAVE_API_KEY is set, but",
        ),
        (
            &[("ENRICHMENT_NEWSAPI_API_KEY", "k"), ("ENRICHMENT_NEWSAPI_BASE_URL", "http://news.example.org")],
            "unencrypted",
        ),
    ];
    for (env, expected) in cases {
        let warnings = load_env(env).unwrap().warnings;
        assert!(warnings.iter().any(|warning| warning.contains(expected)), "{expected}: {warnings:?}");
    }
    assert!(!config(&[("HTTP_BIND", "0.0.0.0:1")]).http.admin_open());
    assert!(config(&[("HTTP_BIND", "localhost:1")]).http.admin_open());
    assert!(
        load_env(&[("ENRICHMENT_SEARXNG_API_KEY", "k"), ("ENRICHMENT_SEARXNG_BASE_URL", "http://searxng:8080")])
            .unwrap()
            .warnings
            .is_empty()
    );
}

#[test]
fn the_first_rules_carry_types_and_deny_wins() {
    let rules = config(&[("ENRICHMENT_DENYLIST_DOMAINS", "dw.com,spam.example")]).enrichment.first_rules();
    let rule = |domain: &str| rules.iter().find(|rule| rule.domain == domain).unwrap();
    assert_eq!(rules.len(), 23);
    assert_eq!((rule("dw.com").list, rule("spam.example").list), (DomainList::Deny, DomainList::Deny));
    assert_eq!(rule("*.gov").source_type, Some(SourceType::Government));
    let own = config(&[("ENRICHMENT_ALLOWLIST_DOMAINS", "Nature.com, my.example.org")]).enrichment.first_rules();
    assert_eq!(own.iter().map(|rule| rule.source_type).collect::<Vec<_>>(), [Some(SourceType::Academic), None]);
    let file = "[enrichment]\ndenylist_domains = [\"a.org\", { domain = \"b.org\", why = \"link farm\" }]\n";
    let rules = load_file(file, &[]).unwrap().config.enrichment.first_rules();
    assert_eq!(rules.last().unwrap().why.as_deref(), Some("link farm"));
    for bad in ["[\"no dot\"]", "[{ domain = \"a.org\", trust = 1 }]", "[{ domain = \"a.org\", credibility = 2 }]"] {
        assert!(load_file(&format!("[enrichment]\nallowlist_domains = {bad}\n"), &[]).is_err(), "{bad}");
    }
}

#[test]
fn durations_and_sizes_are_read_in_every_form() {
    let read = config(&[
        ("FACTCHECK_CACHE_TTL_HOURS", "2d"),
        ("ENRICHMENT_EVIDENCE_TTL_DAYS", "7"),
        ("FETCH_TIMEOUT", "3"),
        ("FETCH_MAX_BYTES", "2 MB"),
        ("CORROBORATE_WORKER_GRACE", "0s"),
    ]);
    assert_eq!(read.fact_check.cache_ttl, Duration::from_hours(48));
    assert_eq!(read.enrichment.evidence_ttl, Duration::from_hours(7 * 24));
    assert_eq!(read.fetch.timeout, Duration::from_secs(3));
    assert_eq!(read.fetch.max_bytes, 2_000_000);
    assert_eq!(read.worker.grace, Duration::ZERO);
    for (name, value) in [
        ("FETCH_MAX_BYTES", "-1"),
        ("FETCH_MAX_BYTES", "99999999999999999999GiB"),
        ("FETCH_TIMEOUT", "0"),
        ("FETCH_TIMEOUT", "18446744073709551616"),
        ("ENRICHMENT_MIN_AGREEMENT", "NaN"),
        ("ENRICHMENT_DAILY_BUDGET_USD", "-1"),
        ("ENRICHMENT_DAILY_BUDGET_USD", "inf"),
    ] {
        assert!(load_env(&[(name, value)]).is_err(), "{name}={value}");
    }
}

#[test]
fn schema_has_each_key_when_key_is_no_secret() {
    let schema = json_schema();
    let compiled = schema.to_string();
    for key in KEYS.iter().filter(|key| !key.is_secret()) {
        let pointer = format!("/properties/{}", key.path.replace('.', "/properties/"));
        let property = schema.pointer(&pointer).unwrap_or_else(|| panic!("{} is not in the schema", key.path));
        assert_eq!(property.get("x-env").unwrap(), key.env());
    }
    assert_eq!(schema.pointer("/properties/fact_check/properties/max_results/default").unwrap(), 3);
    assert_eq!(schema.pointer("/properties/http/additionalProperties").unwrap(), false);
    assert!(!schema.pointer("/properties/http/properties").unwrap().as_object().unwrap().contains_key("admin_token"));
    assert!(compiled.contains("ADMIN_TOKEN_FILE"));
}

#[test]
fn the_folders_follow_the_configuration() {
    let own = config(&[("CORROBORATE_DATA_DIR", "/srv/c")]);
    assert_eq!(data_dir(&own), PathBuf::from("/srv/c"));
    assert!(data_dir(&Config::built_in()).components().count() > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every value gives a configuration or a list of one-line problems.
    #[test]
    fn no_value_breaks_the_reader(which in 0usize..1000, value in ".{0,60}") {
        let key = KEYS.get(which % KEYS.len()).unwrap();
        if let Err(error) = load_env(&[(key.env(), &value)]) {
            prop_assert!(!error.problems.is_empty());
            prop_assert_eq!(error.to_string().lines().count(), error.problems.len(), "{}", error);
        }
    }
}
