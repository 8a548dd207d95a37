//! Extracts the article from the bytes of a fetched page.
//!
//! 1. `charset` decodes and `twice_encoded` repairs; `parse` builds the document within the limits of `work`; `page`
//!    walks it once.
//! 2. `json_ld`, `claim_review`, `metadata`, `title` and `publication` read the facts about the article.
//! 3. `outline`, `naming`, `frame`, `boilerplate`, `page_data` and `main_text` find its text.
//! 4. `junk` rejects paywalls, logins and error pages; `barrier` scores consent requests and offers.
//! 5. `passages` cuts the text for the models.
//!
//! [`documents`] cuts files of documentation and code; [`feeds`] reads feeds.
//!
//! Nothing here fetches, stores or reads a clock: a page always gives the same article. A page with a barrier or an
//! error is an error, never a short article.
//!
//! To read another kind of markup, collect its elements in `page`, convert them in a new file, and rank them in
//! `metadata` or [`read_page`].

mod barrier;
mod boilerplate;
mod canonical;
mod charset;
mod claim_review;
mod dates;
pub mod documents;
pub mod feeds;
mod frame;
mod json;
mod json_ld;
mod junk;
mod main_text;
mod metadata;
mod naming;
mod orders;
mod others;
mod outline;
mod page;
mod page_data;
mod parse;
mod passages;
mod publication;
mod text;
mod title;
mod twice_encoded;
mod work;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod measured;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use url::Url;

pub use canonical::{canonical_url, led_home, registered_domain};
pub use charset::{CharsetSource, decode, decode_for};
pub use claim_review::MarkupReview;
pub use dates::{ParsedDate, parse_date, parse_dated};
pub use junk::Junk;
pub use orders::text_without_orders;
pub use passages::{own_passages, passages};
pub use text::letters;
use work::{TooCostly, Work};

/// News pages have 0.03–2 MB, and the article is never at the end.
const MAX_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The publisher's own `articleBody`.
    JsonLdBody,
    /// Data of a script that renders the page.
    PageData,
    /// The element that contains the article.
    Element,
    /// All paragraphs that look like prose.
    #[default]
    Fallback,
}

/// A page as an article. Texts are plain, with collapsed white space, and never empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Article {
    pub title: Option<String>,
    pub site_name: Option<String>,
    /// Comma-separated names.
    pub author: Option<String>,
    pub publisher: Option<String>,
    /// As stated; may be in the future. Midnight UTC if only a day was given.
    pub published_at: Option<DateTime<Utc>>,
    /// The day of `published_at` in the page's time zone.
    pub published_day: Option<NaiveDate>,
    /// The date is only inferred from its position on the page. Such dates are right in four of five cases.
    pub date_is_guess: bool,
    pub modified_at: Option<DateTime<Utc>>,
    /// The page describes a subject and is kept up to date, as in an encyclopaedia.
    pub is_reference_work: bool,
    /// ISO 639-1, as stated; `None` if the text is in another script.
    pub language: Option<String>,
    /// A URL on another host names the origin of a copy.
    pub canonical: Option<Url>,
    /// `isBasedOn`: URLs of the article's sources.
    pub based_on: Vec<String>,
    pub description: Option<String>,
    /// schema.org type (`NewsArticle`, `SatiricalArticle`, `AdvertiserContentArticle` …), else `og:type`.
    pub article_type: Option<String>,
    /// `isAccessibleForFree`, if stated.
    pub accessible_for_free: Option<bool>,
    pub paragraphs: Vec<String>,
    /// `ClaimReview` markup from JSON-LD and microdata.
    pub claim_reviews: Vec<MarkupReview>,
    /// The JSON-LD could not be read, even after repair.
    pub unreadable_markup: bool,
    /// Name in the Encoding Standard.
    pub charset: &'static str,
    pub method: Method,
}

impl Article {
    pub fn text(&self) -> String {
        self.paragraphs.join("\n")
    }

    /// Returns the time nearest to `published_at` whose UTC date is `published_day`.
    pub fn published_on_its_day(&self) -> Option<DateTime<Utc>> {
        let moment = self.published_at?;
        let Some(day) = self.published_day else { return Some(moment) };
        let first = day.and_time(NaiveTime::MIN).and_utc();
        Some(moment.clamp(first, first + TimeDelta::days(1) - TimeDelta::seconds(1)))
    }
}

/// Reads a page. `content_type` is the HTTP header, `url` the address after redirects.
///
/// # Errors
/// [`Junk`] says why there is no article. A page with a fact-check in its markup may be short or behind a paywall.
pub fn read_page(bytes: &[u8], content_type: Option<&str>, url: &Url) -> Result<Article, Junk> {
    let bytes = bytes.get(..MAX_BYTES).unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Junk::Empty);
    }
    let kind = junk::kind_of(bytes, content_type);
    if kind == junk::Kind::Other {
        return Err(Junk::NotHtml);
    }
    let (decoded, charset, _) = decode_for(bytes, content_type, url.host_str());
    if kind == junk::Kind::Plain {
        return plain_text(&decoded, charset, url);
    }
    let work = Work::default();
    let document = parse::document(&decoded, &work).map_err(|TooCostly| Junk::TooCostly)?;
    let page = page::read(&document);
    let markup = json_ld::read(&page.json_ld);
    let nodes = markup.nodes();
    let stated = metadata::read(&page, &nodes, url);
    let mut claim_reviews = claim_review::from_json_ld(&nodes);
    claim_reviews.extend(claim_review::from_microdata(&document, &page.review_scopes));
    let claim_reviews = claim_review::without_repeats(claim_reviews);
    let mut main = main_text::read(&document, stated.body.as_deref(), page.body_scope, stated.title.as_deref());
    let judge = |main: &main_text::MainText| {
        let stated = junk::ArticleMarkup { is_free: stated.accessible_for_free, is_article: stated.is_article };
        junk::judge(&page, main, stated, url, || page::text_of(&document))
    };
    let mut judged = judge(&main);
    // Visible text decides first, because a barrier's data may have another page's text.
    if matches!(judged, Some(Junk::Empty | Junk::TooShort | Junk::ScriptOnly))
        && let Some(paragraphs) = page_data::read(&document, stated.title.as_deref().unwrap_or_default(), &work)
    {
        main = main.with_data(paragraphs);
        judged = judge(&main);
    }
    if let Some(reason) = judged
        && (claim_reviews.is_empty() || !matches!(reason, Junk::TooShort | Junk::Empty | Junk::Paywall))
    {
        return Err(reason);
    }
    Ok(Article {
        language: metadata::language_that_fits(stated.language, &main.paragraphs),
        title: stated.title,
        site_name: stated.site_name,
        author: stated.author,
        publisher: stated.publisher,
        published_at: stated.publication.published.map(|date| date.at),
        published_day: stated.publication.published.map(|date| date.local_day()),
        date_is_guess: stated.publication.is_guess,
        modified_at: stated.publication.modified.map(|date| date.at),
        is_reference_work: stated.is_reference_work,
        canonical: stated.canonical,
        based_on: stated.based_on,
        description: stated.description,
        article_type: stated.article_type,
        accessible_for_free: stated.accessible_for_free,
        paragraphs: main.paragraphs,
        claim_reviews,
        unreadable_markup: markup.unreadable,
        charset,
        method: main.method,
    })
}

/// Publication day and whether it is a guess, to measure pages that are not articles.
#[cfg(test)]
fn published_of(bytes: &[u8], url: &Url) -> Option<(NaiveDate, bool)> {
    let (decoded, _, _) = decode(bytes, None);
    let page = page::read(&parse::document(&decoded, &Work::default()).ok()?);
    let found = metadata::read(&page, &json_ld::read(&page.json_ld).nodes(), url).publication;
    found.published.map(|date| (date.day, found.is_guess))
}

fn plain_text(decoded: &str, charset: &'static str, url: &Url) -> Result<Article, Junk> {
    let normalised = decoded.replace("\r\n", "\n");
    let paragraphs: Vec<String> =
        normalised.split("\n\n").map(text::collapse).filter(|paragraph| !paragraph.is_empty()).collect();
    let main = main_text::MainText { paragraphs, method: Method::Fallback, blocks: Vec::new() };
    match junk::judge(&page::Page::default(), &main, junk::ArticleMarkup::default(), url, String::new) {
        Some(reason) => Err(reason),
        None => Ok(Article { paragraphs: main.paragraphs, charset, published_at: None, ..Article::default() }),
    }
}

#[cfg(test)]
mod barrier_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wall_tests;
