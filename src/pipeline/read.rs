//! Reading: pages stored before are used again; new ones are fetched safely and read; what cannot be read is kept as
//! such, never as evidence. A text that a provider brought along is a page without a fetch.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use url::Url;

use super::page::{PreparedPage, empty_page, from_article, from_content, from_store};
use super::retrieve::{Candidate, Found};
use super::{Journal, PipelineError, Services};
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Origin;
use crate::domain::{Degradation, Item};
use crate::outbound::pages::FetchError;
use crate::providers::knowledge;
use crate::reading;
use crate::store::StoredSource;
use crate::telemetry::metrics;

/// A page with the hit that led to it.
#[derive(Debug, Clone)]
pub(crate) struct ReadPage {
    pub(crate) page: Arc<PreparedPage>,
    pub(crate) provider: &'static str,
    /// It was stored before this item came.
    pub(crate) reused: bool,
    /// How often it was of use before, where our own knowledge led to it.
    pub(crate) access_count: u32,
}

impl ReadPage {
    fn new(page: Arc<PreparedPage>, provider: &'static str, reused: bool) -> Self {
        Self { page, provider, reused, access_count: 0 }
    }

    /// Whether our own knowledge led to it.
    pub(crate) fn is_known(&self) -> bool {
        self.provider == knowledge::NAME
    }

    /// Where its passages come from, fact-checkers aside.
    pub(crate) fn origin(&self) -> Origin {
        if self.is_known() { Origin::Kb } else { self.page.origin }
    }
}

/// What was read, best candidate first.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pub(crate) read: Vec<ReadPage>,
    pub(crate) rules: Arc<DomainRules>,
    pub(crate) searched: bool,
}

/// A page whose stored row may be cleaned away while this item is judged is read again.
const EXPIRY_MARGIN: TimeDelta = TimeDelta::minutes(10);

pub(super) async fn read(
    services: &Services,
    item: &Item,
    found: &Found,
    journal: &Journal,
) -> Result<Pages, PipelineError> {
    let horizon = journal.evaluated_at + EXPIRY_MARGIN;
    let mut cached: Vec<Option<Arc<PreparedPage>>> = Vec::with_capacity(found.candidates.len());
    for candidate in &found.candidates {
        if candidate.hit.content.is_some() {
            // Its text is at hand, and newer than any copy.
            cached.push(None);
            continue;
        }
        let page = services.page_cache.get(candidate.url.as_str()).await;
        cached.push(page.filter(|page| page.expires_at > horizon));
    }
    let missing: Vec<String> = found
        .candidates
        .iter()
        .zip(&cached)
        .filter(|(candidate, page)| page.is_none() && candidate.hit.content.is_none())
        .map(|(candidate, _)| candidate.url.to_string())
        .collect();
    let since = journal.evaluated_at - TimeDelta::from_std(services.settings.page_ttl).unwrap_or(TimeDelta::days(1));
    let stored = services.store.sources_by_url(&missing, &[], horizon, since).await?;
    let reading = found.candidates.iter().zip(cached).map(|(candidate, cached)| {
        let known = stored.iter().find(|source| source.url == candidate.url.as_str());
        one(services, candidate, cached, known, &found.rules, journal)
    });
    // A stored page may have led to a host that was denied since.
    let mut pages: Vec<ReadPage> =
        join_all(reading).await.into_iter().flatten().filter(|read| !read.page.is_denied(&found.rules)).collect();
    let readable = pages.iter().filter(|read| read.page.failure.is_none()).count();
    let reused = pages.iter().filter(|read| read.reused).count();
    let known = found.known.len();
    let also = if known > 0 { format!(", and {known} of our own knowledge") } else { String::new() };
    journal.trace(format!("read: {readable} page(s) of {} ({reused} stored before){also}", found.candidates.len()));
    if readable == 0 && !found.candidates.is_empty() {
        journal.degrade(Degradation::NoPageRead);
    } else if readable * 2 < found.candidates.len() {
        // What was read is the smaller part of what was found: others may say otherwise.
        journal.degrade(Degradation::PagesFailed);
    }
    if item.url.is_some() {
        journal.trace("read: the item's own page is no evidence for itself");
    }
    pages.extend(found.known.iter().cloned());
    Ok(Pages { read: pages, rules: Arc::clone(&found.rules), searched: found.searched })
}

/// The pages of these addresses as they were stored, however long ago, while they have not expired; nothing is fetched.
/// What was removed a moment ago is left out. The addresses' order stands.
pub(super) async fn known(
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
    let stored = services.store.sources_by_url(&[], &missing, horizon, DateTime::UNIX_EPOCH).await?;
    for (url, page) in urls.iter().zip(&mut pages) {
        if let (None, Some(source)) = (&page, stored.iter().find(|source| source.url == url.as_str())) {
            let read = Arc::new(from_store(source, url));
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

async fn one(
    services: &Services,
    candidate: &Candidate,
    cached: Option<Arc<PreparedPage>>,
    stored: Option<&StoredSource>,
    rules: &DomainRules,
    journal: &Journal,
) -> Option<ReadPage> {
    journal.checked(&candidate.domain);
    let provider = candidate.hit.provider;
    if let Some(content) = &candidate.hit.content {
        let now = journal.evaluated_at;
        let page = from_content(candidate, content, now, expiry(services, now));
        return Some(ReadPage::new(Arc::new(page), provider, false));
    }
    if let Some(page) = cached {
        let reused = page.stored.load(Ordering::Relaxed);
        return Some(ReadPage::new(page, provider, reused));
    }
    let key = candidate.url.as_str();
    if let Some(source) = stored {
        let page = Arc::new(from_store(source, &candidate.url));
        services.page_cache.insert(key, Arc::clone(&page), page.weight()).await;
        return Some(ReadPage::new(page, provider, true));
    }
    // Single flight: ten items about one event fetch its pages once.
    let page = services
        .page_cache
        .get_or_fetch(key, || async {
            let page = fetch(services, candidate, rules, journal).await?;
            let weight = page.weight();
            Ok((page, weight))
        })
        .await;
    match page {
        Ok((page, _spared)) => Some(ReadPage::new(page, provider, false)),
        Err(error) => {
            journal.trace(format!("read: {} was not fetched: {error}", candidate.url));
            if matches!(error, FetchError::Deadline) {
                journal.degrade(Degradation::Deadline);
            }
            None
        }
    }
}

/// Fetches and reads. A page that cannot be had, or answers without usable text, is a page with a failure, kept and left
/// alone for a while; only what says nothing about the page (a deadline, a refused address) is an error.
async fn fetch(
    services: &Services,
    candidate: &Candidate,
    rules: &DomainRules,
    journal: &Journal,
) -> Result<PreparedPage, FetchError> {
    let denied = |host: &str| rules.is_denied(host);
    // The hit's own address is asked: a canonical form is a key, not a promise that the server knows it.
    let asked = Url::parse(&candidate.hit.url).unwrap_or_else(|_| candidate.url.clone());
    let fetched = match services.pages.fetch(&asked, journal.ask_until, &denied).await {
        Ok(fetched) => fetched,
        Err(FetchError::Status(status)) => {
            return Ok(failed(services, candidate, &format!("status_{status}"), journal.evaluated_at));
        }
        Err(FetchError::NotAPage { .. }) => {
            return Ok(failed(services, candidate, "not_html", journal.evaluated_at));
        }
        // These say something of us, or that the page must not be read at all: nothing to remember of the page.
        Err(
            error @ (FetchError::Deadline
            | FetchError::Denied { .. }
            | FetchError::PrivateAddress { .. }
            | FetchError::BadUrl
            | FetchError::Scheme
            | FetchError::NoRecording),
        ) => return Err(error),
        Err(error) => return Ok(failed(services, candidate, error.label(), journal.evaluated_at)),
    };
    metrics::page_read(fetched.body.len());
    let now = journal.evaluated_at;
    let (expires_at, failed_until) = (expiry(services, now), failure_expiry(services, now));
    let wanted = candidate.clone();
    // Parsing is milliseconds of pure work: off the event loop, where a panic of a parser also ends with the page.
    let prepared = tokio::task::spawn_blocking(move || {
        let read = reading::read_page(&fetched.body, fetched.content_type.as_deref(), &fetched.final_url);
        match read {
            Ok(article) => from_article(article, &wanted, &fetched.final_url, now, expires_at),
            Err(junk) => empty_page(&wanted, junk.as_str(), now, failed_until),
        }
    })
    .await;
    Ok(match prepared {
        Ok(page) => page,
        Err(_panicked) => failed(services, candidate, "reader_crashed", now),
    })
}

fn expiry(services: &Services, now: DateTime<Utc>) -> DateTime<Utc> {
    now + TimeDelta::from_std(services.settings.evidence_ttl).unwrap_or(TimeDelta::days(30))
}

fn failure_expiry(services: &Services, now: DateTime<Utc>) -> DateTime<Utc> {
    now + TimeDelta::from_std(services.settings.negative_ttl).unwrap_or(TimeDelta::hours(1)) + EXPIRY_MARGIN
}

/// An unreadable page is tried again sooner than a read one.
fn failed(services: &Services, candidate: &Candidate, why: &str, now: DateTime<Utc>) -> PreparedPage {
    empty_page(candidate, why, now, failure_expiry(services, now))
}
