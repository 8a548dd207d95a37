//! Reads a fetched page: bytes in, article out.
//!
//! `charset` decodes, `parse` builds the document within `work`, `page` walks the document once, `json_ld` and `claim_review` read the
//! markup, `metadata` says who and where, `title` what, `publication` when, `outline` flattens the page, `naming`,
//! `frame` and `boilerplate` say which part of it is the article, `page_data` finds what a script would draw,
//! `main_text` takes the best text, `junk` refuses walls and errors, `passages` cuts the text into what a model can
//! judge, `canonical` names the page, `dates` reads dates. [`documents`] cuts files of documentation and code into
//! sections.
//!
//! Nothing here fetches, waits, stores or knows the time: a page read twice gives the same article. A wall, a login or
//! an error page is an error, never an article with little text.
//!
//! To read one more kind of markup, note its elements in `page` (the document is walked once), turn them into values in
//! a file of their own, and decide their rank in `metadata` or [`read_page`].

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
mod work;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod measured;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use url::Url;

pub use canonical::{canonical_url, led_home, registered_domain};
pub use charset::{CharsetFrom, decode, decode_for};
pub use claim_review::MarkupReview;
pub use dates::{ParsedDate, parse_date, parse_dated};
pub use junk::Junk;
pub use orders::text_without_orders;
pub use passages::{own_passages, passages};
pub use text::letters;
use work::{TooCostly, Work};

/// Bytes of a page that are read; the rest is dropped. News pages are 0.03–2 MB, and the article is never at the end.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// How the main text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The publisher's own `articleBody`.
    JsonLdBody,
    /// The data of a page that a script draws.
    PageData,
    /// The element that holds the article, by its names and its share of the page's prose.
    Element,
    /// Every paragraph that reads like prose.
    #[default]
    Fallback,
}

/// A page as an article. Texts are plain, white space collapsed, never empty when present.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Article {
    pub title: Option<String>,
    pub site_name: Option<String>,
    /// Names, joined by a comma.
    pub author: Option<String>,
    pub publisher: Option<String>,
    /// As stated; may lie in the future. Midnight UTC where only a day was given.
    pub published_at: Option<DateTime<Utc>>,
    /// The day of `published_at` as the page states it, at its own place: at Greenwich it may have been the day before or
    /// after.
    pub published_day: Option<NaiveDate>,
    /// `published_at` is neither stated nor in the address nor beside the heading, or it stands against what is stated by
    /// its place alone: four times of five it is right.
    pub date_is_guess: bool,
    pub modified_at: Option<DateTime<Utc>>,
    /// ISO 639-1, as the page states it; `None` when it says nothing or its text is in another script.
    pub language: Option<String>,
    /// The page's own word for its address; another host's address names the origin of a copy.
    pub canonical: Option<Url>,
    /// `isBasedOn`: addresses this article says it was made from.
    pub based_on: Vec<String>,
    pub description: Option<String>,
    /// schema.org type (`NewsArticle`, `SatiricalArticle`, `AdvertiserContentArticle` …), else `og:type`.
    pub article_type: Option<String>,
    /// `isAccessibleForFree`, where stated.
    pub accessible_for_free: Option<bool>,
    /// The main text in reading order.
    pub paragraphs: Vec<String>,
    /// `ClaimReview` markup, JSON-LD and microdata together.
    pub claim_reviews: Vec<MarkupReview>,
    /// JSON-LD was there and could not be read even leniently.
    pub unreadable_markup: bool,
    /// The encoding's name in the Encoding Standard.
    pub charset: &'static str,
    pub method: Method,
}

impl Article {
    /// The main text, one line a paragraph.
    pub fn text(&self) -> String {
        self.paragraphs.join("\n")
    }

    /// `published_at` within the day that the page states: where Greenwich had another day, the moment of the stated day
    /// that is nearest. Whoever asks a moment for its day then gets the one that readers see.
    pub fn published_on_its_day(&self) -> Option<DateTime<Utc>> {
        let moment = self.published_at?;
        let Some(day) = self.published_day else { return Some(moment) };
        let first = day.and_time(NaiveTime::MIN).and_utc();
        Some(moment.clamp(first, first + TimeDelta::days(1) - TimeDelta::seconds(1)))
    }
}

/// Reads a page. `content_type` is the HTTP header's value, `url` the address after redirects.
///
/// # Errors
/// [`Junk`] says why there is no article. A page that carries a fact-check in its markup is an article however short.
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
    let judge = |paragraphs: &[String]| {
        let stated = junk::Stated { is_free: stated.accessible_for_free, is_article: stated.is_article };
        junk::judge(&page, paragraphs, stated, url, || page::text_of(&document))
    };
    let mut judged = judge(&main.paragraphs);
    // What is seen decides first: a wall or an error page may carry another page's text in its data.
    if matches!(judged, Some(Junk::Empty | Junk::TooShort | Junk::ScriptOnly))
        && let Some(paragraphs) = page_data::read(&document, stated.title.as_deref().unwrap_or_default(), &work)
    {
        main = main_text::MainText::of_data(paragraphs);
        judged = judge(&main.paragraphs);
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

/// The day of publication alone and whether it is a guess, for measuring it on pages that are no articles.
#[cfg(test)]
fn published_of(bytes: &[u8], url: &Url) -> Option<(NaiveDate, bool)> {
    let (decoded, _, _) = decode(bytes, None);
    let page = page::read(&parse::document(&decoded, &Work::default()).ok()?);
    let found = metadata::read(&page, &json_ld::read(&page.json_ld).nodes(), url).publication;
    found.published.map(|date| (date.day, found.is_guess))
}

/// A plain text file: blank lines part its paragraphs.
fn plain_text(decoded: &str, charset: &'static str, url: &Url) -> Result<Article, Junk> {
    let normalised = decoded.replace("\r\n", "\n");
    let paragraphs: Vec<String> =
        normalised.split("\n\n").map(text::collapse).filter(|paragraph| !paragraph.is_empty()).collect();
    match junk::judge(&page::Page::default(), &paragraphs, junk::Stated::default(), url, String::new) {
        Some(reason) => Err(reason),
        None => Ok(Article { paragraphs, charset, published_at: None, ..Article::default() }),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wall_tests;
