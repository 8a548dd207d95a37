//! Chooses the article's text: the main element, the publisher's `articleBody` if that is better, else plain
//! paragraphs. Boilerplate is removed.

use std::collections::HashSet;

use dom_query::{Document, NodeId};

use super::outline::Block;
use super::{Method, boilerplate, frame, outline, text};

/// A shorter article, in bytes, is compared with the page's prose.
const MIN_COMPLETE_BYTES: usize = 1_200;

#[derive(Debug)]
pub(super) struct MainText {
    pub(super) paragraphs: Vec<String>,
    pub(super) method: Method,
    /// All lines of the page.
    pub(super) blocks: Vec<Block>,
}

/// Finds the main text. `body` is the `articleBody` of JSON-LD, `scope` the element with `itemprop=articleBody`.
pub(super) fn read(document: &Document, body: Option<&str>, scope: Option<NodeId>, title: Option<&str>) -> MainText {
    let stated = body.map(text::plain_paragraphs).unwrap_or_default();
    let mut outline = outline::read(document);
    let (mut paragraphs, mut method) = (frame::article(&mut outline, scope, title), Method::Element);
    if is_better(&stated, &paragraphs) {
        (paragraphs, method) = (stated, Method::JsonLdBody);
    }
    if length(&paragraphs) < MIN_COMPLETE_BYTES {
        let plain = frame::prose(&outline);
        if length(&plain) > length(&paragraphs) * 2 {
            (paragraphs, method) = (plain, Method::Fallback);
        }
    }
    MainText { paragraphs: cleaned(paragraphs), method, blocks: outline.blocks }
}

impl MainText {
    pub(super) fn with_data(self, paragraphs: Vec<String>) -> Self {
        Self { paragraphs: cleaned(paragraphs), method: Method::PageData, ..self }
    }
}

fn length(paragraphs: &[String]) -> usize {
    paragraphs.iter().map(String::len).sum()
}

/// True if the page's text is much shorter than `articleBody` (hidden by a script or paywall) or much longer (it
/// includes surroundings). Otherwise the page's own paragraphs are better divided.
fn is_better(stated: &[String], found: &[String]) -> bool {
    let (stated, found) = (length(stated), length(found));
    stated >= 200 && (stated * 10 > found * 12 || (stated >= 800 && stated * 10 < found * 6))
}

/// Lines and bytes that are kept. The longest reports have a tenth of them.
const MAX_LINES: usize = 4_000;
const MAX_TEXT: usize = 600_000;

/// Removes boilerplate, repeats and lines of fewer than three letters or digits.
fn cleaned(mut paragraphs: Vec<String>) -> Vec<String> {
    paragraphs.truncate(MAX_LINES);
    let mut left = MAX_TEXT;
    paragraphs.retain_mut(|paragraph| {
        paragraph.truncate(text::cut(paragraph, left).len());
        left -= paragraph.len();
        !paragraph.is_empty()
    });
    let mut seen: HashSet<String> = HashSet::new();
    let mut is_new = |paragraph: &String| {
        paragraph.chars().filter(|c| c.is_alphanumeric()).take(3).count() == 3
            && !boilerplate::is_boilerplate(paragraph)
            && seen.insert(paragraph.clone())
    };
    paragraphs.into_iter().filter(&mut is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str =
        "The council voted on Tuesday to build the bridge, and work will begin in the spring of next year. ";

    fn page(inner: &str) -> Document {
        Document::from(format!("<html><body>{inner}</body></html>"))
    }

    #[test]
    fn the_article_is_found_among_its_surroundings() {
        let paragraphs = format!(
            "<p>{0}</p><p>{0}More of it.</p><h2>Why now</h2><p>Money <b>was</b> found.<br>{0}</p>",
            SENTENCE.repeat(2)
        );
        let html = format!(
            "<nav><a href=/>Home</a><a href=/b>News</a></nav><article>{paragraphs}<p>Read more: Another bridge</p></article>\
             <aside><p>Subscribe to our newsletter</p></aside><footer>© 2026 Paper</footer>"
        );
        let found = read(&page(&html), None, None, None);
        assert_eq!(found.method, Method::Element);
        assert_eq!(found.paragraphs.len(), 4, "{:?}", found.paragraphs);
        assert!(found.paragraphs.iter().any(|p| p == "Why now"));
        assert!(found.paragraphs.iter().any(|p| p.starts_with("Money was found. The council")));
        assert!(!found.paragraphs.concat().contains("newsletter"));
    }

    #[test]
    fn the_stated_body_replaces_a_teaser() {
        let body = format!("<p>{}</p><p>{}</p>", SENTENCE.repeat(4), "Last words of the text, which only markup has.");
        let found = read(&page(&format!("<article><p>{SENTENCE}</p></article>")), Some(&body), None, None);
        assert_eq!(found.method, Method::JsonLdBody);
        assert_eq!(found.paragraphs.len(), 2);
    }

    #[test]
    fn a_stated_body_no_better_than_the_page_is_left() {
        let html = format!("<article><p>{0}</p><p>{0} And again.</p></article>", SENTENCE.repeat(3));
        let found = read(&page(&html), Some(&SENTENCE.repeat(6)), None, None);
        assert_eq!(found.method, Method::Element);
    }

    #[test]
    fn pages_without_an_article_give_their_prose() {
        let items: String =
            (0..12).map(|n| format!("<tr><td><font>{SENTENCE}{n}</font></td></tr>")).collect::<Vec<_>>().concat();
        let found = read(&page(&format!("<table>{items}</table>")), None, None, None);
        assert!(length(&found.paragraphs) > 800, "{:?}", found.method);
    }
}
