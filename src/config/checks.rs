//! Checks between keys: contradictions stop the start, doubtful combinations give warnings.
//!
//! Add a rule to a function that returns contradictions, or to `warnings`.

use std::net::IpAddr;

use secrecy::ExposeSecret as _;

use super::gathered::{LoadState, Source};
use super::model::{Config, DomainEntry, OpenSearchBackend, SearchProvider};
use super::names::by_path;
use super::problem::Problem;
use super::token;

/// Minimum number of queries in a claim's own language.
pub const LEAST_OWN_QUERIES: usize = 2;
const AUTO: &str = "auto";

/// Records contradictions and returns warnings.
pub(super) fn check(config: &Config, gathered: &mut LoadState) -> Vec<String> {
    let contradictions = contradictions(config, gathered);
    for contradiction in contradictions {
        // A key with its own problem still has the value of a lower layer.
        if !contradiction.keys.iter().any(|key| gathered.bad.contains(key)) {
            gathered.problems.push(contradiction.problem(gathered));
        }
    }
    warnings(config, gathered)
}

/// Messages name the first key.
struct Contradiction {
    keys: Vec<&'static str>,
    value: Option<String>,
    what: String,
    fix: String,
}

impl Contradiction {
    fn problem(self, gathered: &LoadState) -> Problem {
        let first = self.keys.first().copied().unwrap_or_default();
        let problem = Problem::new(written_as(first, gathered), self.what, self.fix);
        match self.value {
            Some(value) => problem.with_value(&value),
            None => problem,
        }
    }
}

/// Returns the path in a file, else the variable.
fn written_as(path: &str, gathered: &LoadState) -> String {
    match gathered.sources.get(path) {
        Some(Source::File(file)) => format!("{}: {path}", file.display()),
        Some(Source::Environment(name) | Source::SecretFile(name)) => name.clone(),
        _ => by_path(path).map_or_else(|| path.to_owned(), |key| key.env().into_owned()),
    }
}

fn contradictions(config: &Config, gathered: &LoadState) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let mut add = |is_wrong: bool, keys: &[&'static str], value: Option<String>, what: &str, fix: &str| {
        if is_wrong {
            found.push(Contradiction { keys: keys.to_vec(), value, what: what.to_owned(), fix: fix.to_owned() });
        }
    };
    let enrichment = &config.enrichment;
    add(
        enrichment.judged_passages > enrichment.passages_per_claim,
        &["enrichment.judged_passages", "enrichment.passages_per_claim"],
        Some(enrichment.judged_passages.to_string()),
        "is more than passages_per_claim, from which they are chosen",
        "raise passages_per_claim",
    );
    add(
        enrichment.max_sources > enrichment.candidate_pages,
        &["enrichment.max_sources", "enrichment.candidate_pages"],
        Some(enrichment.max_sources.to_string()),
        "is more than candidate_pages, from which they are chosen",
        "raise CORROBORATE_ENRICHMENT_CANDIDATE_PAGES",
    );
    let opensearch_asked = enrichment.providers.contains(&SearchProvider::OpenSearch)
        && gathered.sources.contains_key("enrichment.opensearch_backends");
    add(
        opensearch_asked && enrichment.opensearch_backends.is_empty(),
        &["enrichment.opensearch_backends", "enrichment.providers"],
        None,
        "is empty while ENRICHMENT_PROVIDERS names opensearch",
        "name a backend, or take opensearch out",
    );
    add(
        config.llm.base_url.is_some() && config.llm.model.is_none(),
        &["llm.base_url", "llm.model"],
        None,
        "is set and LLM_MODEL is not",
        "set LLM_MODEL to a model of that server",
    );
    for (key, is_on) in config.llm.switches() {
        add(
            is_on && config.llm.base_url.is_none(),
            &[key, "llm.base_url"],
            None,
            "is true and LLM_BASE_URL is not set",
            "set LLM_BASE_URL and LLM_MODEL, or switch it off",
        );
    }
    found.extend(guessable_tokens(config).filter(|_| !config.http.bind.ip().is_loopback()).map(|(key, why)| {
        Contradiction {
            keys: vec![key, "http.bind"],
            value: None,
            what: format!("{why}, so it can be guessed, and HTTP_BIND {} is open to the network", config.http.bind),
            fix: "make one with `corroborate tokens generate`".to_owned(),
        }
    }));
    found.extend(language_contradictions(config));
    found.extend(model_contradictions(config));
    found.extend(list_contradiction(config, gathered));
    found.extend(name_contradictions(config));
    found.extend(scoring_contradictions(config));
    found
}

/// Finds unknown languages, and rules without effect.
fn language_contradictions(config: &Config) -> Vec<Contradiction> {
    let (always, rules) = (&config.enrichment.query_languages, &config.enrichment.language_rules);
    let is_odd = |code: &&String| code.len() != 2 || !code.chars().all(|letter| letter.is_ascii_lowercase());
    let odd = |key, code: &String| Contradiction {
        keys: vec![key],
        value: Some(code.clone()),
        what: "holds what is no language code".to_owned(),
        fix: "write languages as two small letters (ISO 639-1): el, pl, de".to_owned(),
    };
    let of_rule = |name: &String, what: &str, fix: &str| Contradiction {
        keys: vec!["enrichment.language_rules"],
        value: Some(name.clone()),
        what: what.to_owned(),
        fix: fix.to_owned(),
    };
    let mut found: Vec<Contradiction> =
        always.iter().find(is_odd).map(|code| odd("enrichment.query_languages", code)).into_iter().collect();
    let codes = || rules.iter().flat_map(|rule| &rule.languages);
    found.extend(codes().find(is_odd).map(|code| odd("enrichment.language_rules", code)));
    for rule in rules {
        if rule.languages.is_empty() {
            found.push(of_rule(&rule.name, "is a rule without languages", "name some, or take the rule out"));
        }
        if rule.channels.is_empty() && rule.keywords.is_empty() {
            let fix = "name some, or put its languages into ENRICHMENT_QUERY_LANGUAGES for every item";
            found.push(of_rule(&rule.name, "is a rule with neither channels nor keywords", fix));
        }
        if rule.keywords.iter().any(|keyword| !keyword.chars().any(char::is_alphanumeric)) {
            found.push(of_rule(&rule.name, "is a rule with a keyword that is no word", "take that keyword out"));
        }
    }
    found
}

/// Finds model servers for a task whose setting names a local model.
fn model_contradictions(config: &Config) -> Vec<Contradiction> {
    let inference = &config.inference;
    let tasks = [
        ("inference.base_url", "inference.embedder", inference.base_url.is_some(), &inference.embedder),
        ("inference.stance_url", "inference.stance", inference.stance_url.is_some(), &inference.stance),
        ("inference.rerank_url", "inference.reranker", inference.rerank_url.is_some(), &inference.reranker),
    ];
    tasks
        .into_iter()
        .filter(|(_, _, has_server, chosen)| *has_server && *chosen != AUTO)
        .map(|(server, choice, _, chosen)| Contradiction {
            keys: vec![server, choice],
            value: None,
            what: format!("is set, and {choice} is {chosen}, which runs in the process"),
            fix: format!("leave {choice} at {AUTO}, or take the server out"),
        })
        .collect()
}

/// Finds domains that the user put on both lists. A denied domain of the built-in allow list is no contradiction.
fn list_contradiction(config: &Config, gathered: &LoadState) -> Option<Contradiction> {
    let keys = ["enrichment.denylist_domains", "enrichment.allowlist_domains"];
    if !keys.iter().all(|key| gathered.sources.contains_key(key)) {
        return None;
    }
    let allowed = &config.enrichment.allowlist_domains;
    let on_both = |entry: &&DomainEntry| allowed.iter().any(|other| other.domain == entry.domain);
    let entry = config.enrichment.denylist_domains.iter().find(on_both)?;
    Some(Contradiction {
        keys: keys.to_vec(),
        value: None,
        what: format!("names {}, which ENRICHMENT_ALLOWLIST_DOMAINS names too", entry.domain),
        fix: "keep it on one of the lists".to_owned(),
    })
}

/// Queues with one name would receive each other's messages; exchanges would share bindings.
fn name_contradictions(config: &Config) -> Vec<Contradiction> {
    let amqp = &config.amqp;
    let queues = vec![
        ("amqp.important_queue", &amqp.important_queue),
        ("amqp.enrichment_queue", &amqp.enrichment_queue),
        ("amqp.factcheck_queue", &amqp.factcheck_queue),
        ("amqp.dead_queue", &amqp.dead_queue),
    ];
    let exchanges = vec![
        ("amqp.exchange", &amqp.exchange),
        ("amqp.dead_exchange", &amqp.dead_exchange),
        ("amqp.results_exchange", &amqp.results_exchange),
    ];
    let mut found = Vec::new();
    for names in [queues, exchanges] {
        for (position, (key, name)) in names.iter().enumerate() {
            if let Some((other, _)) = names.iter().take(position).find(|(_, earlier)| earlier == name) {
                found.push(Contradiction {
                    keys: vec![key, other],
                    value: Some((*name).clone()),
                    what: format!("is also the name of {other}"),
                    fix: "give each a name of its own".to_owned(),
                });
            }
        }
    }
    found
}

fn scoring_contradictions(config: &Config) -> Vec<Contradiction> {
    let quality = config.scoring.quality;
    let sum = quality.credibility + quality.freshness + quality.relevance + quality.specificity;
    let mut found = Vec::new();
    if (sum - 1.0).abs() > 0.001 {
        found.push(Contradiction {
            keys: vec![
                "scoring.quality.credibility",
                "scoring.quality.freshness",
                "scoring.quality.relevance",
                "scoring.quality.specificity",
            ],
            value: Some(quality.credibility.to_string()),
            what: format!("sums to {sum:.3} with the other three shares of scoring.quality"),
            fix: "make the four sum to 1".to_owned(),
        });
    }
    found
}

/// Returns the sources other than search providers.
fn other_sources(config: &Config) -> Vec<&'static str> {
    let providers = &config.providers;
    let google = config.fact_check.google_enabled && providers.google.api_key.is_some();
    [
        (true, "stored pages"),
        (google, "published fact-checks"),
        (providers.feeds.enabled, "feeds"),
        (!providers.corpus.folders().is_empty(), "your own documents"),
        (!providers.api.endpoints.is_empty(), "your own endpoints"),
        (providers.database.url.is_some(), "your own database"),
    ]
    .into_iter()
    .filter_map(|(asked, name)| asked.then_some(name))
    .collect()
}

/// Warns about a missing token on a network address.
fn open_door(config: &Config) -> Option<String> {
    let http = &config.http;
    if http.bind.ip().is_loopback() {
        return None;
    }
    if http.admin_token.is_some() {
        return None;
    }
    let closed = if http.open_reading { "everything but looking" } else { "everything but the probes and /metrics" };
    Some(format!("HTTP_BIND {} is open to the network and ADMIN_TOKEN is not set: {closed} is closed", http.bind))
}

fn guessable_tokens(config: &Config) -> impl Iterator<Item = (&'static str, &'static str)> {
    let http = &config.http;
    let tokens = [("http.admin_token", &http.admin_token), ("http.read_token", &http.read_token)];
    tokens.into_iter().filter_map(|(key, token)| Some((key, token::guessable(token.as_ref()?.expose_secret())?)))
}

fn warnings(config: &Config, gathered: &LoadState) -> Vec<String> {
    let mut found: Vec<String> = open_door(config).into_iter().collect();
    if config.http.bind.ip().is_loopback() {
        found.extend(guessable_tokens(config).map(|(key, why)| {
            format!(
                "{} {why}, so it can be guessed; make one with `corroborate tokens generate`",
                written_as(key, gathered)
            )
        }));
    }
    let mut warn = |is_doubtful: bool, text: String| {
        if is_doubtful {
            found.push(text);
        }
    };
    warn(
        config.fetch.allow_private_addresses,
        "FETCH_ALLOW_PRIVATE_ADDRESSES is true: links in items can reach your internal network; only for tests"
            .to_owned(),
    );
    warn(
        !config.fetch.respect_robots,
        "fetch.respect_robots is false: pages are read that their sites forbid; only for your own sites".to_owned(),
    );
    warn(
        config.database.direct_url.is_some() && config.database.url.is_none(),
        "DATABASE_DIRECT_URL is set and DATABASE_URL, which names the pooler then, is not: the embedded database is used".to_owned(),
    );
    let enrichment = &config.enrichment;
    warn(
        config.http.request_timeout <= enrichment.max_time,
        "CORROBORATE_HTTP_REQUEST_TIMEOUT is not longer than ENRICHMENT_MAX_SECONDS: long checks end without an answer"
            .to_owned(),
    );
    warn(
        enrichment.daily_budget_usd > enrichment.monthly_cap_usd,
        format!(
            "ENRICHMENT_DAILY_BUDGET_USD {} is above ENRICHMENT_MONTHLY_CAP_USD {}: the cap stops paid calls before the \
             budget warns",
            enrichment.daily_budget_usd, enrichment.monthly_cap_usd
        ),
    );
    warn(
        enrichment.allowlist_only && enrichment.allowlist_domains.is_empty(),
        "ENRICHMENT_ALLOWLIST_ONLY is true and the allow list is empty: no page is used until a domain is added"
            .to_owned(),
    );
    warn(
        enrichment.enabled && enrichment.providers.is_empty(),
        format!(
            "ENRICHMENT_PROVIDERS is empty: no search provider is asked; evidence comes from {} only",
            other_sources(config).join(", ")
        ),
    );
    warn(
        enrichment.pilot_channels.is_empty(),
        "ENRICHMENT_PILOT_CHANNELS is empty: no item gets evidence; write all for every channel".to_owned(),
    );
    let google = &config.providers.google;
    warn(
        gathered.sources.contains_key("fact_check.google_enabled")
            && config.fact_check.google_enabled
            && google.api_key.is_none(),
        "FACTCHECK_GOOGLE_ENABLED is true and FACTCHECK_GOOGLE_API_KEY is not set: fact-checks are not looked up"
            .to_owned(),
    );
    warn(
        config.providers.newsapi.api_key.is_some() && !config.providers.newsapi.licensed,
        "ENRICHMENT_NEWSAPI_API_KEY is set and not used: the free plan forbids production; set \
         ENRICHMENT_NEWSAPI_LICENSED=true to confirm that yours permits it"
            .to_owned(),
    );
    found.extend(unused_languages(config, gathered));
    found.extend(unused_backends(config, gathered));
    found.extend(plain_text_keys(config));
    found
}

/// Finds configured languages that no query uses.
fn unused_languages(config: &Config, gathered: &LoadState) -> Vec<String> {
    let enrichment = &config.enrichment;
    let has_translator = config.translate.base_url.is_some() || config.llm.translates();
    let rules = enrichment.language_rules.iter().map(|rule| rule.languages.len());
    let wanted = [
        ("enrichment.query_languages", enrichment.query_languages.len()),
        ("enrichment.language_rules", rules.max().unwrap_or(0)),
    ];
    let room = enrichment.queries_max.saturating_sub(LEAST_OWN_QUERIES);
    let set = wanted.into_iter().filter(|(key, languages)| *languages > 0 && gathered.sources.contains_key(*key));
    let doubt = |(key, languages)| {
        let key = written_as(key, gathered);
        if !has_translator {
            Some(format!(
                "{key} is set and no translator is configured: claims are searched for in their own words alone; set \
                 TRANSLATE_BASE_URL, or LLM_BASE_URL and LLM_MODEL"
            ))
        } else if languages > room {
            Some(format!(
                "{key} names {languages} languages at once and enrichment.queries_max leaves room for {room}: the last are \
                 not asked in"
            ))
        } else {
            None
        }
    };
    set.filter_map(doubt).collect()
}

fn unused_backends(config: &Config, gathered: &LoadState) -> Vec<String> {
    let enrichment = &config.enrichment;
    let opensearch = |backend| {
        enrichment.providers.contains(&SearchProvider::OpenSearch) && enrichment.opensearch_backends.contains(&backend)
    };
    let providers = [
        ("providers.brave.api_key", opensearch(OpenSearchBackend::Brave)),
        ("providers.searxng.base_url", opensearch(OpenSearchBackend::Searxng)),
        ("providers.serpapi.api_key", opensearch(OpenSearchBackend::SerpApi)),
        ("providers.eventregistry.api_key", enrichment.providers.contains(&SearchProvider::EventRegistry)),
        ("providers.newsapi.api_key", enrichment.providers.contains(&SearchProvider::NewsApi)),
    ];
    providers
        .iter()
        .filter(|(key, in_use)| !in_use && gathered.sources.contains_key(key))
        .map(|(key, _)| {
            format!(
                "{} is set, but ENRICHMENT_PROVIDERS or ENRICHMENT_OPENSEARCH_BACKENDS leaves its provider out",
                written_as(key, gathered)
            )
        })
        .collect()
}

/// Keys that would be sent unencrypted.
fn plain_text_keys(config: &Config) -> Vec<String> {
    let mut servers: Vec<(&str, Option<&url::Url>, bool)> = config
        .providers
        .named()
        .into_iter()
        .map(|(name, provider)| (name, provider.base_url.as_ref(), provider.api_key.is_some()))
        .collect();
    servers.push(("llm", config.llm.base_url.as_ref(), config.llm.api_key.is_some()));
    servers.push(("translate", config.translate.base_url.as_ref(), config.translate.api_key.is_some()));
    let has_key = config.inference.api_key.is_some();
    servers.extend(config.inference.servers().map(|(name, url)| (name, Some(url), has_key)));
    servers
        .into_iter()
        .filter(|(_, url, has_key)| *has_key && url.is_some_and(|url| url.scheme() == "http" && !is_near(url)))
        .map(|(name, ..)| format!("the base URL of {name} is http: its key travels unencrypted; use https"))
        .collect()
}

/// Returns true for loopback, private networks and names without a dot (containers).
fn is_near(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback() || address.is_private(),
        Some(url::Host::Ipv6(address)) => IpAddr::V6(address).is_loopback() || address.is_unique_local(),
        Some(url::Host::Domain(name)) => !name.contains('.'),
        None => true,
    }
}
