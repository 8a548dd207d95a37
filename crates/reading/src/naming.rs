//! Classifies elements by their names (class, id, role): the article, or its surroundings. The words are common to many
//! themes and content systems; none is specific to one site. To add one, put it in the list of its class.

use std::collections::HashMap;
use std::sync::LazyLock;

use dom_query::Element;

/// An id of more words is an anchor made from a heading.
const MAX_ID_WORDS: usize = 4;
/// Longer values are generated.
const MAX_NAMES: usize = 400;

/// The kind of surroundings that the names indicate. It determines how much text may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Noise {
    #[default]
    None,
    /// A line: dates, credits, categories.
    Line,
    /// A summary: of this article without links, of another with links.
    Teaser,
    /// A list of linked summaries.
    Teasers,
    /// Articles sometimes have these names too.
    Likely,
    /// Only surroundings have these names.
    Certain,
    /// Reader comments, which may be longer than the article.
    Comments,
}

/// The kind of article element that the names indicate, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum ContainerKind {
    Body,
    Article,
    Story,
    Content,
    Main,
    #[default]
    Elsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Names {
    pub(super) noise: Noise,
    pub(super) container: ContainerKind,
    pub(super) is_hidden: bool,
}

const LINE: &str = "date time datetime timestamp datum dateline published kicker category categories cat cats rubrik \
    rubric topic topics source credit credits copyright photographer";
const LIKELY: &str = "meta metadata postmeta author authors authorbox authorbio authorinfo autor autoren bio byline profile embed embedded tag tags taglist tagcloud \
    rating ratings slide slider slideshow carousel swiper gallery galerie caption overlay modal popup tooltip expand options \
    icon icons button buttons btn next prev previous stories popular trending widget widgets bar toolbar banner login signup \
    signin disclaimer attachment attachments viewport premium paywall promo promos promotion cta print toc infobox factbox \
    imprint impressum search suggest suggestions download downloads jp menu submenu permission nav legal affiliate license";
const CERTAIN: &str = "share shares sharing sharebar sharebox sharebutton sharebuttons sharelinks sharedaddy viral syndication crumb crumbs navigation navbar navi ad ads adsense adslot dfp sponsor sponsored \
    outbrain taboola criteo sociable addthis consent gdpr akismet pagination pager werbung anzeige reklama follow like likes";
const COMMENTS: &str = "comment comments kommentar kommentare disqus reply replies respond guestbook";

static WORDS: LazyLock<HashMap<&'static str, Noise>> = LazyLock::new(|| {
    [(LINE, Noise::Line), (LIKELY, Noise::Likely), (CERTAIN, Noise::Certain), (COMMENTS, Noise::Comments)]
        .into_iter()
        .flat_map(|(words, noise)| words.split_whitespace().map(move |word| (word, noise)))
        .collect()
});

/// Beginnings of joined names ("relatedposts").
const BEGINNINGS: [(&str, Noise); 14] = [
    ("breadcrumb", Noise::Certain),
    ("newsletter", Noise::Certain),
    ("related", Noise::Certain),
    ("recommend", Noise::Certain),
    ("advert", Noise::Certain),
    ("cookie", Noise::Certain),
    ("social", Noise::Certain),
    ("sidebar", Noise::Certain),
    ("footer", Noise::Certain),
    ("subscri", Noise::Certain),
    ("commentlist", Noise::Comments),
    ("comments", Noise::Comments),
    ("teaser", Noise::Teaser),
    ("subnav", Noise::Likely),
];

/// Complete names, with joined words, of hidden elements or links elsewhere.
const HIDDEN_NAMES: &str =
    "hidden hide noprint hideprint visuallyhidden isvisuallyhidden sronly screenreadertext displaynone dnone";
const ELSEWHERE_NAMES: [&str; 6] = ["readmore", "moreon", "alsoread", "seealso", "mostread", "postmeta"];

/// Complete names, then parts of names, with joined words.
const CONTAINERS: [(ContainerKind, &str, &str); 3] = [
    (
        ContainerKind::Body,
        "post entry",
        "articlebody articlecontent articletext articlecontainer artcontent entrycontent postcontent posttext postbody \
         postentry bodytext pagecontent textcontent contenttext",
    ),
    (
        ContainerKind::Story,
        "article story postarea text primary",
        "storybody storycontent fulltext themecontent blogcontent sectioncontent singlecontent newscontent newsbody newstext \
         singlepost maincolumn wpbtextcolumn fieldbody",
    ),
    (ContainerKind::Content, "content", "contentmain contentbody maincontent"),
];

impl Names {
    pub(super) fn of(element: &Element) -> Self {
        let mut names = Self::default();
        for attribute in &element.attrs {
            let value = &*attribute.value;
            match &*attribute.name.local {
                "class" if value.len() < MAX_NAMES => names.read(value),
                "id" if value.len() < MAX_NAMES && value.split(['-', '_']).count() <= MAX_ID_WORDS => names.read(value),
                "itemprop" if value == "articleBody" => names.container = ContainerKind::Body,
                "role" => match value {
                    "article" => names.container = names.container.min(ContainerKind::Story),
                    "main" => names.container = names.container.min(ContainerKind::Main),
                    "navigation" | "complementary" | "contentinfo" | "banner" | "search" | "dialog" => {
                        names.noise = names.noise.max(Noise::Certain);
                    }
                    _ => {}
                },
                "aria-hidden" if value == "true" => names.noise = names.noise.max(Noise::Likely),
                "hidden" => names.hide(),
                "style" if is_out_of_sight(value) => names.hide(),
                _ => {}
            }
        }
        names
    }

    fn hide(&mut self) {
        self.noise = self.noise.max(Noise::Likely);
        self.is_hidden = true;
    }

    /// Reads a list of names. `post-body`, `postBody` and `post__body` are the same two words.
    fn read(&mut self, value: &str) {
        let (mut joined, mut word) = (String::new(), String::new());
        for name in value.split_ascii_whitespace() {
            joined.clear();
            let mut after_small = false;
            // Site builders call every block a widget, and themes list a page's sidebars in the names of its frame.
            let is_specific =
                !["elementor", "wp-block", "has-", "no-", "with-"].iter().any(|start| name.starts_with(start));
            for letter in name.chars().chain(['-']) {
                if !letter.is_alphabetic() || (after_small && letter.is_uppercase()) {
                    if is_specific && !word.is_empty() {
                        self.noise = self.noise.max(noise_of(&word));
                    }
                    word.clear();
                }
                after_small = letter.is_lowercase();
                if letter.is_alphabetic() {
                    let letter = letter.to_ascii_lowercase();
                    word.push(letter);
                    joined.push(letter);
                }
            }
            if HIDDEN_NAMES.split(' ').any(|hidden| hidden == joined)
                || ELSEWHERE_NAMES.iter().any(|end| joined.contains(end))
            {
                self.noise = self.noise.max(Noise::Likely);
            }
            self.container = self.container.min(container_of(&joined));
        }
    }
}

fn noise_of(word: &str) -> Noise {
    let begins = || BEGINNINGS.iter().find(|(beginning, _)| word.starts_with(beginning)).map(|(_, noise)| *noise);
    WORDS.get(word).copied().or_else(begins).unwrap_or_default()
}

fn container_of(joined: &str) -> ContainerKind {
    let named = CONTAINERS.iter().find(|(_, whole, parts)| {
        whole.split(' ').any(|name| name == joined) || parts.split(' ').any(|part| joined.contains(part))
    });
    match named {
        Some((container, ..)) => *container,
        None if joined.starts_with("main") => ContainerKind::Main,
        None => ContainerKind::Elsewhere,
    }
}

/// True if the style hides the element. Hidden text is no statement of the page.
fn is_out_of_sight(style: &str) -> bool {
    let style: String = style.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(property, value)| {
        let value = value.trim_end_matches("!important");
        let number = || value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').parse::<f64>().ok();
        match property {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "opacity" => number() == Some(0.0),
            "font-size" => number().is_some_and(|size| size <= 1.0 && (size <= 0.0 || value.ends_with("px"))),
            "text-indent" | "left" | "top" | "right" | "margin-left" => number().is_some_and(|far| far <= -999.0),
            "height" | "max-height" => number() == Some(0.0) && style.contains("overflow:hidden"),
            "clip" => value.starts_with("rect(0"),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::*;

    fn names(attributes: &str) -> (Noise, ContainerKind) {
        let document = Document::from(format!("<body><div {attributes}></div></body>"));
        let node = document.select_single("div").nodes().first().copied().unwrap();
        let element = node.element_ref().unwrap();
        let names = Names::of(&element);
        (names.noise, names.container)
    }

    #[test]
    fn names_of_surroundings_and_of_articles() {
        for (attributes, expected) in [
            (r#"class="entry-content clearfix""#, (Noise::None, ContainerKind::Body)),
            (r#"class="articleBody""#, (Noise::None, ContainerKind::Body)),
            ("itemprop=articleBody", (Noise::None, ContainerKind::Body)),
            ("id=content", (Noise::None, ContainerKind::Content)),
            ("role=main", (Noise::None, ContainerKind::Main)),
            (r#"class="related-posts""#, (Noise::Certain, ContainerKind::Elsewhere)),
            (r#"class="relatedposts""#, (Noise::Certain, ContainerKind::Elsewhere)),
            (r#"id="SocialLinks""#, (Noise::Certain, ContainerKind::Elsewhere)),
            (r#"class="comment-list""#, (Noise::Comments, ContainerKind::Elsewhere)),
            (r#"class="article-teaser""#, (Noise::Teaser, ContainerKind::Elsewhere)),
            (r#"class="post__date""#, (Noise::Line, ContainerKind::Elsewhere)),
            (r#"style="display:none""#, (Noise::Likely, ContainerKind::Elsewhere)),
            (r#"style="color:red; Opacity: 0""#, (Noise::Likely, ContainerKind::Elsewhere)),
            (r#"style="opacity:0.9""#, (Noise::None, ContainerKind::Elsewhere)),
            (r#"style="visibility: hidden !important""#, (Noise::Likely, ContainerKind::Elsewhere)),
            (r#"style="font-size:0""#, (Noise::Likely, ContainerKind::Elsewhere)),
            (r#"style="font-size:1em""#, (Noise::None, ContainerKind::Elsewhere)),
            (r#"style="position:absolute;left:-9999px""#, (Noise::Likely, ContainerKind::Elsewhere)),
            (r#"style="height:0;overflow:hidden""#, (Noise::Likely, ContainerKind::Elsewhere)),
            (r#"style="height:0;padding-bottom:56%""#, (Noise::None, ContainerKind::Elsewhere)),
            ("role=navigation", (Noise::Certain, ContainerKind::Elsewhere)),
            // Words are compared whole, and the page's frame differs from its sidebars.
            (r#"class="authority header commentary""#, (Noise::None, ContainerKind::Elsewhere)),
            (r#"class="elementor-widget-wrap""#, (Noise::None, ContainerKind::Elsewhere)),
            (r#"class="with-sidebar overflow-hidden""#, (Noise::None, ContainerKind::Elsewhere)),
        ] {
            assert_eq!(names(attributes), expected, "{attributes}");
        }
    }
}
