//! Reads the pages of an item.
//! Steps: use unexpired stored pages again, fetch the others safely, parse them, and add the pages of the evidence
//! store.
//! A text that came with a provider's answer is a page without a fetch.
//! A page that cannot be read is stored as failed and is never evidence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use url::Url;

use super::candidate::{Candidate, same_page};
use super::page::{PreparedPage, empty_page, from_article, from_content, from_store, served_from};
use super::page_failure::{PageFailure, could_not_ask};
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Origin;
use crate::domain::{Degradation, Item};
use crate::outbound::{FetchError, FetchOutcome, FetchedPage, Validators};
use crate::parsing::ParseError;
use crate::providers::knowledge;
use crate::reading::{self, Junk, canonical_url};
use crate::store::Source;
use crate::telemetry::metrics;

#[derive(Debug, Clone)]
pub(crate) struct ReadPage {
    pub(crate) page: Arc<PreparedPage>,
    pub(crate) provider: &'static str,
    /// Whether the page was stored before this item arrived.
    pub(crate) reused: bool,
    /// Number of earlier uses; 0 unless the evidence store led to the page.
    pub(crate) access_count: u32,
}

impl ReadPage {
    pub(super) fn new(page: Arc<PreparedPage>, provider: &'static str, reused: bool) -> Self {
        Self { page, provider, reused, access_count: 0 }
    }

    /// Whether the evidence store led to the page.
    pub(crate) fn is_known(&self) -> bool {
        self.provider == knowledge::NAME
    }

    /// Returns the origin of the passages; fact-checkers are not distinguished here.
    pub(crate) fn origin(&self) -> Origin {
        if self.is_known() { Origin::Kb } else { self.page.origin }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Pages {
    pub(crate) read: Vec<ReadPage>,
    pub(crate) rules: Arc<DomainRules>,
    pub(crate) searched: bool,
    /// A page that repeats the item's texts is not independent of it.
    pub(crate) item_channel: Option<String>,
    pub(crate) item_texts: Vec<OwnText>,
}

#[derive(Debug, Clone)]
pub(crate) struct OwnText {
    pub(crate) url: Option<String>,
    pub(crate) text: String,
}

#[derive(Debug, Default)]
pub(crate) struct RetrievalResult {
    /// Pages of the evidence store.
    pub(crate) known: Vec<ReadPage>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) rules: Arc<DomainRules>,
    pub(crate) searched: bool,
}

/// How long an unreadable page is not fetched again.
const UNREADABLE_TTL: TimeDelta = TimeDelta::minutes(10);

/// Minimum age at which a re-evaluation reads a page again.
const MIN_REFETCH_AGE: std::time::Duration = std::time::Duration::from_mins(10);

fn oldest(services: &Services, journal: &Journal) -> DateTime<Utc> {
    let age = services.settings.page_ttl;
    let age = if journal.is_rejudging { age.min(MIN_REFETCH_AGE) } else { age };
    journal.evaluated_at - TimeDelta::from_std(age).unwrap_or(TimeDelta::days(1))
}

/// A page that expires within this time is read again, because its row may be deleted while the item is judged.
pub(super) const EXPIRY_MARGIN: TimeDelta = TimeDelta::minutes(10);

pub(super) async fn read(
    services: &Services,
    item: &Item,
    found: &RetrievalResult,
    journal: &Journal,
) -> Result<Pages, PipelineError> {
    let horizon = journal.evaluated_at + EXPIRY_MARGIN;
    let oldest = oldest(services, journal);
    let is_stale = |page: &PreparedPage| page.expires_at <= horizon || (journal.is_rejudging && page.read_at < oldest);
    let mut cached: Vec<Option<Arc<PreparedPage>>> = Vec::with_capacity(found.candidates.len());
    for candidate in &found.candidates {
        if candidate.hit.content.is_some() {
            // The provider sent the text, which is newer than any copy.
            cached.push(None);
            continue;
        }
        let key = candidate.url.as_str();
        let page = services.page_cache.get(key).await;
        if page.as_ref().is_some_and(|page| is_stale(page)) {
            // Otherwise `get_or_fetch` below would return the stale page.
            services.page_cache.forget(key).await;
        }
        cached.push(page.filter(|page| !is_stale(page)));
    }
    let missing: Vec<String> = found
        .candidates
        .iter()
        .zip(&cached)
        .filter(|(candidate, page)| page.is_none() && candidate.hit.content.is_none())
        .map(|(candidate, _)| candidate.url.to_string())
        .collect();
    let stored = services.store.sources_by_url(&missing, journal.evaluated_at, EXPIRY_MARGIN).await?;
    let reading = found.candidates.iter().zip(cached).map(|(candidate, cached)| {
        let known = stored.iter().find(|source| source.url == candidate.url.as_str());
        one(services, candidate, cached, known, &found.rules, journal)
    });
    let outcomes = join_all(reading).await;
    let not_asked = outcomes.iter().filter(|outcome| outcome.as_ref().is_err_and(could_not_ask)).count();
    // The host may be denied since.
    let mut pages: Vec<ReadPage> =
        outcomes.into_iter().flatten().filter(|read| !read.page.is_denied(&found.rules)).collect();
    without_own(item, &mut pages);
    let failures = || pages.iter().filter_map(|read| read.page.failure.as_deref());
    let readable = pages.iter().filter(|read| read.page.failure.is_none()).count();
    let not_had = not_asked + failures().filter(|word| PageFailure::was_not_had(word)).count();
    let reused = pages.iter().filter(|read| read.reused).count();
    let words: Vec<&str> = failures().collect();
    let without = if words.is_empty() { String::new() } else { format!("; without text: {}", words.join(", ")) };
    let known = found.known.len();
    let also = if known > 0 { format!(", and {known} of our own knowledge") } else { String::new() };
    let of = found.candidates.len();
    journal.trace(format!("read: {readable} page(s) of {of} ({reused} stored before){also}{without}"));
    // In a first run a 404 proves nothing, because some sites send it to clients that they block. A re-evaluated page
    // existed before.
    let gone = failures().filter(|word| journal.is_rejudging && PageFailure::is_gone(word)).count();
    if readable == 0 && gone < found.candidates.len() {
        journal.degrade(Degradation::NoPageRead);
    } else if not_had >= readable && not_had > 0 {
        // At most half of the available pages were read, and the others may disagree. Paywalled and deleted pages are
        // not available.
        journal.degrade(Degradation::PagesFailed);
    }
    if item.url.is_some() {
        journal.trace("read: the item's own page and site are no evidence for it");
    }
    pages.extend(found.known.iter().cloned());
    Ok(Pages {
        read: pages,
        rules: Arc::clone(&found.rules),
        searched: found.searched,
        item_channel: item.channel.clone(),
        item_texts: item
            .typed_texts()
            .map(|typed| OwnText {
                url: typed.url.or(item.url.as_deref()).map(str::to_owned),
                text: typed.text.to_owned(),
            })
            .collect(),
    })
}

/// Removes pages that the item links to.
fn without_own(item: &Item, pages: &mut Vec<ReadPage>) {
    let links = item.linked().filter_map(|link| Url::parse(link).ok());
    let own: Vec<Url> = links.map(|link| canonical_url(&link)).collect();
    pages.retain(|read| {
        let named = read.page.canonical.as_deref().and_then(|address| Url::parse(address).ok());
        let mut addresses = named.iter().chain([&read.page.final_url]).map(canonical_url);
        !addresses.any(|address| own.iter().any(|link| same_page(link, &address)))
    });
}

/// Returns the unexpired stored pages of these URLs in order, whatever their age. Never fetches.
pub(super) async fn stored_pages(
    services: &Services,
    urls: &[Url],
    rules: &DomainRules,
    journal: &Journal,
) -> Result<Vec<ReadPage>, PipelineError> {
    let horizon = journal.evaluated_at + EXPIRY_MARGIN;
    let mut pages: Vec<Option<Arc<PreparedPage>>> = Vec::with_capacity(urls.len());
    for url in urls {
        pages.push(services.page_cache.get(url.as_str()).await.filter(|page| page.expires_at > horizon));
    }
    let missing: Vec<String> =
        urls.iter().zip(&pages).filter(|(_, page)| page.is_none()).map(|(url, _)| url.to_string()).collect();
    let stored = services.store.sources_by_url(&missing, journal.evaluated_at, EXPIRY_MARGIN).await?;
    for (url, page) in urls.iter().zip(&mut pages) {
        if let (None, Some(source)) = (&page, stored.iter().find(|source| source.url == url.as_str())) {
            let read = restored(services, source, url, journal.evaluated_at).await.map_err(PipelineError::Texts)?;
            if let (false, Some(failure)) = (source.extraction_failed, &read.failure) {
                journal.trace(format!("knowledge: stored page {url} is left out: {failure}"));
            }
            let read = Arc::new(read);
            services.page_cache.insert(url.as_str(), Arc::clone(&read), read.weight()).await;
            *page = Some(read);
        }
    }
    let usable = |page: &Arc<PreparedPage>| page.failure.is_none() && !page.is_denied(rules);
    let pages: Vec<Arc<PreparedPage>> = pages.into_iter().flatten().filter(usable).collect();
    let ids: Vec<String> = pages.iter().map(|page| page.id.clone()).collect();
    let counts = services.store.access_counts(&ids).await?;
    Ok(pages
        .into_iter()
        .map(|page| {
            let count = counts.iter().find(|(id, _)| *id == page.id).map_or(0, |(_, count)| *count);
            ReadPage { access_count: u32::try_from(count).unwrap_or(0), ..ReadPage::new(page, knowledge::NAME, true) }
        })
        .collect())
}

pub(super) async fn one(
    services: &Services,
    candidate: &Candidate,
    cached: Option<Arc<PreparedPage>>,
    stored: Option<&Source>,
    rules: &DomainRules,
    journal: &Journal,
) -> Result<ReadPage, FetchError> {
    journal.checked(&candidate.domain);
    let provider = candidate.hit.provider;
    if let Some(content) = &candidate.hit.content {
        let now = journal.evaluated_at;
        let page = from_content(candidate, content, now, expiry(services, now));
        return Ok(ReadPage::new(Arc::new(page), provider, false));
    }
    if let Some(page) = cached {
        let reused = page.stored.load(Ordering::Relaxed);
        return Ok(ReadPage::new(page, provider, reused));
    }
    let key = candidate.url.as_str();
    let since = oldest(services, journal);
    if let Some(source) = stored.filter(|source| source.fetched_at >= since) {
        let page = restored(services, source, &candidate.url, journal.evaluated_at).await;
        let page = Arc::new(page.map_err(|_busy| FetchError::ReadersBusy)?);
        services.page_cache.insert(key, Arc::clone(&page), page.weight()).await;
        return Ok(ReadPage::new(page, provider, true));
    }
    // Single flight: items about one event fetch its pages once.
    let page = services
        .page_cache
        .get_or_fetch(key, || async {
            let page = fetch(services, candidate, stored, rules, journal).await?;
            let weight = page.weight();
            Ok((page, weight))
        })
        .await;
    match page {
        Ok((page, _spared)) => {
            let reused = page.stored.load(Ordering::Relaxed);
            Ok(ReadPage::new(page, provider, reused))
        }
        Err(error) => {
            journal.trace(format!("read: {} was not fetched: {error}", candidate.url));
            match error {
                FetchError::Deadline => journal.degrade(Degradation::Deadline),
                // The page could have been read.
                FetchError::NoRecording => journal.degrade(Degradation::PagesFailed),
                _ => {}
            }
            Err(error)
        }
    }
}

/// Fetches and parses a page. A stored copy provides validators, and replaces the page if the server fails
/// temporarily.
/// A page without usable text is returned as failed.
///
/// # Errors
///
/// Only failures that reveal nothing about the page, such as a deadline or a refused address.
async fn fetch(
    services: &Services,
    candidate: &Candidate,
    stored: Option<&Source>,
    rules: &DomainRules,
    journal: &Journal,
) -> Result<PreparedPage, FetchError> {
    let denied = |host: &str| rules.is_denied(host);
    // A 304 renews the stored text, so there must be one.
    let stored = stored.filter(|source| !source.extraction_failed && !source.raw_text.is_empty());
    let known =
        stored.map(|source| Validators { etag: source.etag.clone(), last_modified: source.last_modified.clone() });
    let (asked, known) = match (stored, known) {
        // Validators belong to the address that served the page.
        (Some(source), Some(known)) if !known.is_empty() => (served_from(source, &candidate.url), known),
        // The hit's own address: the server may not know the canonical URL.
        _ => (Url::parse(&candidate.hit.url).unwrap_or_else(|_| candidate.url.clone()), Validators::default()),
    };
    let now = journal.evaluated_at;
    let mut outcome = services.pages.fetch_if_changed(&asked, &known, journal.ask_until, &denied).await;
    if let (Err(FetchError::Status(404 | 410)), Ok(own)) = (&outcome, Url::parse(&candidate.hit.url))
        && own != asked
    {
        // The site may have moved the redirect target.
        outcome = services.pages.fetch_if_changed(&own, &Validators::default(), journal.ask_until, &denied).await;
    }
    let error = match (outcome, stored) {
        (Ok(FetchOutcome::Page(fetched)), _) => match prepare(services, candidate, fetched, now).await {
            Ok(page) => {
                metrics::page_fetched(page.failure.as_deref().unwrap_or("ok"));
                return Ok(page);
            }
            Err(error) => error,
        },
        (Ok(FetchOutcome::NotModified(validators)), Some(source)) => {
            metrics::page_fetched("not_modified");
            journal.trace(format!("read: {} has not changed since {}", candidate.url, source.fetched_at));
            let (expires_at, stored) = (expiry(services, now), AtomicBool::new(false));
            let page =
                restored(services, source, &candidate.url, now).await.map_err(|_busy| FetchError::ReadersBusy)?;
            if page.failure.is_some() {
                return Ok(page);
            }
            return Ok(PreparedPage { expires_at, read_at: now, validators, stored, ..page });
        }
        (Ok(FetchOutcome::NotModified(_)), None) => FetchError::Status(304),
        (Err(error), _) => error,
    };
    metrics::page_fetched(error.label());
    if let Some(source) = stored.filter(|_| error.is_transient()) {
        // The stored copy remains evidence until it expires.
        journal.trace(format!("read: {} as of {}, since it cannot be had now: {error}", source.url, source.fetched_at));
        return restored(services, source, &candidate.url, now).await.map_err(|_busy| FetchError::ReadersBusy);
    }
    let Some(failure) = PageFailure::of(&error) else { return Err(error) };
    let mut page = failed(candidate, failure, now);
    if let FetchError::HostResting { rest, .. } = error {
        // Until the host may be queried again.
        page.expires_at = page.expires_at.min(now + EXPIRY_MARGIN + TimeDelta::from_std(rest).unwrap_or_default());
    }
    Ok(page)
}

/// Rebuilds a stored page on a parser thread, because its text may be megabytes. The only error is
/// `ParseError::NoPlace`; a hang or crash gives a failed page.
async fn restored(
    services: &Services,
    source: &Source,
    url: &Url,
    now: DateTime<Utc>,
) -> Result<PreparedPage, ParseError> {
    let (stored, address, rules) = (source.clone(), url.clone(), services.rules.current());
    let parsing = services.parsers.run_when_free(move || from_store(&stored, &address).fingerprinted(&rules));
    match parsing.await {
        Ok(page) => Ok(page),
        Err(error) => {
            let failure = PageFailure::of_parsing(error).ok_or(error)?;
            tracing::warn!(%url, reason = failure.as_str(), "stored page was not parsed");
            Ok(unparsed(source, url, failure, now, failure_expiry(now)))
        }
    }
}

/// Returns a stored page as failed, without text. In the page cache it prevents another parse before `expires_at`;
/// the store keeps the readable page.
fn unparsed(
    source: &Source,
    url: &Url,
    why: PageFailure,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> PreparedPage {
    let failed = Source {
        title: None,
        raw_text: String::new(),
        claim_reviews: Vec::new(),
        extraction_failed: true,
        failure: Some(why.as_str().to_owned()),
        etag: None,
        last_modified: None,
        fetched_at: now,
        expires_at,
        ..source.clone()
    };
    PreparedPage { stored: AtomicBool::new(false), ..from_store(&failed, url) }
}

/// Parses a fetched page. An error only means that no parser was free.
async fn prepare(
    services: &Services,
    candidate: &Candidate,
    fetched: FetchedPage,
    now: DateTime<Utc>,
) -> Result<PreparedPage, FetchError> {
    metrics::page_read(fetched.body.len());
    let (expires_at, failed_until) = (expiry(services, now), failure_expiry(now));
    let wanted = candidate.clone();
    if reading::led_home(&candidate.url, &fetched.final_url) {
        return Ok(empty_page(&wanted, PageFailure::Junk(Junk::SoftNotFound), now, failed_until));
    }
    // Milliseconds of CPU work; a panic affects only this page.
    let rules = services.rules.current();
    let parsing = services.parsers.run(move || {
        let read = reading::read_page(&fetched.body, fetched.content_type.as_deref(), &fetched.final_url);
        match read {
            Ok(article) => {
                let validators = Validators { etag: fetched.etag, last_modified: fetched.last_modified };
                let page = from_article(article, &wanted, &fetched.final_url, now, expires_at);
                PreparedPage { validators, ..page }.fingerprinted(&rules)
            }
            Err(junk) => empty_page(&wanted, PageFailure::Junk(junk), now, failed_until),
        }
    });
    match parsing.await {
        Ok(page) => Ok(page),
        Err(error) => match PageFailure::of_parsing(error) {
            Some(failure) => {
                tracing::warn!(url = %candidate.url, reason = failure.as_str(), "page was not parsed");
                Ok(failed(candidate, failure, now))
            }
            None => Err(FetchError::ReadersBusy),
        },
    }
}

fn expiry(services: &Services, now: DateTime<Utc>) -> DateTime<Utc> {
    now + TimeDelta::from_std(services.settings.evidence_ttl).unwrap_or(TimeDelta::days(30))
}

fn failure_expiry(now: DateTime<Utc>) -> DateTime<Utc> {
    now + UNREADABLE_TTL + EXPIRY_MARGIN
}

fn failed(candidate: &Candidate, why: PageFailure, now: DateTime<Utc>) -> PreparedPage {
    empty_page(candidate, why, now, failure_expiry(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_page_that_was_not_parsed_is_failed_until_it_may_be_tried_again() {
        let now = DateTime::UNIX_EPOCH;
        let (until, url) = (now + TimeDelta::hours(1), Url::parse("https://a.example/1").unwrap());
        let source = Source {
            id: "ev_1".to_owned(),
            url: url.to_string(),
            domain: "a.example".to_owned(),
            title: Some("Bridge".to_owned()),
            published_at: None,
            language: None,
            raw_text: "The bridge opened on Monday, the city council said.".to_owned(),
            source_type: "news".to_owned(),
            content_hash: None,
            independent_group: None,
            canonical: None,
            final_url: None,
            expires_at: now + TimeDelta::days(30),
            based_on: Vec::new(),
            claim_reviews: Vec::new(),
            publisher: None,
            extraction_failed: false,
            failure: None,
            etag: Some("1".to_owned()),
            last_modified: None,
            fetched_at: now - TimeDelta::days(1),
            origin: Origin::Web,
        };
        let page = unparsed(&source, &url, PageFailure::ReaderTooSlow, now, until);
        assert_eq!(page.failure.as_deref(), Some("reader_too_slow"));
        assert!(page.text.is_empty() && page.passages.is_empty() && page.validators.is_empty());
        assert_eq!((page.id, page.read_at, page.expires_at), (source.id, now, until));
        assert!(!page.stored.into_inner());
    }
}
