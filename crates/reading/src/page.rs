//! Collects in one walk over the document everything that the other modules need. To collect more, add a field to
//! [`Page`] and fill it in [`read`].

mod date_marks;
mod headings;

use dom_query::{Document, NodeData, NodeId, NodeRef};

pub(super) use self::date_marks::{DateKind, DateMark};
pub(super) use self::headings::{Heading, Mark};
use super::text;
use super::twice_encoded::is_garbled;

/// Entries of one kind. Normal pages have fewer.
const MAX_ENTRIES: usize = 300;
/// Buttons and labels, and bytes of the text of one.
const MAX_CONTROLS: usize = 60;
const MAX_CONTROL: usize = 80;
/// Nodes that are visited for one element's text. Elements without text also cost time, and many elements may contain
/// the same ones.
const MAX_VISITED: usize = 2_000;
/// The same for all dates and notices of a page, because nested elements are visited repeatedly.
const MAX_VISITED_IN_PAGE: usize = 500_000;

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says that one thing was seen, and they are seen apart")]
pub(super) struct Page {
    pub(super) lang: Option<String>,
    /// `<title>` with collapsed white space.
    pub(super) title: Option<String>,
    pub(super) headings: Vec<String>,
    /// (name, property or itemprop in lower case; content).
    pub(super) metas: Vec<(String, String)>,
    pub(super) canonical: Option<String>,
    pub(super) json_ld: Vec<String>,
    pub(super) dates: Vec<DateMark>,
    pub(super) review_scopes: Vec<NodeId>,
    pub(super) body_scope: Option<NodeId>,
    /// `h1` to `h4`.
    pub(super) heads: Vec<Heading>,
    /// Characters of text so far, without white space.
    walked: usize,
    looked: usize,
    pub(super) has_password_field: bool,
    /// Scripts or attributes of bot checks and captchas.
    pub(super) has_challenge: bool,
    /// An empty element that a script fills.
    pub(super) has_script_root: bool,
    pub(super) requires_scripts: bool,
    /// A short script redirects the reader.
    pub(super) leaves_by_script: bool,
    pub(super) has_parking: bool,
    /// Texts of buttons and of labels of form fields.
    pub(super) controls: Vec<String>,
    /// A hidden form field holds the address to return to.
    pub(super) returns_by_form: bool,
}

pub(super) fn read(document: &Document) -> Page {
    let mut page = Page::default();
    let (mut in_body, mut unread) = (false, None);
    for node in document.root().descendants_it() {
        let Some(element) = node.element_ref() else {
            if in_body && (unread.is_none() || unread != node.parent().map(|parent| parent.id)) {
                page.note_text(&node);
            }
            continue;
        };
        if matches!(&*element.name.local, "script" | "style" | "noscript" | "template" | "textarea") {
            unread = Some(node.id);
        }
        let attribute = |name: &str| -> Option<&str> {
            element.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
        };
        match &*element.name.local {
            "html" => page.lang = attribute("lang").or_else(|| attribute("xml:lang")).map(str::to_owned),
            "body" => in_body = true,
            "meta" => page.note_meta(&attribute),
            "link" => page.note_link(attribute("rel"), attribute("href")),
            // An SVG icon may have its own title, and a broken head may end before the page's title.
            "title" if page.title.is_none() && (!in_body || !is_drawn(&node)) => {
                page.title = Some(bounded_text(&node, 1_000)).filter(|title| !is_garbled(title));
            }
            "script" => page.note_script(&node, attribute("type"), attribute("src")),
            "h1" | "h2" | "h3" | "h4" if page.heads.len() < 60 => page.note_heading(&node, &element.name.local),
            "input" => page.note_input(&attribute),
            "iframe" | "form" | "div" | "noscript" => {
                let marks = [attribute("src"), attribute("action"), attribute("id"), attribute("class")];
                page.has_challenge |= marks.into_iter().flatten().any(is_challenge);
                page.has_parking |= marks.into_iter().flatten().any(is_parking);
                page.has_script_root |=
                    attribute("id").is_some_and(is_script_root) && bounded_text(&node, 1).is_empty();
                if &*element.name.local == "noscript" && !page.requires_scripts {
                    page.requires_scripts = page.text_of(&node, 400).to_lowercase().contains("javascript");
                }
            }
            _ => {}
        }
        if page.controls.len() < MAX_CONTROLS && is_control(&element.name.local, &attribute) {
            let control = page.text_of(&node, MAX_CONTROL);
            page.controls.extend(Some(control).filter(|control| !control.is_empty()));
        }
        if in_body && page.dates.len() < MAX_ENTRIES {
            page.note_date(&node, &element.name.local, &attribute);
        }
        if let Some(kind) = attribute("itemtype")
            && kind.contains("ClaimReview")
            && page.review_scopes.len() < MAX_ENTRIES
        {
            page.review_scopes.push(node.id);
        }
        if page.body_scope.is_none() && attribute("itemprop").is_some_and(|property| property == "articleBody") {
            page.body_scope = Some(node.id);
        }
    }
    page
}

impl Page {
    /// The first non-empty content, in the order of `names`.
    pub(super) fn meta(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| {
            self.metas.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
        })
    }

    /// As [`bounded_text`], within the page's limit of visited nodes.
    fn text_of(&mut self, node: &NodeRef<'_>, max: usize) -> String {
        let most = MAX_VISITED.min(MAX_VISITED_IN_PAGE.saturating_sub(self.looked));
        let mut visits = most;
        let text = text_within(node, max, &mut visits);
        self.looked += most - visits;
        text
    }

    fn note_meta<'a>(&mut self, attribute: &impl Fn(&str) -> Option<&'a str>) {
        let Some(content) = attribute("content").or_else(|| attribute("value")) else { return };
        let content = text::plain(text::cut(content, 5_000));
        if is_garbled(&content) {
            return;
        }
        // `property="og:title twitter:title"` has two names.
        for names in [attribute("property"), attribute("name"), attribute("itemprop"), attribute("http-equiv")] {
            for name in names.into_iter().flat_map(str::split_whitespace) {
                if self.metas.len() < MAX_ENTRIES {
                    self.metas.push((name.to_ascii_lowercase(), content.clone()));
                }
            }
        }
    }

    fn note_input<'a>(&mut self, attribute: &impl Fn(&str) -> Option<&'a str>) {
        let value = attribute("value").unwrap_or_default();
        match attribute("type").map(str::to_ascii_lowercase).as_deref() {
            Some("password") => self.has_password_field = true,
            Some("hidden") => self.returns_by_form |= is_address(value),
            Some("submit" | "button") if self.controls.len() < MAX_CONTROLS => {
                self.controls.push(text::collapse(text::cut(value, MAX_CONTROL)));
            }
            _ => {}
        }
    }

    fn note_link(&mut self, rel: Option<&str>, href: Option<&str>) {
        let is_canonical =
            rel.is_some_and(|rel| rel.split_whitespace().any(|rel| rel.eq_ignore_ascii_case("canonical")));
        if is_canonical && self.canonical.is_none() {
            self.canonical = href.map(str::to_owned);
        }
    }

    fn note_script(&mut self, node: &NodeRef<'_>, kind: Option<&str>, source: Option<&str>) {
        if kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("ld+json")) {
            if self.json_ld.len() < 40 {
                self.json_ld.push(node.text().to_string());
            }
            return;
        }
        self.has_challenge |= source.is_some_and(is_challenge);
        self.has_parking |= source.is_some_and(is_parking);
        let Some(child) = node.first_child() else { return };
        child.query_or((), |inner| {
            if let NodeData::Text { contents } = &inner.data {
                self.has_challenge |= is_challenge(text::cut(contents, 4_000));
                self.has_parking |= is_parking(text::cut(contents, 4_000));
                self.leaves_by_script |= contents.len() < 2_000 && leaves(contents);
                self.note_script_date(contents);
            }
        });
    }
}

/// True for a button, for a link or box that is styled as one, and for the label of a form field.
fn is_control<'a>(name: &str, attribute: &impl Fn(&str) -> Option<&'a str>) -> bool {
    let is_styled = || {
        attribute("class").is_some_and(|class| {
            class
                .split_ascii_whitespace()
                .map(str::to_ascii_lowercase)
                .any(|name| name.starts_with("btn") || name.starts_with("button"))
        })
    };
    matches!(name, "button" | "label")
        || attribute("role").is_some_and(|role| role == "button")
        || (matches!(name, "a" | "div" | "span") && is_styled())
}

/// True for the address of a page, also with escapes: `/news/bridge`, `https%3A%2F%2Fnews.example`.
fn is_address(value: &str) -> bool {
    let value = text::cut(value, 500).to_ascii_lowercase();
    let rest =
        ["https:", "http:", "https%3a", "http%3a", "%2f", "/"].iter().find_map(|start| value.strip_prefix(start));
    let is_named = |part: &str| part.len() >= 4;
    rest.is_some_and(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).any(is_named))
}

fn is_challenge(text: &str) -> bool {
    [
        "cf_chl_opt",
        "cf-chl-",
        "challenge-platform/",
        "challenges.cloudflare.com/turnstile/v0/api.js?onload=_cf",
        "cf-challenge",
        "_Incapsula_Resource",
        "captcha-delivery.com",
        "px-captcha",
        "perimeterx.net",
        "ddos-guard/",
        "sucuri_cloudproxy",
        "/_sec/cp_challenge",
        "aws-waf-token",
        "AwsWafIntegration",
        "smartcaptcha.yandexcloud.net",
        "distil_r_captcha",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

fn is_drawn(node: &NodeRef<'_>) -> bool {
    std::iter::successors(node.parent(), NodeRef::parent)
        .any(|above| above.element_ref().is_some_and(|element| &*element.name.local == "svg"))
}

/// The beginning of the page's text, which suffices for barriers.
pub(super) fn text_of(document: &Document) -> String {
    let mut visits = usize::MAX;
    text_within(&document.root(), 8_000, &mut visits)
}

/// Elements that common frameworks fill by script.
fn is_script_root(id: &str) -> bool {
    matches!(id, "root" | "app" | "__next" | "__nuxt" | "___gatsby" | "svelte" | "app-root" | "react-root" | "main-app")
}

fn is_parking(text: &str) -> bool {
    [
        "sedoparking.com",
        "parkingcrew.net",
        "bodis.com",
        "parklogic.com",
        "above.com/marketplace",
        "afternic.com/forsale",
        "dan.com/orders",
        "hugedomains.com",
        "uniregistry.com/market",
        "domainmarket.com",
        "parking.reg.ru",
        "sedo.com/search/details",
        "window.park",
        "/px.js?ch=",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

fn leaves(script: &str) -> bool {
    let script: String = script.chars().filter(|c| !c.is_whitespace()).collect();
    [
        "location.href=",
        "location.replace(",
        "location.assign(",
        "window.location=",
        "document.location=",
        "top.location=",
    ]
    .iter()
    .any(|step| script.contains(step))
}

/// The element's text with collapsed white space, at most `max` bytes, without scripts and styles.
pub(super) fn bounded_text(node: &NodeRef<'_>, max: usize) -> String {
    let mut visits = MAX_VISITED;
    text_within(node, max, &mut visits)
}

/// As [`bounded_text`]. Each node reduces `visits`; at zero the text ends.
fn text_within(node: &NodeRef<'_>, max: usize, visits: &mut usize) -> String {
    let mut out = String::new();
    let mut pending: Vec<NodeRef<'_>> = node.first_child().into_iter().collect();
    while let Some(next) = pending.pop() {
        if out.len() >= max || *visits == 0 {
            break;
        }
        *visits -= 1;
        let descend = next.query_or(false, |inner| match &inner.data {
            NodeData::Text { contents } => {
                text::push_collapsed(&mut out, text::cut(contents, max * 4));
                false
            }
            NodeData::Element(element) => {
                let name = &*element.name.local;
                if text::is_block(name) {
                    text::push_collapsed(&mut out, " ");
                }
                !matches!(name, "script" | "style" | "noscript" | "template" | "svg")
            }
            _ => false,
        });
        pending.extend(next.next_sibling());
        if descend {
            pending.extend(next.first_child());
        }
    }
    text::cut(out.trim_end(), max).to_owned()
}

/// ISO 639-1 code of a language tag (`en-GB`, `ru_RU`, `ukr`); `None` for other tags ("x-default", "und").
pub(super) fn language_code(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_', ',', ';', ' ']).next()?.to_ascii_lowercase();
    if primary.len() == 2 && primary.bytes().all(|byte| byte.is_ascii_lowercase()) {
        // "ua" is the country code of Ukraine, often used for the language.
        return Some(if primary == "ua" { "uk".to_owned() } else { primary });
    }
    let code = match primary.as_str() {
        "eng" | "english" => "en",
        "rus" | "russian" | "русский" => "ru",
        "ukr" | "ukrainian" => "uk",
        "deu" | "ger" | "german" => "de",
        "fra" | "fre" | "french" => "fr",
        "spa" | "spanish" => "es",
        "por" | "portuguese" => "pt",
        "ita" | "italian" => "it",
        "pol" | "polish" => "pl",
        "nld" | "dut" => "nl",
        "bel" => "be",
        "kaz" => "kk",
        "tur" => "tr",
        "ara" => "ar",
        "heb" => "he",
        "zho" | "chi" => "zh",
        "jpn" => "ja",
        "kor" => "ko",
        _ => return None,
    };
    Some(code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_element_costs_no_more_than_its_visits() {
        let document =
            Document::from(format!("<p>{}late</p><p>soon <b>and <i>again</i></b></p>", "<i></i>".repeat(5_000)));
        let texts: Vec<_> = document.select("p").nodes().iter().map(|node| bounded_text(node, 50)).collect();
        assert_eq!(texts, ["", "soon and again"]);
        assert!(text_of(&document).starts_with("late soon"), "the whole page is asked for once");
        let (root, mut visits) = (document.root(), 9);
        assert_eq!((text_within(&root, 50, &mut visits).as_str(), visits), ("", 0));
    }

    #[test]
    fn language_tags_become_codes() {
        for (tag, code) in [
            ("en-GB", Some("en")),
            ("ru_RU", Some("ru")),
            ("UA", Some("uk")),
            ("ukr", Some("uk")),
            ("x-default", None),
            ("", None),
            ("und", None),
        ] {
            assert_eq!(language_code(tag).as_deref(), code, "{tag}");
        }
    }
}
