//! Checks between keys: contradictions stop the start, doubtful combinations give warnings.
//!
//! Add a rule to a function that records contradictions, or to `warn`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use secrecy::ExposeSecret as _;

use super::load::Loader;
use super::problem::Problem;
use super::settings::{Config, OpenSearchBackend, SearchProvider};

/// Minimum number of queries in a claim's own language.
pub const LEAST_OWN_QUERIES: usize = 2;
const AUTO: &str = "auto";

/// Records contradictions and warnings.
pub(super) fn check(config: &Config, loader: &mut Loader) {
    check_services(config, loader);
    check_languages(config, loader);
    check_lists(config, loader);
    check_names(config, loader);
    warn(config, loader);
}

impl Loader {
    /// Records a contradiction between keys. The message names the first one.
    fn contradict(&mut self, keys: &[&str], value: Option<&str>, what: impl Into<String>, fix: impl Into<String>) {
        // A key with its own problem still has the value of a lower layer.
        if keys.iter().any(|key| self.is_bad(key)) {
            return;
        }
        let problem = Problem::new(self.written_as(keys.first().copied().unwrap_or_default()), what, fix);
        self.problems.push(match value {
            Some(value) => problem.with_value(value),
            None => problem,
        });
    }
}

/// Finds services without what they need, and tokens that can be guessed.
fn check_services(config: &Config, loader: &mut Loader) {
    let enrichment = &config.enrichment;
    let has_opensearch = enrichment.providers.contains(&SearchProvider::OpenSearch);
    let keys = ["enrichment.opensearch_backends", "enrichment.providers"];
    if has_opensearch && loader.is_set(keys[0]) && enrichment.opensearch_backends.is_empty() {
        let fix = "name a backend, or take opensearch out";
        loader.contradict(&keys, None, "is empty while ENRICHMENT_PROVIDERS names opensearch", fix);
    }
    if config.llm.base_url.is_some() && config.llm.model.is_none() {
        let fix = "set LLM_MODEL to a model of that server";
        loader.contradict(&["llm.base_url", "llm.model"], None, "is set and LLM_MODEL is not", fix);
    }
    for (key, _) in config.llm.switches().into_iter().filter(|(_, is_on)| *is_on && config.llm.base_url.is_none()) {
        let fix = "set LLM_BASE_URL and LLM_MODEL, or switch it off";
        loader.contradict(&[key, "llm.base_url"], None, "is true and LLM_BASE_URL is not set", fix);
    }
    let inference = &config.inference;
    for (server, choice, has_server, chosen) in [
        ("inference.base_url", "inference.embedder", inference.base_url.is_some(), &inference.embedder),
        ("inference.stance_url", "inference.stance", inference.stance_url.is_some(), &inference.stance),
        ("inference.rerank_url", "inference.reranker", inference.rerank_url.is_some(), &inference.reranker),
    ] {
        if has_server && *chosen != AUTO {
            let what = format!("is set, and {choice} is {chosen}, which runs in the process");
            loader.contradict(
                &[server, choice],
                None,
                what,
                format!("leave {choice} at {AUTO}, or take the server out"),
            );
        }
    }
    let http = &config.http;
    for (key, token) in [("http.admin_token", &http.admin_token), ("http.read_token", &http.read_token)] {
        let Some(why) = token.as_ref().and_then(|token| guessable(token.expose_secret())) else { continue };
        let fix = "make one with `corroborate tokens generate`";
        if http.bind.ip().is_loopback() {
            loader.warnings.push(format!("{} {why}, so it can be guessed; {fix}", loader.written_as(key)));
        } else {
            let what = format!("{why}, so it can be guessed, and HTTP_BIND {} is open to the network", http.bind);
            loader.contradict(&[key, "http.bind"], None, what, fix);
        }
    }
}

/// Finds unknown languages, and rules without effect.
fn check_languages(config: &Config, loader: &mut Loader) {
    const RULES: &str = "enrichment.language_rules";
    let (always, rules) = (&config.enrichment.query_languages, &config.enrichment.language_rules);
    let is_odd = |code: &&String| code.len() != 2 || !code.chars().all(|letter| letter.is_ascii_lowercase());
    let of_rules = rules.iter().flat_map(|rule| &rule.languages).find(is_odd);
    for (key, code) in [("enrichment.query_languages", always.iter().find(is_odd)), (RULES, of_rules)] {
        if let Some(code) = code {
            let fix = "write languages as two small letters (ISO 639-1): el, pl, de";
            loader.contradict(&[key], Some(code), "holds what is no language code", fix);
        }
    }
    for rule in rules {
        let mut refuse = |what: &str, fix: &str| loader.contradict(&[RULES], Some(&rule.name), what, fix);
        if rule.languages.is_empty() {
            refuse("is a rule without languages", "name some, or take the rule out");
        }
        if rule.channels.is_empty() && rule.keywords.is_empty() {
            let fix = "name some, or put its languages into ENRICHMENT_QUERY_LANGUAGES for every item";
            refuse("is a rule with neither channels nor keywords", fix);
        }
        if rule.keywords.iter().any(|keyword| !keyword.chars().any(char::is_alphanumeric)) {
            refuse("is a rule with a keyword that is no word", "take that keyword out");
        }
    }
}

/// Finds domains that the user put on both lists. A denied domain of the built-in allow list is no contradiction.
fn check_lists(config: &Config, loader: &mut Loader) {
    let keys = ["enrichment.denylist_domains", "enrichment.allowlist_domains"];
    let allowed = &config.enrichment.allowlist_domains;
    let mut denied = config.enrichment.denylist_domains.iter();
    if let Some(entry) = denied.find(|entry| allowed.iter().any(|other| other.domain == entry.domain))
        && keys.iter().all(|key| loader.is_set(key))
    {
        let what = format!("names {}, which ENRICHMENT_ALLOWLIST_DOMAINS names too", entry.domain);
        loader.contradict(&keys, None, what, "keep it on one of the lists");
    }
}

/// Queues with one name would receive each other's messages; exchanges would share bindings.
fn check_names(config: &Config, loader: &mut Loader) {
    let amqp = &config.amqp;
    let queues = [
        ("amqp.important_queue", &amqp.important_queue),
        ("amqp.enrichment_queue", &amqp.enrichment_queue),
        ("amqp.factcheck_queue", &amqp.factcheck_queue),
        ("amqp.dead_queue", &amqp.dead_queue),
    ];
    let exchanges = [
        ("amqp.exchange", &amqp.exchange),
        ("amqp.dead_exchange", &amqp.dead_exchange),
        ("amqp.results_exchange", &amqp.results_exchange),
    ];
    for names in [queues.as_slice(), exchanges.as_slice()] {
        for (position, (key, name)) in names.iter().enumerate() {
            if let Some((other, _)) = names.iter().take(position).find(|(_, earlier)| earlier == name) {
                let what = format!("is also the name of {other}");
                loader.contradict(&[key, other], Some(name), what, "give each a name of its own");
            }
        }
    }
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

fn warn(config: &Config, loader: &mut Loader) {
    let (http, enrichment, providers) = (&config.http, &config.enrichment, &config.providers);
    let doubts = [
        (
            config.fetch.allow_private_addresses,
            "FETCH_ALLOW_PRIVATE_ADDRESSES is true: links in items can reach your internal network; only for tests",
        ),
        (
            !config.fetch.respect_robots,
            "fetch.respect_robots is false: pages are read that their sites forbid; only for your own sites",
        ),
        (
            config.database.direct_url.is_some() && config.database.url.is_none(),
            "DATABASE_DIRECT_URL is set and DATABASE_URL, which names the pooler then, is not: the embedded database is \
             used",
        ),
        (
            enrichment.daily_budget_usd > enrichment.monthly_cap_usd,
            "ENRICHMENT_DAILY_BUDGET_USD is above ENRICHMENT_MONTHLY_CAP_USD: the cap stops paid calls before the \
             budget warns",
        ),
        (
            enrichment.allowlist_only && enrichment.allowlist_domains.is_empty(),
            "ENRICHMENT_ALLOWLIST_ONLY is true and the allow list is empty: no page is used until a domain is added",
        ),
        (
            enrichment.pilot_channels.is_empty(),
            "ENRICHMENT_PILOT_CHANNELS is empty: no item gets evidence; write all for every channel",
        ),
        (
            loader.is_set("fact_check.google_enabled")
                && config.fact_check.google_enabled
                && providers.google.api_key.is_none(),
            "FACTCHECK_GOOGLE_ENABLED is true and FACTCHECK_GOOGLE_API_KEY is not set: fact-checks are not looked up",
        ),
        (
            providers.newsapi.api_key.is_some() && !providers.newsapi.licensed,
            "ENRICHMENT_NEWSAPI_API_KEY is set and not used: the free plan forbids production; set \
             ENRICHMENT_NEWSAPI_LICENSED=true to confirm that yours permits it",
        ),
    ];
    let mut found: Vec<String> =
        doubts.into_iter().filter(|(is_doubtful, _)| *is_doubtful).map(|(_, text)| text.to_owned()).collect();
    if !http.admin_open() {
        let closed =
            if http.open_reading { "everything but looking" } else { "everything but the probes and /metrics" };
        let bind = http.bind;
        found.push(format!("HTTP_BIND {bind} is open to the network and ADMIN_TOKEN is not set: {closed} is closed"));
    }
    if enrichment.enabled && enrichment.providers.is_empty() {
        let others = other_sources(config).join(", ");
        found.push(format!(
            "ENRICHMENT_PROVIDERS is empty: no search provider is asked; evidence comes from {others} only"
        ));
    }
    found.extend(unused_languages(config, loader));
    found.extend(unused_backends(config, loader));
    found.extend(plain_text_keys(config));
    loader.warnings.extend(found);
}

/// Finds configured languages that no query uses.
fn unused_languages(config: &Config, loader: &Loader) -> Vec<String> {
    let enrichment = &config.enrichment;
    let has_translator = config.translate.base_url.is_some() || config.llm.translates();
    let rules = enrichment.language_rules.iter().map(|rule| rule.languages.len());
    let wanted = [
        ("enrichment.query_languages", enrichment.query_languages.len()),
        ("enrichment.language_rules", rules.max().unwrap_or(0)),
    ];
    let room = enrichment.queries_max.saturating_sub(LEAST_OWN_QUERIES);
    let set = wanted.into_iter().filter(|(key, languages)| *languages > 0 && loader.is_set(key));
    let doubt = |(key, languages)| {
        let key = loader.written_as(key);
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

fn unused_backends(config: &Config, loader: &Loader) -> Vec<String> {
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
        .filter(|(key, in_use)| !in_use && loader.is_set(key))
        .map(|(key, _)| {
            format!(
                "{} is set, but ENRICHMENT_PROVIDERS or ENRICHMENT_OPENSEARCH_BACKENDS leaves its provider out",
                loader.written_as(key)
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

/// Shortest random token, in characters: 128 bits in hexadecimal.
const MIN_CHARACTERS: usize = 32;
/// Fewest different characters of a random token. Of 32 random hexadecimal digits, one in ten million has fewer.
const MIN_DISTINCT_CHARACTERS: usize = 8;
/// Fewest different steps between neighbouring characters; `abcdef` has one.
const MIN_DISTINCT_STEPS: usize = 8;

/// Returns the reason as the end of a sentence, or `None` if the token looks random. A long sentence passes.
fn guessable(token: &str) -> Option<&'static str> {
    let characters: Vec<u32> = token.chars().map(u32::from).collect();
    let distinct: BTreeSet<u32> = characters.iter().copied().collect();
    let steps: BTreeSet<i64> = characters.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).collect();
    if characters.len() < MIN_CHARACTERS {
        Some("is shorter than 32 characters")
    } else if distinct.len() < MIN_DISTINCT_CHARACTERS {
        Some("has too few different characters")
    } else if steps.len() < MIN_DISTINCT_STEPS {
        Some("is a sequence")
    } else if is_repetition(&characters) {
        Some("repeats a short text")
    } else {
        None
    }
}

/// Returns true if the text repeats a part shorter than [`MIN_CHARACTERS`].
fn is_repetition(characters: &[u32]) -> bool {
    let longest = (MIN_CHARACTERS - 1).min(characters.len() / 2);
    (1..=longest).any(|length| characters.iter().zip(characters.iter().skip(length)).all(|(one, next)| one == next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_guessable_when_it_is_short_or_regular() {
        for (token, why) in [
            ("", "shorter"),
            ("corroborate2026admin", "shorter"),
            ("0123456789abcdef0123456789abcde", "shorter"),
            (&"a".repeat(40), "few different"),
            (&"secret".repeat(10), "few different"),
            ("abcdefghijklmnopqrstuvwxyz0123456789", "sequence"),
            ("corroborate2026admincorroborate2026admin", "repeats"),
            ("change-me-change-me-change-me-change-me", "repeats"),
        ] {
            assert!(guessable(token).is_some_and(|found| found.contains(why)), "{token}: {:?}", guessable(token));
        }
    }

    #[test]
    fn random_token_is_not_guessable() {
        for _ in 0..500 {
            let hex = format!("{:032x}", rand::random::<u128>() | 1 << 127);
            assert_eq!(guessable(&hex), None, "{hex}");
        }
        assert_eq!(guessable("8301946275520918364740295183627405918273"), None);
        assert_eq!(guessable("q7VhJ2mXw9Rk4TzB8nLc6YfPd3SgA5eU"), None);
    }
}
