//! The format of the `MediaWiki` action API, version 2: an answer without results has no `query`, and errors come with
//! status 200.

use serde::Deserialize;
use serde_json::Value;
use url::{Host, Url};

use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Answer, Hit, Query, wire};

pub(super) const ENGLISH: &str = "en";

/// Editions with more than 50,000 articles whose code is ISO 639-1.
pub(super) const LANGUAGES: &[&str] = &[
    "ar", "az", "be", "bg", "bn", "ca", "cs", "cy", "da", "de", "el", "en", "eo", "es", "et", "eu", "fa", "fi", "fr",
    "gl", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "ko", "ky", "la", "lt", "lv", "mk", "ms",
    "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "ta", "te", "tg", "th", "tr", "tt", "uk",
    "ur", "uz", "vi", "zh",
];

/// Terms of a search, which are joined by OR: an article about a false claim's subject lacks the false words.
const MAX_TERMS: usize = 6;
const MAX_QUERY_CHARS: usize = 200;
/// Articles per query. The first ones are about the subject; each is one independent source.
const MAX_ARTICLES: usize = 3;
/// Disambiguation pages take places in the response and are skipped.
const SPARE_ARTICLES: usize = 2;
/// Beginning of an article, in characters.
const EXTRACT_CHARS: &str = "600";
/// An article whose beginning is shorter is a stub: its English counterpart is returned instead. Never both, because the
/// editions of one article are not independent.
const MIN_EXTRACT_CHARS: usize = 200;
/// Seconds of replication lag from which Wikimedia wants clients to stop.
const MAX_LAG: &str = "5";

#[derive(Debug, Deserialize)]
struct Reply {
    #[serde(default)]
    error: Option<Failure>,
    #[serde(default)]
    query: Option<Pages>,
    #[serde(default)]
    batchcomplete: Option<Value>,
    #[serde(default, rename = "continue")]
    more: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Failure {
    #[serde(default, deserialize_with = "wire::text")]
    code: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    info: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Pages {
    #[serde(default, deserialize_with = "wire::list")]
    pages: Vec<Article>,
}

#[derive(Debug, Deserialize)]
struct Article {
    /// Rank of the search result. Pages are sorted by id.
    #[serde(default)]
    index: Option<u64>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
    #[serde(default, rename = "fullurl", deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    extract: Option<String>,
    /// Has the key `disambiguation` on a disambiguation page.
    #[serde(default)]
    pageprops: Option<Value>,
    #[serde(default, deserialize_with = "wire::list")]
    langlinks: Vec<Counterpart>,
}

#[derive(Debug, Deserialize)]
struct Counterpart {
    #[serde(default, deserialize_with = "wire::text")]
    lang: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
}

/// Returns the origin of a language's edition.
pub(super) fn origin(base: &Url, language: &str) -> Url {
    let mut origin = base.clone();
    if let Some(Host::Domain(host)) = base.host()
        && host.contains('.')
        && LANGUAGES.contains(&language)
    {
        let edition = host.split_once('.').filter(|(label, _)| *label == "www" || LANGUAGES.contains(label));
        let host = format!("{language}.{}", edition.map_or(host, |(_, rest)| rest));
        // The language is ASCII, so the host stays valid.
        let _unchanged = origin.set_host(Some(&host));
    }
    origin
}

pub(super) fn url(endpoint: &Url, query: &Query, language: &str) -> Result<Url, AskError> {
    let search = search_text(query);
    if search.is_empty() {
        return Err(AskError::Refused { detail: "the query has no word to search for".to_owned() });
    }
    let articles = query.limit.clamp(1, MAX_ARTICLES) + SPARE_ARTICLES;
    let mut url = endpoint.clone();
    let mut parameters = url.query_pairs_mut();
    for (name, value) in [
        ("action", "query"),
        ("format", "json"),
        ("formatversion", "2"),
        ("maxlag", MAX_LAG),
        ("generator", "search"),
        ("gsrnamespace", "0"),
        ("prop", if language == ENGLISH { "info|extracts|pageprops" } else { "info|extracts|pageprops|langlinks" }),
        ("inprop", "url"),
        ("exintro", "1"),
        ("explaintext", "1"),
        ("exchars", EXTRACT_CHARS),
        ("exlimit", "max"),
        ("ppprop", "disambiguation"),
    ] {
        parameters.append_pair(name, value);
    }
    if language != ENGLISH {
        parameters.append_pair("lllang", ENGLISH).append_pair("llprop", "url").append_pair("lllimit", "max");
    }
    parameters.append_pair("gsrlimit", &articles.to_string()).append_pair("gsrsearch", &search);
    drop(parameters);
    Ok(url)
}

/// Returns the terms, or the words of the text, without search operators.
pub(super) fn search_text(query: &Query) -> String {
    let terms = query.terms.iter().map(|term| words(term)).filter(|term| !term.is_empty()).take(MAX_TERMS);
    // The tilde keeps the stemming of a phrase: names are inflected.
    let quoted = terms.map(|term| if term.contains(' ') { format!("\"{term}\"~") } else { term });
    let mut search = String::new();
    for term in quoted {
        let separator = if search.is_empty() { "" } else { " OR " };
        if search.chars().count() + separator.len() + term.chars().count() > MAX_QUERY_CHARS {
            break;
        }
        search.push_str(separator);
        search.push_str(&term);
    }
    if search.is_empty() { wire::clip(&words(&query.text), MAX_QUERY_CHARS, usize::MAX) } else { search }
}

/// Splits at ASCII punctuation, which can be operators as in `insource:`, except hyphens, apostrophes, points and commas
/// within words.
fn words(text: &str) -> String {
    let is_break = |character: char| {
        character.is_whitespace()
            || character.is_control()
            || (character.is_ascii_punctuation() && !matches!(character, '-' | '\'' | '.' | ','))
    };
    let is_edge =
        |character: char| !character.is_alphanumeric() && (character.is_ascii() || "…«»“”„–—".contains(character));
    let words = text.split(is_break).map(|word| word.trim_matches(is_edge));
    // In capitals they are operators.
    let words = words.filter(|word| !word.is_empty() && !matches!(*word, "OR" | "AND" | "NOT"));
    words.collect::<Vec<_>>().join(" ")
}

pub(super) fn read(response: &ApiResponse, query: &Query, language: &str) -> Result<Answer, AskError> {
    if let Some(error) = response.status_error() {
        return Err(wire::without_key(error));
    }
    let reply: Reply = wire::json(response)?;
    if let Some(failure) = reply.error {
        return Err(failed(&failure, response));
    }
    let Some(Pages { mut pages }) = reply.query else {
        return if reply.batchcomplete.is_some() || reply.more.is_some() {
            Ok(Answer::default())
        } else {
            Err(AskError::Malformed { detail: "the answer has no query and no error".to_owned() })
        };
    };
    pages.retain(|page| page.pageprops.as_ref().is_none_or(|props| props.get("disambiguation").is_none()));
    pages.sort_by_key(|page| page.index.unwrap_or(u64::MAX));
    pages.truncate(query.limit.clamp(1, MAX_ARTICLES));
    let edition = |page: &Article| {
        let is_stub = page.extract.as_deref().is_none_or(|text| text.chars().count() < MIN_EXTRACT_CHARS);
        let english = page.langlinks.iter().find(|one| is_stub && one.lang.as_deref() == Some(ENGLISH));
        let english = english.and_then(|one| hit(one.url.as_deref(), one.title.as_deref(), None, ENGLISH, query));
        let own = || hit(page.url.as_deref(), page.title.as_deref(), page.extract.as_deref(), language, query);
        english.or_else(own)
    };
    let hits = wire::distinct(pages.iter().filter_map(edition)).collect();
    Ok(Answer { hits, ..Answer::default() })
}

fn failed(failure: &Failure, response: &ApiResponse) -> AskError {
    let code = failure.code.as_deref().unwrap_or("unknown");
    let detail = excerpt(&format!("{code}: {}", failure.info.as_deref().unwrap_or_default()));
    match code {
        "maxlag" | "ratelimited" => AskError::Throttled { retry_after: response.retry_after() },
        "readonly" => AskError::Server { status: 503 },
        _ if code.starts_with("internal_api_error") => AskError::Server { status: 500 },
        // The search cluster, as in `cirrussearch-too-busy-error`.
        _ if code.starts_with("cirrussearch-") && (code.contains("busy") || code.contains("backend")) => {
            AskError::Server { status: 503 }
        }
        _ => AskError::CouldNotAsk { detail },
    }
}

fn hit(url: Option<&str>, title: Option<&str>, extract: Option<&str>, language: &str, query: &Query) -> Option<Hit> {
    let url = wire::page_url(url?).filter(|url| wire::is_within(url, &query.domains))?;
    Some(Hit {
        url: url.to_string(),
        title: wire::one_line(title.unwrap_or_default()),
        snippet: wire::one_line(extract.unwrap_or_default()),
        // An article has a last change but no publication.
        published_at: None,
        language: Some(language.to_owned()),
        provider: super::NAME,
        storage: super::STORAGE,
        content: None,
    })
}
