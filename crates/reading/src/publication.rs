//! Determines when a page was published and changed.
//!
//! Dates in markup come first, but templates also state the day of an import or of the last change. In conflicts, the
//! date near the heading is right in four of five cases.

use chrono::{Datelike, Days};
use serde_json::{Map, Value};
use url::Url;

use super::dates::{self, ParsedDate};
use super::json_ld::{string, types};
use super::page::{DateKind, DateMark, Page};

/// Meta tags with the publication date, the most reliable first.
const PUBLISHED_TAGS: [&str; 43] = [
    "article:published_time",
    "article:published",
    "article:published_date",
    "article:post_date",
    "article.published",
    "og:published_time",
    "og:article:published_time",
    "og:pubdate",
    "og:regdate",
    "mediator_published_time",
    "datepublished",
    "rnews:datepublished",
    "bt:pubdate",
    "parsely-pub-date",
    "sailthru.date",
    "cxenseparse:recs:publishtime",
    "cxenseparse:publishtime",
    "pubdate",
    "publishdate",
    "publish_date",
    "publish-date",
    "publication_date",
    "published_time",
    "published_date",
    "published-date",
    "pub_date",
    "prism.publicationdate",
    "citation_date",
    "citation_publication_date",
    "dcterms.issued",
    "dc.date.issued",
    "dcterms.created",
    "dc.date.created",
    "dc.date",
    "dcterms.date",
    "date",
    "dc.created",
    "dc:date",
    "dcterms:created",
    "shareaholic:article_published_time",
    "video:release_date",
    "created",
    "timestamp",
];
const MODIFIED_TAGS: [&str; 9] = [
    "article:modified_time",
    "og:updated_time",
    "og:modified_time",
    "article:modified",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "lastmod",
];

/// Characters between a heading and a date after it: a lead paragraph and the authors' names.
const MAX_AFTER_HEADING: usize = 350;
/// Characters between a date and the heading below it. A date further up is the header's "today".
const MAX_ABOVE_HEADING: usize = 50;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Publication {
    pub(super) published: Option<ParsedDate>,
    /// `published` is a date somewhere on the page, without evidence that it is the publication date.
    pub(super) is_guess: bool,
    pub(super) modified: Option<ParsedDate>,
}

/// The article's `title` identifies its heading.
pub(super) fn read(
    page: &Page,
    nodes: &[&Map<String, Value>],
    article: Option<&Map<String, Value>>,
    title: Option<&str>,
    url: &Url,
) -> Publication {
    let of_node = |node: &Map<String, Value>, key: &str| string(node, key).and_then(|text| dates::parse_dated(&text));
    let in_article = |key: &str| article.and_then(|node| of_node(node, key));
    // Dates of the template or of an embedded video, which may not be the article's.
    let in_pages = |key: &str| {
        let is_page = |node: &&&Map<String, Value>| {
            types(node).iter().any(|name| matches!(*name, "WebPage" | "VideoObject" | "ItemPage"))
        };
        nodes.iter().filter(is_page).find_map(|node| of_node(node, key))
    };
    let in_nodes = |key: &str| in_article(key).or_else(|| in_pages(key));
    let in_tags = |tags: &[&str]| tags.iter().find_map(|tag| page.meta(&[tag]).and_then(dates::parse_dated));
    let marked = |kind: DateKind| first(page.dates.iter().filter(|mark| mark.kind == kind && !mark.of_another));
    let modified = in_nodes("dateModified").or_else(|| in_tags(&MODIFIED_TAGS)).or_else(|| marked(DateKind::Modified));
    let stated = in_article("datePublished")
        .or_else(|| in_article("uploadDate"))
        .or_else(|| in_tags(&PUBLISHED_TAGS))
        .or_else(|| in_pages("datePublished"))
        .or_else(|| in_pages("uploadDate"))
        .or_else(|| marked(DateKind::Published))
        .or_else(|| in_nodes("dateCreated"));
    // A date after the last change is the subject's: a concert, a deadline.
    let last = stated.zip(modified).map(|(stated, modified)| stated.day.max(modified.day) + Days::new(1));
    let is_in_time = |date: &ParsedDate| last.is_none_or(|last| date.day <= last);
    let tagged =
        in_title_tag(page).filter(|tagged| stated.is_none_or(|stated| tagged.day <= stated.day + Days::new(1)));
    let shown = shown(page, title, modified);
    let (after, above) =
        (shown.after.filter(|after| is_in_time(&after.0)), shown.above.filter(|above| is_in_time(&above.0)));
    let tagged = tagged.filter(is_in_time).map(|tagged| (tagged, DateKind::Line));
    let best = after.or(tagged).or(above);
    // The date of a caption or event does not contradict a stated date that is also visible.
    let as_stated = stated.and_then(|stated| {
        let days = shown.days.iter().copied().chain(tagged.map(|tagged| tagged.0));
        days.into_iter().find(|day| within_a_day(&stated, day)).map(|day| on_day(stated, day))
    });
    let known = match (stated, dates::date_in_path(url.path()), best) {
        (Some(stated), Some(path), _) if within_a_day(&stated, &path) => Some(on_day(stated, path)),
        (Some(stated), _, Some((shown, _))) => as_stated.or(Some(on_day(stated, shown))),
        (Some(stated), _, None) => Some(stated),
        (None, Some(path), Some((shown, _))) => Some(on_day(shown, path)),
        (None, path, best) => path.or(best.map(|best| best.0)),
    };
    // More often right than the stated date, but only inferred from its position.
    let is_bare = known.zip(stated).is_some_and(|(known, stated)| {
        !within_a_day(&known, &stated) && best.is_some_and(|(_, kind)| kind == DateKind::Line)
    });
    let published = known.or_else(|| elsewhere(page)).or(modified);
    Publication { published, is_guess: is_bare || known.is_none() && published.is_some(), modified }
}

/// Moves `moment` to the day of `day` if time zones can explain the difference, else returns `day`.
fn on_day(moment: ParsedDate, day: ParsedDate) -> ParsedDate {
    if moment.day == day.day {
        moment
    } else if moment.has_time && within_a_day(&moment, &day) {
        ParsedDate { day: day.day, ..moment }
    } else {
        day
    }
}

fn within_a_day(left: &ParsedDate, right: &ParsedDate) -> bool {
    (left.day - right.day).num_days().abs() <= 1
}

fn parsed(mark: &DateMark) -> Option<ParsedDate> {
    // Earlier dates are about the subject, because there were no web pages.
    dates::parse_dated(&mark.value).filter(|date| date.day.year() >= 1995)
}

fn first<'a>(marks: impl Iterator<Item = &'a DateMark>) -> Option<ParsedDate> {
    marks.into_iter().find_map(parsed)
}

/// The date at the end of the title tag: "Title | Politics | 28.04.2023".
fn in_title_tag(page: &Page) -> Option<ParsedDate> {
    let tag = page.title.as_deref()?;
    let (_, end) = tag.rsplit_once([',', '|', '–', '—']).or_else(|| tag.rsplit_once(" - "))?;
    (end.trim().len() <= 20).then(|| dates::parse_dated(end)).flatten()
}

#[derive(Default)]
struct ShownDates {
    after: Option<(ParsedDate, DateKind)>,
    above: Option<(ParsedDate, DateKind)>,
    days: Vec<ParsedDate>,
}

/// Finds the dates after the article's heading and directly above it.
fn shown(page: &Page, title: Option<&str>, modified: Option<ParsedDate>) -> ShownDates {
    let is_title = |heading: &str| {
        title.is_some_and(|title| {
            let (short, long) = if heading.len() < title.len() { (heading, title) } else { (title, heading) };
            short.chars().count() >= 12 && long.contains(short) || short == long
        })
    };
    let titles = || page.heads.iter().filter(|heading| is_title(&heading.text));
    let heading = titles()
        .find(|heading| heading.is_first)
        .or_else(|| titles().next())
        .or_else(|| page.heads.iter().find(|heading| heading.is_first));
    let Some(heading) = heading else { return ShownDates::default() };
    let start = heading.at;
    let end = start + heading.text.chars().filter(|letter| !letter.is_whitespace()).count();
    let visible = |mark: &&DateMark| {
        let is_short = || mark.value.chars().filter(|letter| letter.is_alphabetic()).count() <= 40;
        !mark.of_another
            && match mark.kind {
                DateKind::Time | DateKind::Labelled | DateKind::Stated => true,
                DateKind::Line => is_short(),
                _ => false,
            }
    };
    let dated = |mark: &DateMark| parsed(mark).map(|date| (date, mark.kind));
    let after: Vec<(ParsedDate, DateKind)> = page
        .dates
        .iter()
        .filter(visible)
        .filter(|mark| (end..=end + MAX_AFTER_HEADING).contains(&mark.at))
        .filter_map(dated)
        // A `<time>` equal to the last change shows only that ("a day ago").
        .filter(|(date, kind)| {
            *kind != DateKind::Time || !date.has_time || modified.is_none_or(|modified| modified.at != date.at)
        })
        .collect();
    let above: Vec<(ParsedDate, DateKind)> = page
        .dates
        .iter()
        .rev()
        .filter(visible)
        .filter(|mark| mark.at < start && mark.at + MAX_ABOVE_HEADING >= start)
        .filter_map(dated)
        .collect();
    let timed = |day: ParsedDate| {
        let timed = after.iter().map(|(date, _)| *date).find(|date| date.has_time && within_a_day(date, &day));
        timed.map_or(day, |timed| on_day(timed, day))
    };
    ShownDates {
        after: after.first().map(|(day, kind)| (timed(*day), *kind)),
        above: above.first().copied(),
        days: after.iter().chain(&above).map(|(day, _)| *day).collect(),
    }
}

/// Finds a date if none is stated or near the heading.
fn elsewhere(page: &Page) -> Option<ParsedDate> {
    let marked = |kind: DateKind, after_heading: bool| {
        first(
            page.dates
                .iter()
                .filter(|mark| mark.kind == kind && !mark.of_another && (mark.after_heading || !after_heading)),
        )
    };
    marked(DateKind::Stated, false)
        .or_else(|| marked(DateKind::Time, true))
        .or_else(|| marked(DateKind::Labelled, true))
        .or_else(|| marked(DateKind::Script, false))
        .or_else(|| marked(DateKind::Dateline, true))
        .or_else(|| marked(DateKind::Line, true))
        .or_else(|| marked(DateKind::Time, false))
        .or_else(|| marked(DateKind::Labelled, false))
        .or_else(|| {
            first(
                page.dates
                    .iter()
                    .filter(|mark| matches!(mark.kind, DateKind::Time | DateKind::Labelled | DateKind::Line)),
            )
        })
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::*;
    use crate::{json_ld, page};

    const URL: &str = "https://a.example/x";

    fn read_in(html: &str, title: Option<&str>, url: &str) -> Publication {
        let page = page::read(&Document::from(html));
        let markup = json_ld::read(&page.json_ld);
        let nodes = markup.nodes();
        read(&page, &nodes, nodes.first().copied(), title, &Url::parse(url).unwrap())
    }

    fn day(date: Option<ParsedDate>) -> String {
        date.map(|date| date.day.to_string()).unwrap_or_default()
    }

    fn published(html: &str, url: &str) -> String {
        day(read_in(html, Some("Rain falls in Spain"), url).published)
    }

    #[test]
    fn every_date_tag_is_read_and_modified_stays_apart() {
        for tag in PUBLISHED_TAGS {
            let Publication { published, modified, .. } =
                read_in(&format!(r#"<meta name="{tag}" content="2021-02-03">"#), None, URL);
            assert_eq!((day(published).as_str(), day(modified).as_str()), ("2021-02-03", ""), "{tag}");
        }
        for tag in MODIFIED_TAGS {
            let html = format!(r#"<meta property="{tag}" content="2021-02-03"><meta name=date content=2021-01-01>"#);
            let found = read_in(&html, None, URL);
            let days = (day(found.published), day(found.modified));
            assert_eq!((days.0.as_str(), days.1.as_str()), ("2021-01-01", "2021-02-03"), "{tag}");
        }
    }

    #[test]
    fn dates_fall_back_in_order() {
        let head = "<body><h1>Rain falls in Spain</h1>";
        let long = "and nothing else was said of it ".repeat(20);
        for (html, expected) in [
            (format!("{head}<time datetime=2021-02-03>x</time>"), "2021-02-03"),
            (format!("{head}<span itemprop=datePublished content=2021-02-03></span>"), "2021-02-03"),
            (
                format!("<body><span class=date>20.11.2026</span><p>{long}</p>{head}<p class=post-date>3 мая 2021</p>"),
                "2021-05-03",
            ),
            (format!("{head}<p>{long}</p><p>Published on 4 May 2021</p>"), "2021-05-04"),
            (format!("{head}<p>{long}</p><p>Last updated 4 May 2021</p>"), "2021-05-04"),
            (format!("{head}<p>27.1.2022 - {long}</p>"), "2022-01-27"),
            (format!(r#"{head}<p>{long}</p><script>{{"publishedAt":"2022-01-27T10:00:00Z"}}</script>"#), "2022-01-27"),
            (format!("<title>Rain falls in Spain | News | 28.04.2023</title>{head}"), "2023-04-28"),
            (
                format!("<title>Rain in Spain, 28.04.2023</title><meta name=date content=2023-04-02>{head}"),
                "2023-04-02",
            ),
            (format!("{head}<p>27. Januar 2022 fand {long}</p>"), ""),
            (format!("{head}<p>12 May 1945</p>"), ""),
            (format!("{head}<p>{long}, and on 4 May 2021 <b>it rained</b></p>"), ""),
            ("<meta name=date content=0000-00-00>".to_owned(), ""),
        ] {
            assert_eq!(published(&html, URL), expected, "{html}");
        }
    }

    #[test]
    fn day_next_to_the_heading_wins_when_a_template_differs() {
        let stated = "<meta name=date content=2019-09-22><body><h1>A Paper</h1><h1>Rain falls in Spain</h1>";
        let long = "and nothing else was said of it ".repeat(20);
        for (shown, expected) in [
            ("<p>By Ann Lee, 28 June 2019</p>".to_owned(), "2019-06-28"),
            ("<ul class=info><li>28 juin 2019</li></ul>".to_owned(), "2019-06-28"),
            ("<p><a href=/day>28.06.2019</a></p>".to_owned(), "2019-06-28"),
            (format!("<p>{long}</p><p>28 June 2019</p>"), "2019-09-22"),
            ("<p>Updated 28 June 2019</p>".to_owned(), "2019-09-22"),
            ("<table><tr><th>Died<td>28 June 2019</table>".to_owned(), "2019-09-22"),
            ("<div class=teaser-list><p>28 June 2019</p></div>".to_owned(), "2019-09-22"),
            (format!("<p>On 28 June 2019 <b>it rained</b> {long}</p>"), "2019-09-22"),
        ] {
            assert_eq!(published(&format!("{stated}{shown}"), URL), expected, "{shown}");
        }
        assert_eq!(
            published(&stated.replace("<h1>A", "<p>28.06.2019</p><h1>A").replace("<h1>A Paper</h1>", ""), URL),
            "2019-06-28"
        );
        let changed = stated.replace("<body>", "<meta property=article:modified_time content=2019-09-23><body>");
        assert_eq!(published(&format!("{changed}<p>3 May 2020</p>"), URL), "2019-09-22", "a day to come");
    }

    #[test]
    fn stated_day_wins_when_the_page_shows_it() {
        let caption = "<p class=caption>Flooded street in Kherson, 7 June 2023</p>";
        let stated =
            r#"<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2026-11-18"}</script>"#;
        let heading = "<h1>Rain falls in Spain</h1>";
        for (html, expected, is_guess) in [
            (format!("<body><p>18 Nov 2026</p>{heading}{caption}"), "2026-11-18", false),
            (format!("<body>{heading}{caption}<p>18 November 2026</p>"), "2026-11-18", false),
            (format!("<body>{heading}{caption}"), "2023-06-07", true),
            (format!("<body>{heading}<p class=post-date>7 June 2023</p>"), "2023-06-07", false),
            (
                format!("<title>Rain in Spain, 6 March 2022</title><body>{heading}<p>18 Nov 2026</p>"),
                "2026-11-18",
                false,
            ),
            (format!("<title>Rain in Spain, 6 March 2022</title><body>{heading}"), "2022-03-06", true),
            (format!("<body>{heading}<p>17 November 2026</p>"), "2026-11-17", false),
        ] {
            let found = read_in(&format!("{stated}{html}"), Some("Rain falls in Spain"), URL);
            assert_eq!((day(found.published).as_str(), found.is_guess), (expected, is_guess), "{html}");
        }
        let html = format!("<title>Rain in Spain, 6 March 2022</title><body>{heading}<p>7 June 2023</p>");
        assert_eq!(published(&html, URL), "2023-06-07", "beside the heading");
    }

    #[test]
    fn day_is_the_stated_one_when_names_next_to_it_are_months() {
        let stated = r#"<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2026-10-28T09:00:00+02:00"}</script>"#;
        for line in [
            "By Jane Whitlock, 28 October 2026",
            "May Thornton | 28 October 2026",
            "Марта Кравченко, 28 жовтня 2026",
            "Остап Жовтобрюх, 28.10.2026",
            "By Marcus Hale, October 28",
            "Mer, 28/10/2026 - 09:00",
        ] {
            for class in ["", "byline", "post-meta"] {
                let shown = format!("<body><h1>Rain falls in Spain</h1><p class='{class}'>{line}</p>");
                let found = read_in(&format!("{stated}{shown}"), Some("Rain falls in Spain"), URL);
                assert_eq!((day(found.published).as_str(), found.is_guess), ("2026-10-28", false), "{line} {class}");
                assert!(matches!(published(&shown, URL).as_str(), "2026-10-28" | ""), "{line} {class}");
            }
        }
    }

    #[test]
    fn day_is_a_guess_when_nothing_confirms_it() {
        let long = "and nothing else was said of it ".repeat(20);
        for (html, url, expected) in [
            ("<meta name=date content=2021-02-03>".to_owned(), URL, false),
            ("<h1>Rain falls in Spain</h1><p>3 May 2021</p>".to_owned(), URL, false),
            (String::new(), "https://a.example/2021/05/03/x", false),
            (format!("<h1>Rain falls in Spain</h1><p>{long}</p><time>3 May 2021</time>"), URL, true),
            (String::new(), URL, false),
        ] {
            let found = read_in(&html, Some("Rain falls in Spain"), url);
            assert_eq!(
                (found.is_guess, found.published.is_some()),
                (expected, !html.is_empty() || url != URL),
                "{html}"
            );
        }
    }

    #[test]
    fn the_moment_is_kept_where_only_the_day_is_another() {
        let stated = "<meta name=date content=2019-09-22T23:30:00Z><body><h1>Rain falls in Spain</h1>";
        for (shown, url) in [("<p>23 September 2019</p>", URL), ("", "https://a.example/2019/09/23/x")] {
            let found = read_in(&format!("{stated}{shown}"), Some("Rain falls in Spain"), url).published.unwrap();
            assert_eq!(
                (day(Some(found)).as_str(), found.at.to_rfc3339().as_str()),
                ("2019-09-23", "2019-09-22T23:30:00+00:00")
            );
        }
        assert_eq!(published(stated, "https://a.example/2019/05/03/x"), "2019-09-22", "far apart");
    }
}
