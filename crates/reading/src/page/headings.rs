//! Collects the headings of a page with the attributes that identify the article's own.

use dom_query::{NodeData, NodeRef};

use super::{MAX_VISITED, Page, bounded_text, text_within};
use crate::text;

#[derive(Debug)]
pub(crate) struct Heading {
    pub(crate) text: String,
    /// `h1`.
    pub(crate) is_first: bool,
    /// Characters of text before it, without white space.
    pub(crate) at: usize,
    /// Its parts, if there are several: a kicker, the title, a date.
    pub(crate) pieces: Vec<String>,
    /// Target of its first link or of the link around it.
    pub(crate) link: Option<String>,
    pub(crate) mark: Mark,
    /// It is in a part of the page that is never the article.
    pub(crate) is_aside: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The hAtom class `entry-title`.
    Entry,
    /// The microdata property `headline`.
    Headline,
    None,
}

fn mark(heading: &NodeRef<'_>) -> Mark {
    let has = |attribute: &str, word: &str| {
        heading.attr(attribute).is_some_and(|held| held.split_ascii_whitespace().any(|held| held == word))
    };
    match (has("class", "entry-title"), has("itemprop", "headline")) {
        (true, _) => Mark::Entry,
        (false, true) => Mark::Headline,
        _ => Mark::None,
    }
}

impl Page {
    pub(super) fn note_heading(&mut self, node: &NodeRef<'_>, name: &str) {
        let heading = bounded_text(node, 500);
        if name == "h1" && self.headings.len() < 4 {
            self.headings.push(heading.clone());
        }
        let is_link = |node: &NodeRef<'_>| node.element_ref().is_some_and(|element| &*element.name.local == "a");
        let inside = node.descendants_it().take(40).find(|below| is_link(below));
        let link = inside.or_else(|| node.parent().filter(is_link)).and_then(|link| link.attr("href"));
        let mut visits = MAX_VISITED;
        self.heads.push(Heading {
            pieces: pieces(node, &heading, &mut visits),
            text: heading,
            is_first: name == "h1",
            at: self.walked,
            link: link.map(|href| text::cut(&href, 500).to_owned()),
            mark: mark(node),
            is_aside: std::iter::successors(node.parent(), NodeRef::parent).take(6).any(|above| is_aside(&above)),
        });
    }
}

fn is_aside(node: &NodeRef<'_>) -> bool {
    node.element_ref().is_some_and(|element| {
        let has_role = |attribute: &str, roles: &[&str]| {
            element.attrs.iter().any(|held| &*held.name.local == attribute && roles.contains(&&*held.value))
        };
        matches!(&*element.name.local, "nav" | "aside" | "footer")
            || has_role("role", &["navigation", "complementary", "contentinfo", "banner"])
    })
}

/// Splits a heading into its elements; empty if there is only one part. `visits` limits the nodes.
fn pieces(heading: &NodeRef<'_>, whole: &str, visits: &mut usize) -> Vec<String> {
    let (mut runs, mut only) = (Vec::new(), None);
    for child in std::iter::successors(heading.first_child(), NodeRef::next_sibling).take(30) {
        // Emphasis, links and a large first letter are part of the sentence.
        let (is_text, may_part) = child.query_or((false, false), |inner| match &inner.data {
            NodeData::Text { .. } => (true, false),
            NodeData::Element(element) => {
                let name = &*element.name.local;
                (false, text::is_block(name) || matches!(name, "span" | "small" | "time" | "label"))
            }
            _ => (false, false),
        });
        let run =
            if is_text { text::collapse(text::cut(&child.text(), 500)) } else { text_within(&child, 500, visits) };
        let letters = run.chars().filter(|letter| letter.is_alphanumeric()).count();
        if letters > 0 {
            only = (!is_text).then_some(child);
            runs.push((run, may_part && letters > 1));
        }
    }
    if runs.len() < 2 {
        return only.map(|only| pieces(&only, whole, visits)).unwrap_or_default();
    }
    let (mut out, mut after_part): (Vec<String>, bool) = (Vec::new(), true);
    for (run, parts) in runs {
        match out.last_mut().filter(|_| !parts && !after_part) {
            Some(last) => {
                let glued = format!("{last}{run}");
                *last = if whole.contains(&glued) { glued } else { format!("{last} {run}") };
            }
            None => out.push(run),
        }
        after_part = parts;
    }
    if out.len() > 1 { out } else { Vec::new() }
}
