//! Collects dates in a page's body, with their position and the evidence that they are dates.

use std::borrow::Cow;
use std::sync::LazyLock;

use dom_query::{NodeData, NodeRef};
use regex::Regex;

use super::{MAX_ENTRIES, Page, text_within};
use crate::text;

#[derive(Debug, Clone)]
pub(crate) struct DateMark {
    pub(crate) kind: DateKind,
    pub(crate) value: String,
    /// Characters of text before it, without white space.
    pub(crate) at: usize,
    /// The first heading is before it. The header's "today" comes earlier.
    pub(crate) after_heading: bool,
    /// It is in a teaser, a comment or the navigation, and belongs to another text.
    pub(crate) of_another: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DateKind {
    /// `itemprop=datePublished`, or `<time pubdate>`.
    Published,
    /// `itemprop=dateModified`, or a class or line about a change.
    Modified,
    /// `<time datetime>`.
    Time,
    /// Text of a small element with a class for dates.
    Labelled,
    /// A line that names it as publication date.
    Stated,
    /// A short separate line that may be a date.
    Line,
    /// The date at the start of a paragraph, as agencies write it.
    Dateline,
    /// The publication date in a script's data.
    Script,
}

static DATE_CLASS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[\s_-])(?:(?:post|entry|article|pub|news|item|story|content)?(?:date|datum|time|fecha|dato)|(?:date|time)stamp|published|posted|pubdate|dateline|byline|meta|postmeta|postinfo|dat)(?:$|[\s_-])").ok()
});
static MODIFIED_CLASS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)modif|updat|aktualis|lastchange|edited|maj\b|comment").ok());
/// Nodes visited in the line around a date.
const MAX_LINE_VISITED: usize = 100;
/// Words in the names of elements with other texts.
const FOREIGN_WORDS: [&str; 19] = [
    "infobox",
    "teaser",
    "teasers",
    "related",
    "comment",
    "comments",
    "recommend",
    "recommended",
    "recommendation",
    "recommendations",
    "sidebar",
    "widget",
    "latest",
    "mostread",
    "readmore",
    "ticker",
    "newsticker",
    "event",
    "events",
];

/// "Published on" in the supported languages, and German "Stand" ("as of").
static PUBLISHED_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:published|posted|veröffentlicht|erschienen|publié|publicado|pubblicato|gepubliceerd|opublikowano|опубликован[оа]?|опубліковано|дата публикации|дата публікації|datum|(?-i:Stand))\b").ok()
});
static MODIFIED_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:updated|modified|edited|changed|aktualisiert|geändert|änderung|bearbeitet|editiert|mis à jour|modifié|actualizado|aggiornat[oa]|atualizado|bijgewerkt|zaktualizowano|обновлен[оа]?|изменен[оа]?|оновлено|змінено)\b").ok()
});
static DATELINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"^(?:\d{1,2}\.\s?\d{1,2}\.\s?\d{4}|\d{4}-\d{2}-\d{2}|\d{1,2}\.?\s\p{L}{3,10}\.?\s\d{4})\s?[-–—:|/„“"«(]"#,
    )
    .ok()
});
static SCRIPT_DATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^"(?:date_?[Pp]ublished|(?:first_?)?[Pp]ublished(?:_?(?:[Aa]t|[Dd]ate|[Tt]ime|[Oo]n))?|[Pp]ublish_?[Dd]ate)"\s*:\s*"(\d{4}-\d{2}-\d{2}[^"]{0,30})""#).ok()
});

fn is_match(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    !text.is_empty() && regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

impl Page {
    fn note_mark(&mut self, kind: DateKind, value: String, of_another: bool) {
        if self.dates.len() < MAX_ENTRIES {
            let after_heading = !self.headings.is_empty();
            self.dates.push(DateMark { kind, value, at: self.walked, after_heading, of_another });
        }
    }

    pub(super) fn note_text(&mut self, node: &NodeRef<'_>) {
        let (line, length) = node.query_or((None, 0), |inner| match &inner.data {
            NodeData::Text { contents } => {
                let bare = contents.trim();
                let line = if bare.len() <= 80 { bare } else { text::cut(bare, 40) };
                let digits = line.bytes().filter(u8::is_ascii_digit).count();
                let line = ((5..=14).contains(&digits)).then(|| (text::collapse(line), bare.len() > 80));
                (line, bare.chars().filter(|letter| !letter.is_whitespace()).count())
            }
            _ => (None, 0),
        });
        if let Some((line, goes_on)) = line {
            self.note_line(node, line, goes_on);
        }
        self.walked += length;
    }

    fn note_line(&mut self, node: &NodeRef<'_>, line: String, goes_on: bool) {
        if self.dates.len() >= MAX_ENTRIES {
            return;
        }
        if goes_on {
            if let Some(found) = DATELINE.as_ref().and_then(|regex| regex.find(&line)) {
                self.note_mark(DateKind::Dateline, found.as_str().to_owned(), false);
            }
            return;
        }
        if runs_on(node) {
            return;
        }
        let digit_first = line.starts_with(|letter: char| letter.is_ascii_digit());
        let in_link = node.parent().is_some_and(|above| above.element_ref().is_some_and(|e| &*e.name.local == "a"));
        if in_link && !digit_first && line.chars().filter(|letter| letter.is_alphabetic()).count() > 20 {
            return;
        }
        let kind = if is_match(&MODIFIED_TEXT, &line) {
            DateKind::Modified
        } else if is_match(&PUBLISHED_TEXT, &line) {
            DateKind::Stated
        } else {
            DateKind::Line
        };
        // Dates in tables are about the subject: births, battles.
        let in_table = || {
            std::iter::successors(node.parent(), NodeRef::parent)
                .take(4)
                .any(|above| above.element_ref().is_some_and(|element| matches!(&*element.name.local, "td" | "th")))
        };
        let of_another = is_of_another(node) || kind == DateKind::Line && in_table();
        self.note_mark(kind, line, of_another);
    }

    /// Records the first publication date in a script's data.
    pub(super) fn note_script_date(&mut self, script: &str) {
        if self.dates.iter().any(|mark| mark.kind == DateKind::Script) {
            return;
        }
        // Searching for this common part is many times faster than the pattern.
        let found = script.match_indices("ublish").find_map(|(at, _)| {
            let key = script.get(at.saturating_sub(12)..at)?.rfind('"')? + at.saturating_sub(12);
            SCRIPT_DATE.as_ref()?.captures(text::cut(script.get(key..)?, 120))
        });
        if let Some(value) = found.and_then(|found| found.get(1)) {
            self.note_mark(DateKind::Script, value.as_str().to_owned(), false);
        }
    }

    pub(super) fn note_date<'a>(
        &mut self,
        node: &NodeRef<'_>,
        name: &str,
        attribute: &impl Fn(&str) -> Option<&'a str>,
    ) {
        let property = attribute("itemprop").unwrap_or_default();
        let (class, id) = (names(attribute("class")), names(attribute("id")));
        let (class, id) = (class.as_ref(), id.as_ref());
        let is_modified = is_match(&MODIFIED_CLASS, class) || is_match(&MODIFIED_CLASS, id);
        let kind = if property.contains("datePublished") || attribute("pubdate").is_some() || property == "dateCreated"
        {
            DateKind::Published
        } else if property.contains("dateModified") {
            DateKind::Modified
        } else if name == "time" {
            if is_modified { DateKind::Modified } else { DateKind::Time }
        } else if matches!(
            name,
            "h2" | "h3"
                | "h4"
                | "h5"
                | "dd"
                | "dt"
                | "header"
                | "footer"
                | "section"
                | "span"
                | "div"
                | "p"
                | "abbr"
                | "small"
                | "li"
                | "em"
                | "a"
                | "i"
                | "b"
                | "strong"
                | "h6"
                | "td"
        ) && (is_match(&DATE_CLASS, class) || is_match(&DATE_CLASS, id))
        {
            if is_modified { DateKind::Modified } else { DateKind::Labelled }
        } else {
            return;
        };
        let stated = attribute("datetime")
            .or_else(|| attribute("content"))
            .or_else(|| (name == "abbr").then(|| attribute("title")).flatten());
        let value = match stated.filter(|value| !value.trim().is_empty()) {
            Some(value) => value.to_owned(),
            None => self.text_of(node, 130),
        };
        // A longer value is a block of text.
        if value.len() < 130 && value.chars().any(|c| c.is_ascii_digit()) {
            let kind = if kind != DateKind::Published
                && is_match(&MODIFIED_TEXT, &value)
                && !is_match(&PUBLISHED_TEXT, &value)
            {
                DateKind::Modified
            } else {
                kind
            };
            self.note_mark(kind, value, is_of_another(node));
        }
    }
}

/// True if the text is part of a longer sentence. A date in it is then about the subject.
fn runs_on(node: &NodeRef<'_>) -> bool {
    let is_block = |node: &NodeRef<'_>| node.element_ref().is_some_and(|element| text::is_block(&element.name.local));
    let mut inline = *node;
    while let Some(above) = inline.parent().filter(|above| above.is_element() && !is_block(above)) {
        inline = above;
    }
    let before = std::iter::successors(inline.prev_sibling(), NodeRef::prev_sibling);
    let after = std::iter::successors(inline.next_sibling(), NodeRef::next_sibling);
    let mut visits = MAX_LINE_VISITED;
    let mut length = |text: usize, node: NodeRef<'_>| text + length_of(&node, &mut visits);
    let before = before.take(20).take_while(|node| !is_block(node)).fold(0, &mut length);
    before + after.take(20).take_while(|node| !is_block(node)).fold(0, length) > 80
}

fn length_of(node: &NodeRef<'_>, visits: &mut usize) -> usize {
    match node.element_ref() {
        Some(element) if matches!(&*element.name.local, "script" | "style" | "noscript" | "template") => 0,
        Some(_) => text_within(node, 100, visits).len(),
        None => node.query_or(0, |inner| match &inner.data {
            NodeData::Text { contents } => contents.trim().len(),
            _ => 0,
        }),
    }
}

/// Longer values are generated.
const MAX_NAMES: usize = 1_000;

/// True if the node or one of the four elements around it belongs to another text.
fn is_of_another(node: &NodeRef<'_>) -> bool {
    std::iter::successors(Some(*node), NodeRef::parent).take(5).any(|above| {
        above.element_ref().is_some_and(|element| {
            matches!(&*element.name.local, "nav" | "figcaption")
                || element.attrs.iter().any(|attribute| {
                    matches!(&*attribute.name.local, "class" | "id")
                        && parted(text::cut(&attribute.value, MAX_NAMES))
                            .split(|letter: char| !letter.is_ascii_alphanumeric())
                            .any(|word| FOREIGN_WORDS.iter().any(|name| word.eq_ignore_ascii_case(name)))
                })
        })
    })
}

fn names(attribute: Option<&str>) -> Cow<'_, str> {
    parted(text::cut(attribute.unwrap_or_default(), MAX_NAMES))
}

/// Splits `itemPostDate` to `item-Post-Date`.
fn parted(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let mut parted = String::with_capacity(name.len() + 4);
    let mut after_small = false;
    for letter in name.chars() {
        if after_small && letter.is_ascii_uppercase() {
            parted.push('-');
        }
        after_small = letter.is_ascii_lowercase();
        parted.push(letter);
    }
    Cow::Owned(parted)
}
