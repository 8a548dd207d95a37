//! Reads RSS, Atom and JSON feeds, also invalid ones.
//!
//! 1. Repairs the text: content before the XML, undefined entities, bare ampersands. Entity declarations are dropped
//!    and never expanded.
//! 2. Parses it with `feed-rs`.
//! 3. Scans for item tags, to find items that `feed-rs` misses.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, Utc};
use regex::{Captures, Regex};
use url::Url;

use super::text::plain;

/// News feeds have 10–500 KB.
const MAX_BYTES: usize = 10 * 1024 * 1024;
/// Entries that are read. The newest are first, and no site publishes more between two reads.
const MAX_ENTRIES: usize = 500;
/// Characters. Some feeds contain whole articles.
const MAX_SUMMARY: usize = 2000;
const MAX_TITLE: usize = 500;
/// Feed URLs per page. Some pages name one for each topic.
const MAX_FEED_URLS: usize = 50;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Feed {
    pub title: Option<String>,
    /// ISO 639-1.
    pub language: Option<String>,
    /// Minimum time between two reads.
    pub ttl: Option<Duration>,
    /// Hours (UTC) without new entries.
    pub skip_hours: Vec<u8>,
    /// In the feed's order, without repeated URLs.
    pub entries: Vec<FeedEntry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FeedEntry {
    pub url: Url,
    pub title: String,
    /// Empty if absent.
    pub summary: String,
    /// Beginning of the article, if the feed has it in addition to a summary. Searched but not shown.
    pub content: String,
    pub published_at: Option<DateTime<Utc>>,
    /// ISO 639-1, as stated.
    pub language: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    #[error("the body is empty")]
    Empty,
    #[error("the feed URL returns a web page")]
    WebPage,
    #[error("the feed is too expensive to parse")]
    TooCostly,
    #[error("the body is not a feed")]
    Other,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Item {
    link: Option<String>,
    title: Option<String>,
    summary: Option<String>,
    content: Option<String>,
    date: Option<DateTime<Utc>>,
    language: Option<String>,
    base: Option<String>,
}

#[derive(Debug, Default)]
struct ParsedFeed {
    title: Option<String>,
    language: Option<String>,
    items: Vec<Item>,
}

/// Reads a feed. `content_type` is the HTTP header, `url` the address after redirects.
pub fn read_feed(bytes: &[u8], content_type: Option<&str>, url: &Url) -> Result<Feed, FeedError> {
    let bytes = bytes.get(..MAX_BYTES).unwrap_or(bytes);
    let text = text_of(bytes, content_type, url)?;
    let read = read_items(&text, url)?;
    let mut entries: Vec<FeedEntry> = Vec::new();
    for item in read.items.into_iter().take(MAX_ENTRIES) {
        let Some(entry) = entry(item, url) else { continue };
        if !entries.iter().any(|known| known.url == entry.url) {
            entries.push(entry);
        }
    }
    Ok(Feed { title: read.title, language: read.language, ttl: ttl(&text), skip_hours: skip_hours(&text), entries })
}

fn text_of(bytes: &[u8], content_type: Option<&str>, url: &Url) -> Result<String, FeedError> {
    super::work::count_marks(bytes).map_err(|_too_many| FeedError::TooCostly)?;
    let (decoded, _, _) = super::decode_for(bytes, content_type, url.host_str());
    repaired(&decoded)
}

fn entry(item: Item, url: &Url) -> Option<FeedEntry> {
    let base = item.base.and_then(|base| url.join(&base).ok()).unwrap_or_else(|| url.clone());
    let mut link = base.join(item.link?.trim()).ok()?;
    if !matches!(link.scheme(), "http" | "https") || !link.username().is_empty() {
        return None;
    }
    link.set_fragment(None);
    let title = clipped(&item.title?, MAX_TITLE);
    let summary = item.summary.map(|summary| clipped(&summary, MAX_SUMMARY)).unwrap_or_default();
    let content = item.content.map(|content| clipped(&content, MAX_SUMMARY)).unwrap_or_default();
    (!title.is_empty()).then_some(FeedEntry {
        url: link,
        content: if content == summary || content == title { String::new() } else { content },
        summary: if summary == title { String::new() } else { summary },
        title,
        published_at: item.date,
        language: item.language.and_then(|tag| super::page::language_code(&tag)),
    })
}

fn clipped(markup: &str, most: usize) -> String {
    static SCRIPT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?is)<(?:script|style)\b.*?(?:</\s*(?:script|style)\s*>|$)").ok());
    let decoded = html_escape::decode_html_entities(markup);
    let text = match SCRIPT.as_ref() {
        Some(script) if script.is_match(&decoded) => plain(&script.replace_all(&decoded, " ")),
        _ => plain(markup),
    };
    // Some publishers escape markup twice.
    let escaped = text.contains("</") || text.contains("/>") || (text.contains('&') && text.contains(';'));
    let text = if escaped { plain(&text) } else { text };
    let mut short: String = text.chars().take(most).collect();
    short.truncate(short.trim_end().len());
    short
}

/// Repairs the text so that a strict XML parser accepts it.
fn repaired(text: &str) -> Result<String, FeedError> {
    static ROOT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)<(?:[a-z0-9_]+:)?(rss|feed|rdf|channel|entry|html|body|head)[\s>/:]").ok());
    if text.trim().is_empty() {
        return Err(FeedError::Empty);
    }
    if text.trim_start().starts_with('{') && text.contains("jsonfeed.org") {
        return json_feed(text).ok_or(FeedError::Other);
    }
    let root = ROOT.as_ref().and_then(|root| root.captures(text)).ok_or(FeedError::Other)?;
    if matches!(root.get(1).map(|name| name.as_str().to_ascii_lowercase()).as_deref(), Some("html" | "body" | "head")) {
        return Err(FeedError::WebPage);
    }
    // Declarations before the root may be entity bombs.
    let body = root.get(0).and_then(|root| text.get(root.start()..)).unwrap_or_default();
    let decoded = without_base64(body);
    let mut out = String::with_capacity(decoded.len() + decoded.len() / 16);
    let mut rest = decoded.as_ref();
    while let Some(at) = rest.find(['&', '<']) {
        out.extend(rest.get(..at).unwrap_or_default().chars().filter_map(readable));
        let here = rest.get(at..).unwrap_or_default();
        let taken = if here.starts_with("<![CDATA[") {
            here.find("]]>").map_or(here.len(), |end| end + 3)
        } else if here.starts_with("<!--") {
            here.find("-->").map_or(here.len(), |end| end + 3)
        } else {
            0
        };
        if taken > 0 {
            if here.starts_with("<![") {
                out.extend(here.get(..taken).unwrap_or_default().chars().filter_map(readable));
            }
            rest = here.get(taken..).unwrap_or_default();
        } else if here.starts_with('&') {
            rest = push_reference(here, &mut out);
        } else {
            out.push('<');
            rest = here.get(1..).unwrap_or_default();
        }
    }
    out.extend(rest.chars().filter_map(readable));
    Ok(out)
}

/// Removes authors, because `feed-rs` copies all of them into every item.
fn json_feed(text: &str) -> Option<String> {
    let mut feed = super::json::ValueBudget::default().first(text)?;
    let fields = feed.as_object_mut()?;
    for name in ["author", "authors"] {
        fields.remove(name);
    }
    let items = fields.get_mut("items").and_then(serde_json::Value::as_array_mut)?;
    items.truncate(MAX_ENTRIES);
    for item in items.iter_mut().filter_map(serde_json::Value::as_object_mut) {
        item.remove("author");
        item.remove("authors");
    }
    Some(feed.to_string())
}

/// Decodes base64 texts, which Atom allows.
fn without_base64(text: &str) -> Cow<'_, str> {
    static BASE64_ELEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?x) (<[\w:]+\s[^<>]* (?: mode\s*=\s*["']base64["'] | type\s*=\s*["']application/octet-stream["'] )[^<>]*>)
                       ([A-Za-z0-9+/=\s]+) </"#)
        .ok()
    });
    let Some(coded) = BASE64_ELEMENT.as_ref() else { return Cow::Borrowed(text) };
    coded.replace_all(text, |found: &Captures<'_>| {
        let code: String = found[2].split_whitespace().collect();
        let decoded = BASE64_STANDARD.decode(code).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let inner = decoded.map_or_else(|| found[2].to_owned(), |plain| html_escape::encode_text(&plain).into_owned());
        [&found[1], &inner, "</"].concat()
    })
}

/// Maps U+0080–U+009F as windows-1252 and removes other control characters, which XML forbids.
fn readable(character: char) -> Option<char> {
    match character {
        '\u{80}'..='\u{9f}' => {
            let byte = [character as u8];
            let decoded = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte).0;
            decoded.chars().next().filter(|c| !c.is_control())
        }
        '\n' | '\r' | '\t' => Some(character),
        _ => (!character.is_control()).then_some(character),
    }
}

/// Writes the reference at `here` and returns the rest. Unknown references become an escaped ampersand.
fn push_reference<'a>(here: &'a str, out: &mut String) -> &'a str {
    let after = here.get(1..).unwrap_or_default();
    let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '#')).filter(|end| (1..=10).contains(end));
    let named = end.filter(|end| after.get(*end..).is_some_and(|tail| tail.starts_with(';')));
    let Some(name) = named.and_then(|end| after.get(..end)) else {
        out.push_str("&amp;");
        return after;
    };
    let reference = format!("&{name};");
    let decoded = html_escape::decode_html_entities(&reference);
    if matches!(name, "amp" | "lt" | "gt" | "quot" | "apos") {
        out.push_str(&reference);
    } else if decoded == reference {
        out.push_str("&amp;");
        return after;
    } else {
        for character in decoded.chars().filter_map(readable) {
            match character {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                other => out.push(other),
            }
        }
    }
    after.get(name.len() + 1..).unwrap_or_default()
}

fn read_items(text: &str, url: &Url) -> Result<ParsedFeed, FeedError> {
    let parser = feed_rs::parser::Builder::new().base_uri(Some(url.as_str())).timestamp_parser(date).build();
    let strict = parser.parse(text.as_bytes()).ok().map(from_feed);
    if text.starts_with('{') {
        return strict.ok_or(FeedError::Other);
    }
    let scanned = scan(text);
    match strict {
        // The strict parser stops at the first broken item, so that the scan may find more.
        Some(strict) if strict.items.len() >= scanned.items.len() => Ok(filled(strict, &scanned)),
        strict => {
            let is_feed = !scanned.items.is_empty() || strict.is_some() || scanned.title.is_some();
            if is_feed { Ok(scanned) } else { Err(FeedError::Other) }
        }
    }
}

/// Adds what only the scan finds: a date under another name, a URL in a `guid`.
fn filled(mut strict: ParsedFeed, scanned: &ParsedFeed) -> ParsedFeed {
    strict.title = strict.title.filter(|title| !title.is_empty()).or_else(|| scanned.title.clone());
    strict.language = strict.language.or_else(|| scanned.language.clone());
    if strict.items.len() == scanned.items.len() {
        for (item, seen) in strict.items.iter_mut().zip(&scanned.items) {
            let fill = |own: &mut Option<String>, other: &Option<String>| {
                let lacking = own.as_deref().is_none_or(|own| own.trim().is_empty());
                if lacking || own.as_deref().zip(other.as_deref()).is_some_and(|(own, other)| goes_on(own, other)) {
                    own.clone_from(other);
                }
            };
            fill(&mut item.link, &seen.link);
            fill(&mut item.title, &seen.title);
            fill(&mut item.summary, &seen.summary);
            fill(&mut item.content, &seen.content);
            item.date = item.date.or(seen.date);
        }
    }
    strict
}

/// True if the strict parser stopped at a tag inside the text.
fn goes_on(own: &str, other: &str) -> bool {
    let rest = other.trim_start().strip_prefix(own.trim());
    rest.is_some_and(|rest| rest.trim_start().starts_with('<') && !clipped(rest, 1).is_empty())
}

fn from_feed(feed: feed_rs::model::Feed) -> ParsedFeed {
    let items = feed.entries.into_iter().map(|entry| {
        let is_page = |link: &&feed_rs::model::Link| link.rel.as_deref().is_none_or(|rel| rel == "alternate");
        let link = entry.links.iter().find(is_page).or_else(|| entry.links.iter().find(|link| link.rel.is_none()));
        let summary = entry.summary.map(|text| text.content).filter(|text| !text.trim().is_empty());
        let content = entry.content.and_then(|content| content.body);
        Item {
            link: link.map(|link| link.href.clone()).or_else(|| entry.id.starts_with("http").then_some(entry.id)),
            title: entry.title.map(|text| text.content),
            summary: summary.or_else(|| content.clone()),
            content,
            date: entry.published.or(entry.updated),
            language: entry.language,
            base: entry.base,
        }
    });
    ParsedFeed {
        title: feed.title.map(|text| clipped(&text.content, MAX_TITLE)),
        language: feed.language,
        items: items.collect(),
    }
}

fn scan(text: &str) -> ParsedFeed {
    const FULL_TEXT_TAGS: [&str; 4] = ["encoded", "content", "fullitem", "body"];
    static START: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)<(?:[a-z0-9_]+:)?(?:item|entry)(?:\s[^>]*)?>").ok());
    let Some(start) = START.as_ref() else { return ParsedFeed::default() };
    let starts: Vec<usize> = start.find_iter(text).map(|found| found.end()).take(MAX_ENTRIES).collect();
    let head = text.get(..starts.first().copied().unwrap_or(text.len())).unwrap_or_default();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let items = starts.iter().zip(ends).filter_map(|(start, end)| {
        let block = text.get(*start..end)?;
        let block = ["</item", "</entry"]
            .iter()
            .filter_map(|close| block.find(close))
            .min()
            .map_or(block, |end| block.get(..end).unwrap_or(block));
        let link = element(block, "link").filter(|link| !link.trim().is_empty()).or_else(|| href(block));
        let guid =
            element(block, "guid").or_else(|| element(block, "id")).filter(|guid| guid.trim().starts_with("http"));
        let first = |names: &[&str]| names.iter().find_map(|name| element(block, name));
        let dates = ["pubDate", "published", "issued", "date", "updated", "modified"];
        Some(Item {
            link: link.or(guid).map(|link| html_escape::decode_html_entities(link.trim()).into_owned()),
            title: element(block, "title"),
            summary: first(&["description", "summary"]).or_else(|| first(&FULL_TEXT_TAGS)),
            content: first(&FULL_TEXT_TAGS),
            date: dates.iter().find_map(|name| date(&element(block, name)?)),
            language: None,
            base: None,
        })
    });
    let (title, language) = (element(head, "title").map(|title| clipped(&title, MAX_TITLE)), element(head, "language"));
    ParsedFeed { title, language, items: items.collect() }
}

/// The content of the first element with this local name, in any namespace.
fn element(block: &str, name: &str) -> Option<String> {
    let mut rest = block;
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        let tag = after.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '<')).next().unwrap_or_default();
        let local = tag.rsplit(':').next().unwrap_or(tag);
        if !local.eq_ignore_ascii_case(name) || after.starts_with('/') {
            continue;
        }
        // Without this bound, unclosed tags would take quadratic time.
        let end = after.find(['>', '<'])?;
        let (attributes, body) = (after.get(..end)?, after.get(end..)?.strip_prefix('>'));
        let Some(body) = body else { continue };
        if attributes.ends_with('/') {
            continue;
        }
        // Without a closing tag, the content ends at the next tag.
        let end = body.find(format!("</{tag}").as_str()).or_else(|| body.find('<')).unwrap_or(body.len());
        let content = body.get(..end).unwrap_or_default();
        let open = content.trim();
        let inner = open.strip_prefix("<![CDATA[").map(|inner| inner.trim_end_matches("]]>"));
        return Some(inner.unwrap_or(content).to_owned());
    }
    None
}

/// The URL of the Atom link to the page.
fn href(block: &str) -> Option<String> {
    static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<(?:[a-z0-9_]+:)?link\s([^>]*)>").ok());
    static HREF: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')"#).ok());
    let (link, href) = (LINK.as_ref()?, HREF.as_ref()?);
    link.captures_iter(block).find_map(|found| {
        let attributes = found.get(1)?.as_str();
        let is_page = !attributes.contains("rel=") || attributes.to_ascii_lowercase().contains("alternate");
        let value = href.captures(attributes).filter(|_| is_page)?;
        Some(value.get(1).or_else(|| value.get(2))?.as_str().to_owned())
    })
}

/// Parses an entry's date. "IST" is Indian time in feeds.
fn date(text: &str) -> Option<DateTime<Utc>> {
    super::parse_date(&super::text::collapse(text).replace(" IST", " +0530"))
}

fn ttl(text: &str) -> Option<Duration> {
    let minutes: u64 = element(text, "ttl")?.trim().parse().ok()?;
    (1..=7 * 24 * 60).contains(&minutes).then(|| Duration::from_secs(minutes * 60))
}

fn skip_hours(text: &str) -> Vec<u8> {
    static HOUR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<hour>\s*(\d{1,2})\s*</hour>").ok());
    let (Some(hours), Some(hour)) = (element(text, "skipHours"), HOUR.as_ref()) else { return Vec::new() };
    let read = hour.captures_iter(&hours).filter_map(|found| found.get(1)?.as_str().parse::<u8>().ok());
    // Some feeds count from 1 to 24.
    let mut hours: Vec<u8> = read.filter(|hour| *hour <= 24).map(|hour| hour % 24).collect();
    hours.sort_unstable();
    hours.dedup();
    // 24 excluded hours are a mistake.
    if hours.len() >= 24 { Vec::new() } else { hours }
}

pub fn feeds_of_page(html: &str, url: &Url) -> Vec<Url> {
    static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<link\s").ok());
    static TYPE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)type\s*=\s*["']?application/(?:(?:rss|atom)\+xml|feed\+json)"#).ok());
    static HREF: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))"#).ok());
    let (Some(link), Some(kind), Some(href)) = (LINK.as_ref(), TYPE.as_ref(), HREF.as_ref()) else { return Vec::new() };
    let mut found: Vec<Url> = Vec::new();
    let tags = link.find_iter(html).filter_map(|opening| {
        let rest = super::text::cut(html.get(opening.start()..)?, 2_000);
        rest.split_once('>').map(|(tag, _)| tag)
    });
    for tag in tags.filter(|tag| kind.is_match(tag)).take(MAX_FEED_URLS) {
        let Some(value) = href.captures(tag).and_then(|parts| parts.iter().skip(1).flatten().next()) else { continue };
        let Ok(feed) = url.join(&html_escape::decode_html_entities(value.as_str())) else { continue };
        let is_news = matches!(feed.scheme(), "http" | "https") && !feed.path().contains("comments");
        if is_news && !found.contains(&feed) {
            found.push(feed);
        }
    }
    found
}

#[cfg(test)]
mod measured;
#[cfg(test)]
mod tests;
