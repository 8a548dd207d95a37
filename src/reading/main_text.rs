//! The article's own text: Readability (`dom_smoothie`), the publisher's `articleBody` where it is the better one, and
//! plain paragraphs where neither finds anything.

use std::collections::HashSet;
use std::sync::LazyLock;

use dom_query::{Document, NodeData, NodeId, NodeRef};
use dom_smoothie::{Config, ParsePolicy, Readability};
use regex::Regex;

use super::{Method, text};

/// A page of more elements is read by its paragraphs alone: scoring them all would cost seconds.
const MAX_ELEMENTS: usize = 40_000;
/// Under this many characters a stricter pass has cut too much and the next, laxer one is tried.
const ENOUGH: usize = 400;

/// Paragraphs and the way they were found.
#[derive(Debug)]
pub(super) struct MainText {
    pub(super) paragraphs: Vec<String>,
    pub(super) method: Method,
}

/// Finds the main text. `body` is JSON-LD's `articleBody`; `scope` the element with `itemprop=articleBody`.
pub(super) fn read(document: &Document, body: Option<&str>, scope: Option<NodeId>) -> MainText {
    let stated = body.map(text::plain_paragraphs).unwrap_or_default();
    let mut found = MainText { paragraphs: readable(document), method: Method::Readability };
    let marked =
        scope.as_ref().and_then(|id| document.tree.get(id)).map(|node| paragraphs_of(&node)).unwrap_or_default();
    // What the publisher marks as the body is the body, unless it holds only a part of it.
    if length(&marked) > ENOUGH && length(&marked) * 10 > length(&found.paragraphs) * 12 {
        found.paragraphs = marked;
    }
    if is_better(&stated, &found.paragraphs) {
        found = MainText { paragraphs: stated, method: Method::JsonLdBody };
    }
    if length(&found.paragraphs) < ENOUGH {
        let plain = fallback(document);
        if length(&plain) > length(&found.paragraphs) * 2 {
            found = MainText { paragraphs: plain, method: Method::Fallback };
        }
    }
    found.paragraphs = cleaned(found.paragraphs);
    found
}

fn length(paragraphs: &[String]) -> usize {
    paragraphs.iter().map(String::len).sum()
}

/// `articleBody` is taken when the page's text is much shorter (a script or a paywall hides it) or much longer (the
/// page's text has swallowed its surroundings). Otherwise the page's own paragraphs are better divided.
fn is_better(stated: &[String], found: &[String]) -> bool {
    let (stated, found) = (length(stated), length(found));
    stated >= 200 && (stated * 10 > found * 12 || (stated >= 800 && stated * 10 < found * 6))
}

/// Readability's strict pass, then laxer ones while they find more.
fn readable(document: &Document) -> Vec<String> {
    let mut best: Vec<String> = Vec::new();
    for policy in [ParsePolicy::Strict, ParsePolicy::Moderate, ParsePolicy::Clean] {
        let config = Config { disable_json_ld: true, max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
        let Ok(mut reader) = Readability::with_document(document.clone(), None, Some(config)) else { break };
        if reader.parse_with_policy(policy).is_err() {
            continue;
        }
        let found = reader.doc.select_single("#readability-page-1");
        let paragraphs = found.nodes().first().map(paragraphs_of).unwrap_or_default();
        if length(&paragraphs) > length(&best) {
            best = paragraphs;
        }
        if length(&best) >= ENOUGH {
            break;
        }
    }
    best
}

/// The text under a node, one entry for each block.
fn paragraphs_of(root: &NodeRef<'_>) -> Vec<String> {
    enum Step<'a> {
        Enter(NodeRef<'a>),
        EndOfBlock,
    }
    let mut paragraphs = Vec::new();
    let mut current = String::new();
    let mut pending: Vec<Step<'_>> = root.children().into_iter().rev().map(Step::Enter).collect();
    let flush = |current: &mut String, paragraphs: &mut Vec<String>| {
        let paragraph = current.trim();
        if !paragraph.is_empty() {
            paragraphs.push(paragraph.to_owned());
        }
        current.clear();
    };
    while let Some(step) = pending.pop() {
        let Step::Enter(node) = step else {
            flush(&mut current, &mut paragraphs);
            continue;
        };
        let (descend, block) = node.query_or((false, false), |inner| match &inner.data {
            NodeData::Text { contents } => {
                text::push_collapsed(&mut current, contents);
                (false, false)
            }
            NodeData::Element(element) => {
                let name = &*element.name.local;
                if matches!(name, "br" | "td" | "th") {
                    text::push_collapsed(&mut current, " ");
                }
                (!is_silent(name), name != "br" && text::is_block(name))
            }
            _ => (false, false),
        });
        if block {
            flush(&mut current, &mut paragraphs);
            pending.push(Step::EndOfBlock);
        }
        if descend {
            pending.extend(node.children().into_iter().rev().map(Step::Enter));
        }
    }
    flush(&mut current, &mut paragraphs);
    paragraphs
}

/// Elements whose text is not part of what an article says.
fn is_silent(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "button"
            | "select"
            | "textarea"
            | "figcaption"
            | "iframe"
            | "nav"
            | "object"
            | "audio"
            | "video"
            | "math"
            | "aside"
            | "footer"
            | "form"
            | "dialog"
            | "head"
    )
}

/// Every paragraph of the page that reads like prose.
fn fallback(document: &Document) -> Vec<String> {
    let Some(body) = document.body() else { return Vec::new() };
    paragraphs_of(&body).into_iter().filter(|paragraph| is_prose(paragraph)).collect()
}

fn is_prose(paragraph: &str) -> bool {
    paragraph.chars().count() >= 60 && paragraph.chars().any(|c| matches!(c, '.' | '!' | '?' | '…' | '。' | '।'))
}

static BOILERPLATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^(?:",
        r"(?:share|tweet|pin|print|email|e-mail|comments?|advertisement|advert|реклама|werbung|anzeige|publicité|publicidad|publicidade)\b.{0,40}$",
        r"|(?:share (?:this|on|via)|follow us|sign up (?:for|to)|subscribe (?:to|now|for)|read more|read also|see also|related(?: articles?| stories)?:|more (?:on|from) this|image (?:source|caption)|photo(?:graph)? (?:by|credit)|getty images|click here to)\b.{0,160}$",
        r"|(?:читайте также|читать далее|подписывайтесь|подпишитесь|следите за|поделиться|фото:|источник фото|нашли ошибку|читайте також|підписуйтесь|поділитися|підпишіться)\b.{0,200}$",
        r"|(?:lesen sie auch|mehr zum thema|lesen sie mehr|zum thema:|artikel teilen|newsletter|lire aussi|à lire aussi|lee también|leia também|leia mais|leggi anche|lees ook|czytaj też)\b.{0,160}$",
        r"|(?:©|\(c\)|copyright\b|all rights reserved|все права защищены|alle rechte vorbehalten).{0,200}$",
        r"|(?:we|this (?:site|website)) use[s]? cookies.{0,300}$",
        r"|.{0,40}(?:enable|activate) javascript.{0,100}$",
        r")"
    ))
    .ok()
});

/// Without boilerplate lines, repeats and leftovers of one or two characters.
fn cleaned(paragraphs: Vec<String>) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut kept = Vec::with_capacity(paragraphs.len());
    for paragraph in paragraphs {
        let letters = paragraph.chars().filter(|c| c.is_alphanumeric()).take(3).count();
        let is_boilerplate =
            paragraph.len() < 600 && BOILERPLATE.as_ref().is_some_and(|regex| regex.is_match(&paragraph));
        if letters < 3 || is_boilerplate || !seen.insert(paragraph.clone()) {
            continue;
        }
        kept.push(paragraph);
    }
    kept
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
        let found = read(&page(&html), None, None);
        assert_eq!(found.method, Method::Readability);
        assert_eq!(found.paragraphs.len(), 4, "{:?}", found.paragraphs);
        assert!(found.paragraphs.iter().any(|p| p == "Why now"));
        assert!(found.paragraphs.iter().any(|p| p.starts_with("Money was found. The council")));
        assert!(!found.paragraphs.concat().contains("newsletter"));
    }

    #[test]
    fn the_stated_body_replaces_a_teaser() {
        let body = format!("<p>{}</p><p>{}</p>", SENTENCE.repeat(4), "Last words of the text, which only markup has.");
        let found = read(&page(&format!("<article><p>{SENTENCE}</p></article>")), Some(&body), None);
        assert_eq!(found.method, Method::JsonLdBody);
        assert_eq!(found.paragraphs.len(), 2);
    }

    #[test]
    fn a_stated_body_no_better_than_the_page_is_left() {
        let html = format!("<article><p>{0}</p><p>{0} And again.</p></article>", SENTENCE.repeat(3));
        let found = read(&page(&html), Some(&SENTENCE.repeat(6)), None);
        assert_eq!(found.method, Method::Readability);
    }

    #[test]
    fn pages_without_an_article_give_their_prose() {
        let items: String = (0..12).map(|n| format!("<tr><td><font>{SENTENCE}{n}</font></td></tr>")).collect();
        let found = read(&page(&format!("<table>{items}</table>")), None, None);
        assert!(length(&found.paragraphs) > 800, "{:?}", found.method);
    }
}
