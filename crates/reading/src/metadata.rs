//! Reads author, publisher, dates, language and URL of a page, from JSON-LD, meta tags, microdata, visible dates and
//! the URL in this order.

use serde_json::{Map, Value};
use url::Url;

use super::json_ld::{self, addresses, boolean, string, types};
use super::page::{Page, language_code};
use super::publication::{self, Publication};
use super::title;

/// Article types other than those that end in `Article` or `Posting`.
const ARTICLE_TYPES: [&str; 6] = ["Report", "TechArticle", "ClaimReview", "Review", "CreativeWork", "Analysis"];

#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) title: Option<String>,
    pub(super) site_name: Option<String>,
    pub(super) author: Option<String>,
    pub(super) publisher: Option<String>,
    pub(super) publication: Publication,
    pub(super) language: Option<String>,
    pub(super) canonical: Option<Url>,
    pub(super) based_on: Vec<String>,
    pub(super) description: Option<String>,
    pub(super) article_type: Option<String>,
    pub(super) accessible_for_free: Option<bool>,
    /// The markup dates the article with this heading.
    pub(super) is_article: bool,
    pub(super) is_reference_work: bool,
    /// `articleBody` as stated, with escapes.
    pub(super) body: Option<String>,
}

pub(super) fn read(page: &Page, nodes: &[&Map<String, Value>], url: &Url) -> Metadata {
    let canonical = canonical(page, url);
    let article = article_node(page, nodes, url, canonical.as_ref());
    let of_article = |key: &str| article.and_then(|node| string(node, key));
    let site_name = page
        .meta(&["og:site_name", "application-name", "al:android:app_name"])
        .map(str::to_owned)
        .or_else(|| nodes.iter().find(|node| types(node).contains(&"WebSite")).and_then(|node| string(node, "name")));
    let publisher = of_article("publisher").or_else(|| of_article("sourceOrganization")).or_else(|| {
        page.meta(&["article:publisher", "dc.publisher", "citation_publisher"])
            .filter(|name| !is_address(name))
            .map(str::to_owned)
    });
    let names: Vec<&str> = [site_name.as_deref(), publisher.as_deref()].into_iter().flatten().collect();
    let title = title::read(page, article, &names, url);
    let publication = publication::read(page, nodes, article, title.as_deref(), url);
    Metadata {
        title,
        author: author(page, article),
        publication,
        language: language(page, nodes, article),
        based_on: article.and_then(|node| node.get("isBasedOn")).map(addresses).unwrap_or_default(),
        description: of_article("description")
            .or_else(|| {
                page.meta(&["og:description", "description", "twitter:description", "dc.description"])
                    .map(str::to_owned)
            })
            .filter(|text| text.chars().count() >= 20),
        article_type: article
            .map(types)
            .and_then(|types| types.first().map(|name| (*name).to_owned()))
            .or_else(|| page.meta(&["og:type"]).map(str::to_owned)),
        accessible_for_free: nodes
            .iter()
            .filter(|node| is_article(node))
            .find_map(|node| boolean(node, "isAccessibleForFree")),
        is_reference_work: is_reference_work(page, article, url),
        is_article: page.meta(&["article:published_time", "og:article:published_time"]).is_some()
            || article.is_some_and(|node| node.contains_key("datePublished") && is_titled_here(page, node)),
        body: article
            .and_then(|node| node.get("articleBody").or_else(|| node.get("text")))
            .and_then(Value::as_str)
            .map(str::to_owned),
        site_name,
        publisher,
        canonical,
    }
}

fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://") || text.starts_with("www.")
}

fn is_article(node: &Map<String, Value>) -> bool {
    types(node)
        .iter()
        .any(|name| name.ends_with("Article") || name.ends_with("Posting") || ARTICLE_TYPES.contains(name))
}

/// True for a wiki's page that is not news.
fn is_reference_work(page: &Page, article: Option<&Map<String, Value>>, url: &Url) -> bool {
    let has_path = url.path_segments().is_some_and(|mut parts| parts.any(|part| part == "wiki"));
    let has_generator = || page.meta(&["generator"]).is_some_and(|name| name.to_ascii_lowercase().contains("wiki"));
    let is_news = || article.is_some_and(|node| types(node).iter().any(|name| name.ends_with("NewsArticle")));
    (has_path || has_generator()) && !is_news()
}

const MAX_HEADLINE_LETTERS: usize = 24;

/// True if the node's headline is in the title or a heading of the page, or if it has none.
fn is_titled_here(page: &Page, node: &Map<String, Value>) -> bool {
    let letters = super::text::letters;
    let Some(headline) = string(node, "headline").or_else(|| string(node, "name")) else { return true };
    let known: String = letters(&headline).chars().take(MAX_HEADLINE_LETTERS).collect();
    let stated = ["og:title", "twitter:title"].into_iter().filter_map(|tag| page.meta(&[tag]));
    let mut titles = stated.chain(page.title.as_deref()).chain(page.headings.iter().map(String::as_str));
    titles.any(|title| letters(title).contains(&known))
}

/// Returns the node of this page's article: the one with this URL, else the one with most properties. A node with
/// another URL and a headline that the page does not show is a teaser.
fn article_node<'a>(
    page: &Page,
    nodes: &[&'a Map<String, Value>],
    url: &Url,
    canonical: Option<&Url>,
) -> Option<&'a Map<String, Value>> {
    let here = |address: &str| {
        let path = |url: &Url| url.path().trim_end_matches('/').to_owned();
        url.join(address).is_ok_and(|stated| {
            path(&stated).len() > 1
                && (path(&stated) == path(url) || canonical.is_some_and(|other| path(&stated) == path(other)))
        })
    };
    let weight = |node: &Map<String, Value>| {
        let named = ["url", "mainEntityOfPage", "@id"]
            .iter()
            .filter_map(|key| node.get(*key))
            .flat_map(addresses)
            .any(|a| here(&a));
        let strong = types(node).iter().any(|name| name.ends_with("Article") || name.ends_with("Posting"));
        let properties = ["headline", "datePublished", "articleBody", "author"]
            .iter()
            .filter(|key| node.contains_key(**key))
            .count();
        usize::from(named) * 8 + usize::from(strong) * 4 + properties
    };
    let is_teaser = |node: &Map<String, Value>| {
        let stated = || ["url", "mainEntityOfPage"].iter().filter_map(|key| node.get(*key)).flat_map(addresses);
        let is_page =
            |address: &str| url.join(address).is_ok_and(|stated| stated.path().trim_end_matches('/').len() > 1);
        stated().any(|address| is_page(&address))
            && !stated().any(|address| here(&address))
            && !is_titled_here(page, node)
    };
    // `rev` gives the first of equal nodes. The page's own article precedes its teasers.
    nodes.iter().copied().filter(|node| is_article(node) && !is_teaser(node)).rev().max_by_key(|node| weight(node))
}

fn author(page: &Page, article: Option<&Map<String, Value>>) -> Option<String> {
    let from_nodes = article
        .map(|node| json_ld::names(node, "author"))
        .filter(|names| !names.is_empty())
        .or_else(|| article.map(|node| json_ld::names(node, "creator")))
        .unwrap_or_default();
    let listed: Vec<String> = if from_nodes.is_empty() {
        let tags =
            ["author", "article:author", "dc.creator", "citation_author", "parsely-author", "sailthru.author", "byl"];
        let first = tags.iter().find(|tag| page.meta(&[**tag]).is_some_and(|name| !is_address(name)));
        page.metas.iter().filter(|(key, _)| Some(&key.as_str()) == first).map(|(_, name)| name.clone()).collect()
    } else {
        from_nodes
    };
    let joined = listed.into_iter().filter(|name| !is_address(name) && !name.is_empty()).collect::<Vec<_>>().join(", ");
    (!joined.is_empty() && joined.chars().count() <= 300).then_some(joined)
}

fn language(page: &Page, nodes: &[&Map<String, Value>], article: Option<&Map<String, Value>>) -> Option<String> {
    let stated = article.and_then(|node| string(node, "inLanguage"));
    let of_page =
        || nodes.iter().filter(|node| types(node).contains(&"WebPage")).find_map(|node| string(node, "inLanguage"));
    stated
        .and_then(|tag| language_code(&tag))
        .or_else(|| page.lang.as_deref().and_then(language_code))
        .or_else(|| of_page().and_then(|tag| language_code(&tag)))
        .or_else(|| page.meta(&["og:locale", "content-language", "dc.language", "language"]).and_then(language_code))
}

/// Drops a stated language that the text's script excludes, because templates have `lang="en"` by default.
pub(super) fn language_that_fits(language: Option<String>, paragraphs: &[String]) -> Option<String> {
    let language = language?;
    let (mut latin, mut cyrillic) = (0_usize, 0_usize);
    for character in paragraphs.iter().flat_map(|paragraph| paragraph.chars()).take(4_000) {
        match character {
            'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}' => latin += 1,
            '\u{400}'..='\u{52F}' => cyrillic += 1,
            _ => {}
        }
    }
    let is_cyrillic = matches!(language.as_str(), "ru" | "uk" | "be" | "bg" | "mk" | "kk" | "ky" | "mn" | "tg" | "tt");
    // Serbian, Uzbek and others use both scripts.
    let is_latin = matches!(
        language.as_str(),
        "en" | "de"
            | "fr"
            | "es"
            | "pt"
            | "it"
            | "nl"
            | "pl"
            | "cs"
            | "sk"
            | "sv"
            | "da"
            | "no"
            | "nb"
            | "fi"
            | "et"
            | "lv"
            | "lt"
            | "tr"
            | "hu"
    );
    let contradicted = (is_cyrillic && latin > cyrillic * 4) || (is_latin && cyrillic > latin * 2);
    (!contradicted).then_some(language)
}

/// Returns the canonical link, else `og:url`. A link from an inner page to the home page is a template's mistake; a URL
/// on another host names the origin of a copy.
fn canonical(page: &Page, url: &Url) -> Option<Url> {
    let usable = |address: &str| {
        let stated = url.join(address.trim()).ok()?;
        let is_web = matches!(stated.scheme(), "http" | "https") && stated.has_host();
        let is_home = stated.path() == "/" && stated.query().is_none() && (url.path() != "/" || url.query().is_some());
        (is_web && !is_home).then_some(stated)
    };
    page.canonical.as_deref().and_then(usable).or_else(|| page.meta(&["og:url"]).and_then(usable))
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::*;
    use crate::dates::ParsedDate;
    use crate::{json_ld, page};

    fn metadata(html: &str, url: &str) -> Metadata {
        let page = page::read(&Document::from(html));
        let markup = json_ld::read(&page.json_ld);
        read(&page, &markup.nodes(), &Url::parse(url).unwrap())
    }

    fn day(date: Option<ParsedDate>) -> String {
        date.map(|date| date.day.to_string()).unwrap_or_default()
    }

    #[test]
    fn json_ld_comes_first() {
        let found = metadata(
            r#"<html lang=en><head><title>Short | Site</title><meta property="article:published_time" content="2020-01-01">
            <script type="application/ld+json">[{"@type":"NewsArticle","headline":"Teaser","url":"https://a.example/other","datePublished":"2019-01-01"},
            {"@type":["NewsArticle"],"headline":"Own story","mainEntityOfPage":{"@id":"https://a.example/story"},"datePublished":"2021-02-03",
            "dateModified":"2021-02-04","author":[{"name":"Ann"},{"name":"Bob"}],"publisher":{"name":"A Paper"},"inLanguage":"uk",
            "isBasedOn":"https://wire.example/1","isAccessibleForFree":"False","description":"What this is all about."}]</script></head></html>"#,
            "https://a.example/story",
        );
        assert_eq!(found.title.as_deref(), Some("Own story"));
        assert_eq!(
            (day(found.publication.published).as_str(), day(found.publication.modified).as_str()),
            ("2021-02-03", "2021-02-04")
        );
        assert_eq!(found.author.as_deref(), Some("Ann, Bob"));
        assert_eq!(found.publisher.as_deref(), Some("A Paper"));
        assert_eq!(found.language.as_deref(), Some("uk"));
        assert_eq!(found.based_on, ["https://wire.example/1"]);
        assert_eq!(found.accessible_for_free, Some(false));
        assert_eq!(found.article_type.as_deref(), Some("NewsArticle"));
    }

    #[test]
    fn reference_works_are_recognised_when_the_page_is_a_wikis() {
        let news = r#"<script type="application/ld+json">{"@type":"NewsArticle","headline":"Wiki closes"}</script>"#;
        for (html, url, expected) in [
            ("", "https://a.example/wiki/Larn_Lighthouse", true),
            (r#"<meta name=generator content="MediaWiki 1.44.0">"#, "https://a.example/Larn_Lighthouse", true),
            (r#"<meta name=generator content="WordPress 6.9">"#, "https://a.example/story", false),
            ("", "https://a.example/news/wiki-closes", false),
            (news, "https://a.example/wiki/1", false),
        ] {
            assert_eq!(metadata(html, url).is_reference_work, expected, "{html} {url}");
        }
    }

    #[test]
    fn canonical_links_to_home_pages_say_nothing() {
        let canonical =
            |html: &str| metadata(html, "https://a.example/news/1").canonical.map(String::from).unwrap_or_default();
        assert_eq!(canonical(r#"<link rel=canonical href="/news/one">"#), "https://a.example/news/one");
        assert_eq!(
            canonical(
                r#"<link rel=canonical href="https://a.example/"><meta property="og:url" content="https://a.example/news/two">"#
            ),
            "https://a.example/news/two"
        );
        assert_eq!(
            canonical(r#"<link rel=canonical href="https://wire.example/origin">"#),
            "https://wire.example/origin"
        );
        assert_eq!(canonical(r#"<link rel=canonical href="javascript:x">"#), "");
    }

    #[test]
    fn a_language_the_text_is_not_in_is_dropped() {
        let russian = ["Это русский текст, хотя шаблон говорит иначе.".to_owned()];
        assert_eq!(language_that_fits(Some("en".to_owned()), &russian), None);
        assert_eq!(language_that_fits(Some("ru".to_owned()), &russian).as_deref(), Some("ru"));
        assert_eq!(language_that_fits(Some("sr".to_owned()), &russian).as_deref(), Some("sr"));
    }
}
