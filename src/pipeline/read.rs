//! Reading: pages stored before are used again; new ones are fetched safely and read; what cannot be read is kept as
//! such, never as evidence.

use std::sync::{Arc, OnceLock};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use url::Url;

use super::retrieve::{Candidate, Found};
use super::{Journal, PipelineError, Services};
use crate::domain::rules::DomainRules;
use crate::domain::verdict::SourceType;
use crate::domain::{Degradation, Item, ids};
use crate::judging::credibility::credibility;
use crate::judging::profile::TextProfile;
use crate::language::tokens;
use crate::outbound::pages::FetchError;
use crate::providers::{Hit, Storage};
use crate::reading::passages;
use crate::reading::registered_domain;
use crate::reading::{self, Article};
use crate::store::{SourceRow, StoredSource};
use crate::telemetry::metrics;

/// A page ready to be judged, shared by every item that cites it.
#[derive(Debug)]
pub struct PreparedPage {
    pub(crate) id: String,
    pub(crate) url: Url,
    pub(crate) domain: String,
    /// Where the address led to; the address itself when it led nowhere else.
    pub(crate) final_url: Url,
    pub(crate) title: Option<String>,
    pub(crate) published_at: Option<DateTime<Utc>>,
    pub(crate) language: Option<String>,
    pub(crate) text: String,
    pub(crate) canonical: Option<String>,
    pub(crate) based_on: Vec<String>,
    pub(crate) publisher: Option<String>,
    /// Why there is no text; such a page is stored and shown, and decides nothing.
    pub(crate) failure: Option<String>,
    pub(crate) passages: Vec<Passage>,
    pub(crate) expires_at: DateTime<Utc>,
    /// False until the first item that uses it has been committed with it.
    pub(crate) stored: std::sync::atomic::AtomicBool,
}

/// One judge-sized piece of a page. Its stems are taken at once, the rest when it is first judged.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) text: String,
    pub(crate) stems: Vec<String>,
    profile: OnceLock<Arc<TextProfile>>,
}

impl Passage {
    fn new(text: String, language: Option<&str>) -> Self {
        let mut stems = tokens::content_stems(&text, language);
        stems.sort();
        stems.dedup();
        Self { text, stems, profile: OnceLock::new() }
    }

    pub(crate) fn profile(&self) -> Option<&Arc<TextProfile>> {
        self.profile.get()
    }

    pub(crate) fn is_profiled(&self) -> bool {
        self.profile.get().is_some()
    }

    pub(crate) fn profile_or(&self, make: impl FnOnce() -> TextProfile) -> Arc<TextProfile> {
        Arc::clone(self.profile.get_or_init(|| Arc::new(make())))
    }
}

impl PreparedPage {
    /// Bytes it holds, roughly: what the page cache weighs.
    pub fn weight(&self) -> usize {
        let passages: usize = self.passages.iter().map(|passage| passage.text.len() * 4 + 2_048).sum();
        self.text.len() + passages + 1_024
    }

    /// The row to be stored.
    pub(crate) fn row(&self, rules: &DomainRules, fetched_at: DateTime<Utc>) -> SourceRow {
        SourceRow {
            id: self.id.clone(),
            url: self.url.to_string(),
            domain: self.domain.clone(),
            title: self.title.clone(),
            published_at: self.published_at,
            language: self.language.clone(),
            raw_text: self.text.clone(),
            source_type: self.source_type(rules).as_str().to_owned(),
            content_hash: (!self.text.is_empty()).then(|| ids::content_hash(&[&self.text])),
            independent_group: None,
            canonical: self.canonical.clone(),
            final_url: (self.final_url != self.url).then(|| self.final_url.to_string()),
            based_on: self.based_on.clone(),
            publisher: self.publisher.clone(),
            extraction_failed: self.failure.is_some(),
            failure: self.failure.clone(),
            fetched_at,
            expires_at: self.expires_at,
        }
    }

    /// The host that really answered: a redirect borrows nobody's credibility.
    pub(crate) fn host(&self) -> &str {
        self.final_url.host_str().unwrap_or_default()
    }

    pub(crate) fn source_type(&self, rules: &DomainRules) -> SourceType {
        credibility(self.host(), rules).1
    }
}

/// A page with the hit that led to it.
#[derive(Debug, Clone)]
pub(crate) struct ReadPage {
    pub(crate) page: Arc<PreparedPage>,
    pub(crate) provider: &'static str,
    /// It was stored before this item came.
    pub(crate) reused: bool,
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
        let page = services.page_cache.get(candidate.url.as_str()).await;
        cached.push(page.filter(|page| page.expires_at > horizon));
    }
    let missing: Vec<String> = found
        .candidates
        .iter()
        .zip(&cached)
        .filter(|(_, page)| page.is_none())
        .map(|(candidate, _)| candidate.url.to_string())
        .collect();
    let since = journal.evaluated_at - TimeDelta::from_std(services.settings.page_ttl).unwrap_or(TimeDelta::days(1));
    let stored = services.store.sources_by_url(&missing, horizon, since).await?;
    let reading = found.candidates.iter().zip(cached).map(|(candidate, cached)| {
        let known = stored.iter().find(|source| source.url == candidate.url.as_str());
        one(services, candidate, cached, known, &found.rules, journal)
    });
    // A stored page may have led to a host that was denied since.
    let pages: Vec<ReadPage> =
        join_all(reading).await.into_iter().flatten().filter(|read| !found.rules.is_denied(read.page.host())).collect();
    let readable = pages.iter().filter(|read| read.page.failure.is_none()).count();
    let reused = pages.iter().filter(|read| read.reused).count();
    journal.trace(format!("read: {readable} page(s) of {} ({reused} stored before)", found.candidates.len()));
    if readable == 0 && !found.candidates.is_empty() {
        journal.degrade(Degradation::NoPageRead);
    } else if readable * 2 < found.candidates.len() {
        // What was read is the smaller part of what was found: others may say otherwise.
        journal.degrade(Degradation::PagesFailed);
    }
    if item.url.is_some() {
        journal.trace("read: the item's own page is no evidence for itself");
    }
    Ok(Pages { read: pages, rules: Arc::clone(&found.rules), searched: found.searched })
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
    if let Some(page) = cached {
        let reused = page.stored.load(std::sync::atomic::Ordering::Relaxed);
        return Some(ReadPage { page, provider: candidate.hit.provider, reused });
    }
    let key = candidate.url.as_str();
    if let Some(source) = stored {
        let page = Arc::new(from_store(source, candidate));
        services.page_cache.insert(key, Arc::clone(&page), page.weight()).await;
        return Some(ReadPage { page, provider: candidate.hit.provider, reused: true });
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
        Ok((page, _spared)) => Some(ReadPage { page, provider: candidate.hit.provider, reused: false }),
        Err(error) => {
            journal.trace(format!("read: {} was not fetched: {error}", candidate.url));
            match error {
                FetchError::Deadline => journal.degrade(Degradation::Deadline),
                // Not the page's fault: it would have been read.
                FetchError::NoRecording => journal.degrade(Degradation::PagesFailed),
                _ => {}
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
            Err(junk) => empty_page(&wanted, junk.as_str(), failed_until),
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
    empty_page(candidate, why, failure_expiry(services, now))
}

/// What the provider said of the page, as far as its terms let it be kept: pages are stored. Where they do not, only what
/// the page says of itself counts.
#[derive(Default)]
struct Told {
    title: Option<String>,
    published_at: Option<DateTime<Utc>>,
    language: Option<String>,
}

fn told(hit: &Hit) -> Told {
    match hit.storage {
        Storage::Transient => Told::default(),
        Storage::Stored => Told {
            title: Some(hit.title.clone()).filter(|title| !title.is_empty()),
            published_at: hit.published_at,
            language: hit.language.clone(),
        },
    }
}

fn empty_page(candidate: &Candidate, why: &str, expires_at: DateTime<Utc>) -> PreparedPage {
    let told = told(&candidate.hit);
    PreparedPage {
        id: ids::evidence_id(candidate.url.as_str()),
        url: candidate.url.clone(),
        domain: candidate.domain.clone(),
        final_url: candidate.url.clone(),
        title: told.title,
        published_at: told.published_at,
        language: told.language,
        text: String::new(),
        canonical: None,
        based_on: Vec::new(),
        publisher: None,
        failure: Some(why.to_owned()),
        passages: Vec::new(),
        expires_at,
        stored: std::sync::atomic::AtomicBool::new(false),
    }
}

fn from_article(
    article: Article,
    candidate: &Candidate,
    final_url: &Url,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> PreparedPage {
    let told = told(&candidate.hit);
    let text = article.text();
    let language = article
        .language
        .clone()
        .or_else(|| crate::language::detect::detect(&text.chars().take(1_000).collect::<String>()).language);
    let pieces = passages(&article);
    let published = article.published_at.or(told.published_at).filter(|date| *date <= now);
    // A redirect to another site is evidence of that site.
    let domain = final_url.host_str().map_or_else(|| candidate.domain.clone(), registered_domain);
    PreparedPage {
        id: ids::evidence_id(candidate.url.as_str()),
        url: candidate.url.clone(),
        domain,
        final_url: final_url.clone(),
        title: article.title.or(told.title),
        published_at: published,
        canonical: article.canonical.map(|url| url.to_string()),
        based_on: article.based_on,
        publisher: article.publisher.or(article.site_name),
        failure: None,
        passages: pieces.into_iter().map(|piece| Passage::new(piece, language.as_deref())).collect(),
        language,
        text,
        expires_at,
        stored: std::sync::atomic::AtomicBool::new(false),
    }
}

fn from_store(source: &StoredSource, candidate: &Candidate) -> PreparedPage {
    let language = source.language.clone();
    let article = Article {
        title: source.title.clone(),
        paragraphs: source.raw_text.split("\n\n").map(str::to_owned).filter(|text| !text.trim().is_empty()).collect(),
        ..Article::default()
    };
    PreparedPage {
        id: source.id.clone(),
        url: candidate.url.clone(),
        domain: source.domain.clone(),
        final_url: source
            .final_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok())
            .unwrap_or_else(|| candidate.url.clone()),
        title: source.title.clone(),
        published_at: source.published_at,
        text: source.raw_text.clone(),
        canonical: source.canonical.clone(),
        based_on: source.based_on.clone(),
        publisher: source.publisher.clone(),
        failure: source.failure.clone().filter(|_| source.extraction_failed),
        passages: passages(&article).into_iter().map(|piece| Passage::new(piece, language.as_deref())).collect(),
        language,
        expires_at: source.expires_at,
        stored: std::sync::atomic::AtomicBool::new(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(storage: Storage, article: &Article) -> [PreparedPage; 2] {
        let url = Url::parse("https://a.example/1").unwrap();
        let hit = Hit {
            url: url.to_string(),
            title: "the provider's title".to_owned(),
            snippet: "the provider's words".to_owned(),
            published_at: Some(DateTime::UNIX_EPOCH),
            language: Some("uk".to_owned()),
            provider: "test",
            storage,
            content: None,
        };
        let candidate = Candidate { url: url.clone(), hit, domain: "a.example".to_owned() };
        let later = DateTime::UNIX_EPOCH + TimeDelta::days(1);
        [empty_page(&candidate, "status_404", later), from_article(article.clone(), &candidate, &url, later, later)]
    }

    #[test]
    fn what_a_provider_lets_nobody_keep_is_in_no_row() {
        let silent = Article { paragraphs: vec!["A page of few words.".to_owned()], ..Article::default() };
        for page in pages(Storage::Stored, &silent) {
            assert_eq!(page.title.as_deref(), Some("the provider's title"));
            assert_eq!(page.published_at, Some(DateTime::UNIX_EPOCH));
        }
        for page in pages(Storage::Transient, &silent) {
            assert_eq!((page.title.as_deref(), page.published_at), (None, None));
            assert_ne!(page.language.as_deref(), Some("uk"));
            let row = format!("{:?}", page.row(&DomainRules::default(), DateTime::UNIX_EPOCH));
            assert!(!row.contains("the provider's"), "{row}");
        }
        let own = Article { title: Some("its own".to_owned()), ..silent };
        let [_, page] = pages(Storage::Transient, &own);
        assert_eq!(page.title.as_deref(), Some("its own"));
    }
}
