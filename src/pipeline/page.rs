//! Pages that are ready to be judged.
//! A page is made from a fetched article, from a stored row, or from a text that came with a provider's answer.
//! The module never fetches and never writes to the store.

use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use url::Url;

use super::candidate::Candidate;
use super::page_failure::PageFailure;
use super::page_reviews;
use crate::domain::evidence::Review;
use crate::domain::ids;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::{Origin, SourceType};
use crate::inference::Embedder;
use crate::judging::credibility::{UNKNOWN_CREDIBILITY, credibility};
use crate::judging::independence::{Fingerprint, SourceText};
use crate::judging::profile::TextProfile;
use crate::outbound::Validators;
use crate::providers::{Content, Hit, Storage};
use crate::reading::{Article, own_passages, passages, registered_domain, text_without_orders};
use crate::store::Source;

/// A page that all items that cite it share.
#[derive(Debug)]
pub struct PreparedPage {
    pub(crate) id: String,
    pub(crate) url: Url,
    pub(crate) domain: String,
    /// The address after redirects.
    pub(crate) final_url: Url,
    pub(crate) title: Option<String>,
    pub(crate) published_at: Option<DateTime<Utc>>,
    /// When the text of a reference work last changed. The store does not keep it.
    pub(crate) changed_at: Option<DateTime<Utc>>,
    pub(crate) language: Option<String>,
    pub(crate) text: String,
    pub(crate) canonical: Option<String>,
    pub(crate) based_on: Vec<String>,
    /// Rated reviews in the page's markup, by any publisher.
    pub(crate) claim_reviews: Vec<Review>,
    pub(crate) publisher: Option<String>,
    /// Why there is no text. A failed page is stored and decides nothing.
    pub(crate) failure: Option<String>,
    pub(crate) passages: Vec<Passage>,
    pub(crate) expires_at: DateTime<Utc>,
    /// They belong to `final_url`.
    pub(crate) validators: Validators,
    pub(crate) read_at: DateTime<Utc>,
    /// `Kb` is a fact that ships with the program.
    pub(crate) origin: Origin,
    /// Credibility stated by the operator, 0–1.
    pub(crate) stated: Option<f64>,
    /// Profiles of the title and of the sentence that last led the evidence store here; lazy.
    pub(crate) head: OnceLock<Arc<TextProfile>>,
    pub(crate) snippet: OnceLock<Arc<TextProfile>>,
    /// Made on first use.
    pub(crate) origins: OnceLock<Origins>,
    /// False until an item that uses the page is committed.
    pub(crate) stored: std::sync::atomic::AtomicBool,
}

/// Data for grouping pages into independent sources.
#[derive(Debug)]
pub(crate) struct Origins {
    /// The domain lists can change this.
    reference_work: bool,
    /// The text without orders to the reader, if it has any.
    without_orders: Option<String>,
    print: Fingerprint,
}

impl Origins {
    pub(crate) fn of(page: &PreparedPage, reference_work: bool) -> Self {
        // Orders to the reader do not make a page a syndicated copy.
        let without_orders = Some(text_without_orders(&page.text)).filter(|text| *text != page.text);
        let print = Fingerprint::new(&SourceText {
            evidence_id: &page.id,
            url: page.url.as_str(),
            domain: &page.domain,
            text: without_orders.as_deref().unwrap_or(&page.text),
            canonical: page.canonical.as_deref(),
            based_on: &page.based_on,
            publisher: page.publisher.as_deref(),
            reference_work,
        });
        Self { reference_work, without_orders, print }
    }

    pub(crate) const fn reads_as(&self, reference_work: bool) -> bool {
        self.reference_work == reference_work
    }

    /// Arguments for [`groups_of`](crate::judging::independence::groups_of).
    pub(crate) fn of_page<'a>(&'a self, page: &'a PreparedPage) -> (&'a str, &'a Fingerprint) {
        (self.without_orders.as_deref().unwrap_or(&page.text), &self.print)
    }
}

/// A part of a page, short enough for a judge.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) text: String,
    /// [`Embedder::static_vector`]; lazy.
    static_vector: OnceLock<Vec<f32>>,
    profile: OnceLock<Arc<TextProfile>>,
}

impl Passage {
    const fn new(text: String) -> Self {
        Self { text, static_vector: OnceLock::new(), profile: OnceLock::new() }
    }

    pub(crate) fn static_vector(&self, embedder: &dyn Embedder) -> &[f32] {
        self.static_vector.get_or_init(|| embedder.static_vector(&self.text))
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

pub(super) fn served_from(source: &Source, url: &Url) -> Url {
    source.final_url.as_deref().and_then(|url| Url::parse(url).ok()).unwrap_or_else(|| url.clone())
}

impl PreparedPage {
    /// Adds the fingerprint. Slow for long texts, so it runs on the parser thread.
    pub(super) fn fingerprinted(self, rules: &DomainRules) -> Self {
        if self.failure.is_none() {
            let by_article = self.counts_by_article(rules);
            self.origins.get_or_init(|| Origins::of(&self, by_article));
        }
        self
    }

    /// Returns the approximate bytes, for the page cache.
    pub fn weight(&self) -> usize {
        let passages: usize = self.passages.iter().map(|passage| passage.text.len() * 4 + 2_048).sum();
        // The fingerprint has eight bytes per word.
        self.text.len() * 3 + passages + 1_024
    }

    pub(crate) fn row(&self, rules: &DomainRules, fetched_at: DateTime<Utc>) -> Source {
        Source {
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
            claim_reviews: self.claim_reviews.clone(),
            publisher: self.publisher.clone(),
            extraction_failed: self.failure.is_some(),
            failure: self.failure.clone(),
            etag: self.validators.etag.clone(),
            last_modified: self.validators.last_modified.clone(),
            origin: self.origin,
            fetched_at,
            expires_at: self.expires_at,
        }
    }

    /// Returns the host that served the page: a redirecting host does not lend its credibility.
    pub(crate) fn host(&self) -> &str {
        self.final_url.host_str().unwrap_or_default()
    }

    /// Whether hosts have owners and rules; false for `corpus://reuters.com`.
    fn is_on_the_web(&self) -> bool {
        matches!(self.final_url.scheme(), "http" | "https")
    }

    /// Returns credibility, 0–1, and type of source. The operator's figure takes precedence.
    pub(crate) fn credibility(&self, rules: &DomainRules) -> (f64, SourceType) {
        let (figure, kind) = if self.is_on_the_web() {
            credibility(self.host(), rules)
        } else {
            (UNKNOWN_CREDIBILITY, SourceType::Unknown)
        };
        (self.stated.unwrap_or(figure), kind)
    }

    pub(crate) fn source_type(&self, rules: &DomainRules) -> SourceType {
        self.credibility(rules).1
    }

    /// Whether each article is a source of its own, as in reference works.
    pub(crate) fn counts_by_article(&self, rules: &DomainRules) -> bool {
        self.source_type(rules) == SourceType::Reference
    }

    /// Whether the domain lists deny the page; they do not apply to the operator's texts.
    pub(crate) fn is_denied(&self, rules: &DomainRules) -> bool {
        matches!(self.origin, Origin::Web | Origin::Kb) && rules.is_denied(self.host())
    }
}

/// Metadata of a provider whose terms allow storage.
#[derive(Default)]
struct HitMetadata {
    title: Option<String>,
    published_at: Option<DateTime<Utc>>,
    language: Option<String>,
}

fn metadata(hit: &Hit) -> HitMetadata {
    match hit.storage {
        Storage::Transient => HitMetadata::default(),
        Storage::Stored => HitMetadata {
            title: Some(hit.title.clone()).filter(|title| !title.is_empty()),
            published_at: hit.published_at,
            language: hit.language.clone(),
        },
    }
}

pub(super) fn empty_page(
    candidate: &Candidate,
    why: PageFailure,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> PreparedPage {
    let metadata = metadata(&candidate.hit);
    PreparedPage {
        id: ids::evidence_id(candidate.url.as_str()),
        url: candidate.url.clone(),
        domain: candidate.domain.clone(),
        final_url: candidate.url.clone(),
        title: metadata.title,
        published_at: metadata.published_at,
        changed_at: None,
        language: metadata.language,
        text: String::new(),
        canonical: None,
        based_on: Vec::new(),
        claim_reviews: Vec::new(),
        publisher: None,
        failure: Some(why.as_str().to_owned()),
        passages: Vec::new(),
        expires_at,
        validators: Validators::default(),
        read_at: now,
        origin: Origin::Web,
        stated: None,
        head: OnceLock::new(),
        snippet: OnceLock::new(),
        origins: OnceLock::new(),
        stored: std::sync::atomic::AtomicBool::new(false),
    }
}

pub(super) fn from_article(
    article: Article,
    candidate: &Candidate,
    final_url: &Url,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> PreparedPage {
    let metadata = metadata(&candidate.hit);
    let text = article.text();
    let language = article
        .language
        .clone()
        .or_else(|| crate::language::detect::detect(&text.chars().take(1_000).collect::<String>()).language);
    let pieces = passages(&article);
    // A guessed date is wrong one time in five.
    let own = article.published_at.filter(|_| !article.date_is_guess);
    let published = own.or(metadata.published_at).filter(|date| *date <= now);
    let published = if own.is_some() { published.and(article.published_on_its_day()) } else { published };
    let host = final_url.host_str().unwrap_or_default();
    let is_reference_work =
        article.is_reference_work || credibility(host, &DomainRules::default()).1 == SourceType::Reference;
    let claim_reviews = page_reviews::reviews(&article, final_url);
    // A redirect to another site makes the page evidence of that site.
    let domain = final_url.host_str().map_or_else(|| candidate.domain.clone(), registered_domain);
    let publisher = super::credit::credit(article.author.as_deref(), article.publisher, article.site_name, &domain);
    PreparedPage {
        id: ids::evidence_id(candidate.url.as_str()),
        url: candidate.url.clone(),
        domain,
        final_url: final_url.clone(),
        title: article.title.or(metadata.title),
        published_at: published,
        changed_at: article.modified_at.filter(|date| is_reference_work && *date <= now),
        canonical: article.canonical.map(|url| url.to_string()),
        claim_reviews,
        based_on: article.based_on,
        publisher,
        failure: None,
        passages: pieces.into_iter().map(Passage::new).collect(),
        language,
        text,
        expires_at,
        validators: Validators::default(),
        read_at: now,
        origin: Origin::Web,
        stated: None,
        head: OnceLock::new(),
        snippet: OnceLock::new(),
        origins: OnceLock::new(),
        stored: std::sync::atomic::AtomicBool::new(false),
    }
}

pub(super) fn from_store(source: &Source, url: &Url) -> PreparedPage {
    let language = source.language.clone();
    let origin = source.origin;
    // Web pages are stored with one line per paragraph ([`Article::text`]); own texts keep their lines.
    let between = match origin {
        Origin::Corpus | Origin::Api | Origin::Database => "\n\n",
        Origin::Web | Origin::Kb | Origin::FactCheck => "\n",
    };
    let article = Article {
        title: source.title.clone().filter(|_| title_is_text(origin)),
        paragraphs: source.raw_text.split(between).map(str::to_owned).filter(|text| !text.trim().is_empty()).collect(),
        ..Article::default()
    };
    let pieces = match origin {
        Origin::Corpus | Origin::Api | Origin::Database => own_passages(&article),
        Origin::Web | Origin::Kb | Origin::FactCheck => passages(&article),
    };
    PreparedPage {
        id: source.id.clone(),
        url: url.clone(),
        domain: source.domain.clone(),
        final_url: served_from(source, url),
        title: source.title.clone(),
        published_at: source.published_at,
        changed_at: None,
        text: source.raw_text.clone(),
        canonical: source.canonical.clone(),
        based_on: source.based_on.clone(),
        claim_reviews: source.claim_reviews.clone(),
        publisher: source.publisher.clone(),
        failure: source.failure.clone().filter(|_| source.extraction_failed),
        passages: pieces.into_iter().map(Passage::new).collect(),
        language,
        expires_at: source.expires_at,
        validators: Validators { etag: source.etag.clone(), last_modified: source.last_modified.clone() },
        read_at: source.fetched_at,
        origin,
        stated: None,
        head: OnceLock::new(),
        snippet: OnceLock::new(),
        origins: OnceLock::new(),
        stored: std::sync::atomic::AtomicBool::new(true),
    }
}

/// Whether the title is text: that of a corpus file is its name and headings.
fn title_is_text(origin: Origin) -> bool {
    origin != Origin::Corpus
}

/// Makes a page of a text from an answer: the operator's, current, and not on the web.
pub(super) fn from_content(
    candidate: &Candidate,
    content: &Content,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> PreparedPage {
    let hit = &candidate.hit;
    let metadata = metadata(hit);
    let article = Article {
        title: metadata.title.clone().filter(|_| title_is_text(content.origin)),
        paragraphs: content
            .text
            .split("\n\n")
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect(),
        ..Article::default()
    };
    let language = metadata
        .language
        .or_else(|| crate::language::detect::detect(&content.text.chars().take(1_000).collect::<String>()).language);
    // Rows and values are not prose.
    let pieces = own_passages(&article);
    PreparedPage {
        id: ids::evidence_id(candidate.url.as_str()),
        url: candidate.url.clone(),
        domain: candidate.domain.clone(),
        final_url: candidate.url.clone(),
        title: metadata.title,
        published_at: metadata.published_at.filter(|date| *date <= now),
        changed_at: None,
        canonical: None,
        based_on: Vec::new(),
        claim_reviews: Vec::new(),
        publisher: content.publisher.clone(),
        failure: None,
        passages: pieces.into_iter().map(Passage::new).collect(),
        language,
        text: article.paragraphs.join("\n\n"),
        expires_at,
        validators: Validators::default(),
        read_at: now,
        origin: content.origin,
        stated: content.credibility,
        head: OnceLock::new(),
        snippet: OnceLock::new(),
        origins: OnceLock::new(),
        stored: std::sync::atomic::AtomicBool::new(false),
    }
}

#[cfg(test)]
mod tests;
