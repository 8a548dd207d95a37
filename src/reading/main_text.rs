//! The article's own text: Readability (`dom_smoothie`), the publisher's `articleBody` where it is the better one, and
//! plain paragraphs where neither finds anything.

use std::collections::HashSet;
use std::sync::LazyLock;

use dom_query::{Document, Element, NodeData, NodeId, NodeRef};
use dom_smoothie::{Config, ParsePolicy, Readability};
use regex::Regex;

use super::{Method, text};

/// A page of more elements is read by its paragraphs alone: scoring them all would cost seconds.
const MAX_ELEMENTS: usize = 40_000;
/// Under this many characters a stricter pass has cut too much and the next, laxer one is tried.
const ENOUGH: usize = 400;
/// Under this many bytes the article may have been missed, and the page's prose is weighed against it.
const SPARSE: usize = 1_200;

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
    if length(&found.paragraphs) < SPARSE {
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
        let config = Config {
            disable_json_ld: true,
            keep_classes: true,
            max_elements_to_parse: MAX_ELEMENTS,
            ..Config::default()
        };
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

/// The text under a node, one entry for each block. Blocks that are links for the most part, and subtrees that name
/// themselves as surroundings, are left out.
fn paragraphs_of(root: &NodeRef<'_>) -> Vec<String> {
    let strict = blocks_of(root, true);
    // A page that names its own article "related" or makes it of links is taken at its text, not at its names.
    if strict.dropped > length(&strict.paragraphs) { blocks_of(root, false).paragraphs } else { strict.paragraphs }
}

fn blocks_of(root: &NodeRef<'_>, strict: bool) -> Blocks {
    let mut blocks = Blocks { strict, ..Blocks::default() };
    let mut pending: Vec<Step<'_>> = root.children().into_iter().rev().map(Step::Enter).collect();
    while let Some(step) = pending.pop() {
        let node = match step {
            Step::Enter(node) => node,
            Step::EndOfBlock => {
                blocks.flush();
                continue;
            }
            Step::EndOfLink => {
                blocks.in_links = blocks.in_links.saturating_sub(1);
                continue;
            }
        };
        match node.query_or(Next::Leave, |inner| blocks.enter(&inner.data)) {
            Next::Leave => continue,
            Next::Drop => {
                blocks.dropped += node.normalized_char_count();
                continue;
            }
            Next::Descend => {}
            Next::Block => {
                blocks.flush();
                pending.push(Step::EndOfBlock);
            }
            Next::Link => {
                blocks.in_links += 1;
                pending.push(Step::EndOfLink);
            }
        }
        pending.extend(node.children().into_iter().rev().map(Step::Enter));
    }
    blocks.flush();
    blocks
}

enum Step<'a> {
    Enter(NodeRef<'a>),
    EndOfBlock,
    EndOfLink,
}

/// What to do with a node: leave it with all it holds, or go on inside it.
enum Next {
    Leave,
    /// The same, and its text counts as dropped.
    Drop,
    Descend,
    Block,
    Link,
}

/// The blocks gathered so far, and the one being gathered.
#[derive(Default)]
struct Blocks {
    paragraphs: Vec<String>,
    current: String,
    in_links: usize,
    linked: usize,
    /// Whether surroundings and lists of links are left out.
    strict: bool,
    /// Characters left out so.
    dropped: usize,
}

impl Blocks {
    fn enter(&mut self, data: &NodeData) -> Next {
        match data {
            NodeData::Text { contents } => {
                let before = self.current.len();
                text::push_collapsed(&mut self.current, contents);
                if self.in_links > 0 {
                    self.linked += self.current.len() - before;
                }
                Next::Leave
            }
            NodeData::Element(element) => {
                let name = &*element.name.local;
                if matches!(name, "br" | "td" | "th") {
                    text::push_collapsed(&mut self.current, " ");
                }
                if is_silent(name) {
                    Next::Leave
                } else if self.strict && is_surrounding(element) {
                    Next::Drop
                } else if name == "a" {
                    Next::Link
                } else if name != "br" && text::is_block(name) {
                    Next::Block
                } else {
                    Next::Descend
                }
            }
            _ => Next::Leave,
        }
    }

    fn flush(&mut self) {
        let paragraph = self.current.trim();
        // Prose holds links; a list of other articles is nothing else.
        if self.strict && self.linked * 10 > paragraph.len() * 8 {
            self.dropped += paragraph.chars().count();
        } else if !paragraph.is_empty() {
            self.paragraphs.push(paragraph.to_owned());
        }
        self.current.clear();
        self.linked = 0;
    }
}

static SURROUNDING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:^|[\s_-])(?:comments?|commentlist|disqus|related|recommend(?:ed|ations?)?|newsletter|sharing|share(?:-?buttons?|-?bar|-?tools)?|",
        r"outbrain|taboola|read-?more|also-?read|most-?read|author-?(?:bio|box|info)|about-?author|breadcrumbs?|post-?tags|",
        r"cookie|gdpr|consent|advert(?:isement)?s?|jp-relatedposts|sharedaddy)(?:$|[\s_-])"
    ))
    .ok()
});

/// Whether a block's own class or id says that it is not the article.
fn is_surrounding(element: &Element) -> bool {
    let Some(regex) = SURROUNDING.as_ref() else { return false };
    // Each of the two may wrap a whole page; then what it holds is no surrounding (see `paragraphs_of`).
    matches!(&*element.name.local, "form" | "noscript")
        || text::is_block(&element.name.local)
            && element
                .attrs
                .iter()
                .filter(|attribute| matches!(&*attribute.name.local, "class" | "id"))
                .any(|attribute| attribute.value.len() < 200 && regex.is_match(&attribute.value))
}

/// Elements whose text is not part of what an article says.
fn is_silent(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
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
        let items: String =
            (0..12).map(|n| format!("<tr><td><font>{SENTENCE}{n}</font></td></tr>")).collect::<Vec<_>>().concat();
        let found = read(&page(&format!("<table>{items}</table>")), None, None);
        assert!(length(&found.paragraphs) > 800, "{:?}", found.method);
    }
}
