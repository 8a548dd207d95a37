//! Adds pages that the item links to as texts of the item. Off by default.
//! Their claims are checked like the item's own; the pages are evidence for nothing. Unreadable pages are only
//! traced.

use std::collections::HashSet;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _};
use tokio::time::Instant;
use url::Url;

use super::candidate::Candidate;
use super::read::{EXPIRY_MARGIN, one};
use super::run_context::{Journal, Request};
use super::services::{PipelineError, Services};
use crate::domain::Item;
use crate::domain::item::{ItemSource, ItemSourceKind};
use crate::domain::limits::is_storable_url;
use crate::domain::rules::DomainRules;
use crate::providers::{Hit, Storage};
use crate::reading::{canonical_url, registered_domain};
use crate::store::Source;

const LINK: &str = "link";

/// The first links of an item: a digest with twenty links would be twenty stories.
const MAX_LINKS: usize = 3;

/// For one link, and for all of an item. A slow page must not cost the item its search.
const LINK_TIMEOUT: Duration = Duration::from_secs(5);
const LINKS_TIMEOUT: Duration = Duration::from_secs(10);

/// Characters used of a page: news states the main fact first.
const MAX_CHARS: usize = 6_000;

/// Parallel reads: links are often on one host.
const AT_ONCE: usize = 2;

/// Limit per item: a text with more is a list of links.
const MAX_ADDRESSES: usize = 200;

/// Minimum characters: shorter pages are notices.
const LEAST_CHARS: usize = 80;

/// Adds linked pages; `None` if nothing is added.
pub(super) async fn expand(
    services: &Services,
    request: &Request,
    journal: &Journal,
) -> Result<Option<Request>, PipelineError> {
    if !services.settings.expands_links || request.shed {
        return Ok(None);
    }
    let item = request.item.clone();
    let links = services.on_thread(move || links(&item, MAX_LINKS)).await?;
    if links.is_empty() {
        return Ok(None);
    }
    let rules = services.rules.current();
    let (denied, wanted): (Vec<Url>, Vec<Url>) =
        links.into_iter().partition(|url| rules.is_denied(url.host_str().unwrap_or_default()));
    for url in denied {
        journal.trace(format!("expand: {url} is not read: its domain is denied"));
    }
    let keys: Vec<String> = wanted.iter().map(|url| canonical_url(url).to_string()).collect();
    let stored = match keys.as_slice() {
        [] => Vec::new(),
        keys => services.store.sources_by_url(keys, journal.evaluated_at, EXPIRY_MARGIN).await?,
    };
    let until = journal.ask_until.min(Instant::now() + LINKS_TIMEOUT);
    let mut reading: Vec<BoxFuture<'_, Option<ItemSource>>> = Vec::with_capacity(wanted.len());
    for url in &wanted {
        reading.push(linked(services, url, &stored, &rules, until, journal).boxed());
    }
    let read: Vec<Option<ItemSource>> = stream::iter(reading).buffered(AT_ONCE).collect().await;
    let sources: Vec<ItemSource> = read.into_iter().flatten().collect();
    if sources.is_empty() {
        return Ok(None);
    }
    let mut expanded = request.clone();
    expanded.item.sources.extend(sources);
    Ok(Some(expanded))
}

/// Reads a linked page; `None` if it cannot be read.
async fn linked(
    services: &Services,
    url: &Url,
    stored: &[Source],
    rules: &DomainRules,
    until: Instant,
    journal: &Journal,
) -> Option<ItemSource> {
    let key = canonical_url(url);
    let hit = Hit {
        url: url.to_string(),
        title: String::new(),
        snippet: String::new(),
        published_at: None,
        language: None,
        provider: LINK,
        storage: Storage::Transient,
        content: None,
    };
    let domain = registered_domain(key.host_str().unwrap_or_default());
    let candidate = Candidate { url: key.clone(), hit, domain, about: true };
    let now = Instant::now();
    let until = until.min(now + LINK_TIMEOUT);
    // Degradations here are not the item's.
    let own = Journal {
        ask_until: until,
        is_rejudging: journal.is_rejudging,
        ..Journal::new(now, LINK_TIMEOUT, journal.evaluated_at)
    };
    let cached = services.page_cache.get(key.as_str()).await.filter(|page| page.expires_at > journal.evaluated_at);
    let known = stored.iter().find(|source| source.url == key.as_str());
    let read = one(services, &candidate, cached, known, rules, &own).await;
    let page = match read {
        Ok(read) => read.page,
        Err(error) => {
            journal.trace(format!("expand: {url} was not read: {error}"));
            return None;
        }
    };
    let failure = page.failure.as_deref().or_else(|| page.is_denied(rules).then_some("its domain is denied"));
    if let Some(why) = failure {
        journal.trace(format!("expand: {url} was not read: {why}"));
        return None;
    }
    let title = page.title.iter().filter(|title| !page.text.starts_with(title.as_str()));
    let whole = title.map(String::as_str).chain([page.text.as_str()]).collect::<Vec<_>>().join("\n\n");
    let text: String = whole.chars().take(MAX_CHARS).collect();
    if text.chars().count() < LEAST_CHARS {
        journal.trace(format!("expand: {url} was not read: it has hardly a text"));
        return None;
    }
    journal.trace(format!("expand: {} character(s) of {url}", text.chars().count()));
    let address = canonical_url(&page.final_url).to_string();
    Some(ItemSource { kind: ItemSourceKind::LinkContext, text, url: Some(address) })
}

/// Addresses in the own text, without the item's and those whose text was sent along.
fn links(item: &Item, most: usize) -> Vec<Url> {
    let canonical = |address: &str| Url::parse(address).ok().map(|url| canonical_url(&url));
    let mut seen: HashSet<Url> =
        item.url.iter().map(String::as_str).chain(item.linked()).filter_map(canonical).collect();
    let own = item.typed_texts().filter(|typed| typed.kind == ItemSourceKind::OriginalText);
    let mut links = Vec::new();
    for url in own.flat_map(|typed| addresses(typed.text)).take(MAX_ADDRESSES) {
        if links.len() == most {
            break;
        }
        if seen.insert(canonical_url(&url)) {
            links.push(url);
        }
    }
    links
}

/// Finds addresses; lazy, because a long text may contain many.
fn addresses(text: &str) -> impl Iterator<Item = Url> {
    let is_end = |c: char| {
        c.is_whitespace() || matches!(c, '<' | '>' | '"' | '«' | '»' | '„' | '“' | '”' | '|' | '`' | '{' | '}')
    };
    let begins = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        ["https://", "http://"]
            .iter()
            .any(|scheme| rest.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)))
    };
    let mut from = 0;
    let words = std::iter::from_fn(move || {
        let at = (from..text.len()).find(|at| begins(*at))?;
        let rest = text.get(at..).unwrap_or_default();
        let whole = rest.split(is_end).next().unwrap_or_default();
        from = at + whole.len().max(1);
        Some(whole)
    });
    // Trimming is quadratic, so words that are too long are dropped first.
    let words = words.filter(|word| is_storable_url(word));
    let urls = words.filter_map(|word| Url::parse(without_marks(word)).ok());
    // Percent-encoding may make an address too long.
    let urls = urls.filter(|url| is_storable_url(url.as_str()));
    urls.filter(|url| url.host_str().is_some_and(|host| host.contains('.') || host == "localhost"))
}

/// Removes punctuation. A bracket stays if its other half is in the address.
fn without_marks(address: &str) -> &str {
    let mut bare = address;
    while let Some(last) = bare.chars().next_back() {
        let is_mark = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '…' | '\'' | '’' | '*' | '_' | '~' => true,
            ')' => bare.matches(')').count() > bare.matches('(').count(),
            ']' => bare.matches(']').count() > bare.matches('[').count(),
            _ => false,
        };
        if !is_mark {
            break;
        }
        bare = bare.get(..bare.len() - last.len_utf8()).unwrap_or_default();
    }
    // Markdown: "[text](address)" inside a word.
    bare.split_once("](").map_or(bare, |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        addresses(text).map(|url| url.to_string()).collect()
    }

    #[test]
    fn addresses_are_found_without_the_marks_behind_them() {
        for (text, expected) in [
            ("Read (https://a.example/b).", vec!["https://a.example/b"]),
            (
                "«http://a.example/x?y=1», сказал он: HTTPS://b.example!",
                vec!["http://a.example/x?y=1", "https://b.example/"],
            ),
            (
                "https://en.wikipedia.example/wiki/Brana_(city), see",
                vec!["https://en.wikipedia.example/wiki/Brana_(city)"],
            ),
            (
                "[link](https://a.example/b) and **https://c.example/**",
                vec!["https://a.example/b", "https://c.example/"],
            ),
            ("https:// http://nohost ftp://a.example a.example", vec![]),
            ("дивіться https://a.example/стаття…", vec!["https://a.example/%D1%81%D1%82%D0%B0%D1%82%D1%82%D1%8F"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn links_are_found_in_time_when_a_text_is_hostile() {
        let megabyte = 1024 * 1024;
        let brackets = format!("https://a.example/{}", ")".repeat(megabyte));
        let list: Vec<String> = (0..60_000).map(|number| format!("https://{number}.a.example")).collect();
        let started = std::time::Instant::now();
        assert_eq!(found(&brackets).len(), 0, "longer than any address that is fetched");
        let mut item = Item::from_claim("a".to_owned(), &list.join(" "));
        item.sources = vec![ItemSource { kind: ItemSourceKind::OriginalText, text: brackets, url: None }];
        assert_eq!(links(&item, 5).len(), 5);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn address_is_left_out_when_it_is_longer_than_the_store_keeps() {
        let address = |letter: &str, letters: usize| format!("https://a.example/{}", letter.repeat(letters));
        assert_eq!(found(&address("a", 2_030)).len(), 1);
        assert_eq!(found(&address("a", 2_031)).len(), 0);
        assert_eq!(found(&address("\u{44f}", 500)).len(), 0, "its encoded form has 3,018 bytes");
    }

    #[test]
    fn only_the_items_own_words_are_searched_for_links_and_each_is_read_once() {
        let mut item = Item::from_claim(
            "a".to_owned(),
            "https://own.example/1 https://a.example/1 https://a.example/1?utm_source=t https://b.example/2 https://c.example",
        );
        item.url = Some("https://own.example/1".to_owned());
        let source = |kind, text: &str, url: Option<&str>| ItemSource {
            kind,
            text: text.to_owned(),
            url: url.map(str::to_owned),
        };
        item.sources = vec![
            source(ItemSourceKind::Image, "https://image.example/", None),
            source(ItemSourceKind::LinkContext, "https://nested.example/", Some("https://b.example/2")),
            source(ItemSourceKind::OriginalText, "https://d.example/", None),
        ];
        let hosts =
            |most| links(&item, most).iter().filter_map(|url| url.host_str().map(str::to_owned)).collect::<Vec<_>>();
        assert_eq!(hosts(9), ["a.example", "c.example", "d.example"]);
        assert_eq!(hosts(1), ["a.example"]);
    }
}
