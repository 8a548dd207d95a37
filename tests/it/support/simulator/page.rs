//! News pages of about 30 kB: JSON-LD, meta tags, navigation, some 25 paragraphs, related links, scripts.
//!
//! Everything that costs time is made once: a page is a concatenation of prepared pieces with its own sentences put in.
//! Which paragraphs a page gets follows from its number, so that it is the same page every time, and two pages are not
//! taken for copies of each other.

use std::fmt::{Arguments, Write as _};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

/// Paragraphs to choose from: with 23 of them to a page, two pages share less than one on average.
const STOCK: usize = 800;
/// Filler paragraphs of a page; with the two that hold its facts, 25.
const FILLERS: usize = 23;
/// Filler paragraphs before the first and before the second fact: news says the main thing early.
const FACT_PLACES: [usize; 2] = [1, 8];
/// Bytes of navigation, styles and scripts around the text, as real pages have them.
const BOILERPLATE_BYTES: usize = 15_000;

const WHO: [&str; 24] = [
    "The regional council",
    "A spokesman for the ministry",
    "The opposition",
    "A local farmer",
    "The city's mayor",
    "The transport authority",
    "A union leader",
    "The central bank",
    "One of the engineers",
    "The weather service",
    "An independent analyst",
    "The school board",
    "A shop owner",
    "The hospital's director",
    "The railway company",
    "A professor of economics",
    "The fire brigade",
    "The court",
    "A group of volunteers",
    "The energy regulator",
    "The coach",
    "The museum",
    "A resident",
    "The insurance association",
];
const DID: [&str; 24] = [
    "announced",
    "had warned of",
    "played down",
    "welcomed",
    "asked for",
    "published",
    "rejected",
    "postponed",
    "reviewed",
    "began to prepare",
    "wanted to avoid",
    "spoke at length about",
    "voted on",
    "refused to comment on",
    "praised",
    "questioned",
    "described",
    "paid for",
    "planned",
    "criticised",
    "supported",
    "explained",
    "delayed",
    "studied",
];
const WHAT: [&str; 28] = [
    "a second bridge over the river",
    "the new timetable",
    "higher fees for parking",
    "the summer festival",
    "repairs to the old theatre",
    "a review of last year's budget",
    "the result of the survey",
    "a ban on heavy lorries",
    "cheaper tickets for students",
    "the sale of the former factory",
    "an exhibition of photographs",
    "the reform of the local tax",
    "an extension of the tram line",
    "plans for a wind farm",
    "the shortage of teachers",
    "a report on drinking water",
    "the rebuilding of the market hall",
    "the closure of two branches",
    "the first frost of the season",
    "a training course for nurses",
    "the return of the storks",
    "a programme against noise",
    "the opening of a library",
    "the long dispute about the square",
    "a study of traffic at night",
    "the future of the airfield",
    "a fund for small workshops",
    "the rules for cyclists",
];
const TAIL: [&str; 20] = [
    "after a long meeting",
    "to the surprise of many",
    "in spite of earlier promises",
    "as neighbours had expected",
    "for the third time this year",
    "without naming a date",
    "before the holidays",
    "although money is short",
    "while the talks went on",
    "at a crowded press conference",
    "in a letter to the editors",
    "with a narrow majority",
    "following complaints",
    "during a visit to the north",
    "as part of a wider plan",
    "under pressure from parents",
    "on the eve of the vote",
    "despite heavy rain",
    "together with partners abroad",
    "in a calm voice",
];

/// Makes pages.
pub(super) struct Press {
    head: String,
    stock: Vec<String>,
    foot: String,
}

/// When page `number` was published, RFC 3339: some day of the first half of November 2026.
pub(super) fn published(number: u64) -> String {
    format!("2026-11-{:02}T{:02}:15:00Z", 1 + number % 17, number % 24)
}

impl Press {
    pub(super) fn new() -> Self {
        // The seed only has to stay: the same pages must come out of every run.
        let mut random = SmallRng::seed_from_u64(0x636f_7272);
        let stock = (0..STOCK).map(|_| paragraph(&mut random)).collect();
        Self { head: boilerplate_head(&mut random), stock, foot: boilerplate_foot(&mut random) }
    }

    /// The page's HTML.
    pub(super) fn print(&self, number: u64, url: &str, title: &str, facts: &[String], hosts: usize) -> String {
        let date = published(number);
        let site = format!("The Harbour Gazette {}", number % hosts.max(1) as u64);
        let mut html = String::with_capacity(36_000);
        html.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        put(
            &mut html,
            format_args!(
                "<title>{title} | {site}</title>\n<link rel=\"canonical\" href=\"{url}\">\n\
             <meta property=\"og:type\" content=\"article\">\n<meta property=\"og:title\" content=\"{title}\">\n\
             <meta property=\"og:site_name\" content=\"{site}\">\n<meta property=\"og:url\" content=\"{url}\">\n\
             <meta property=\"article:published_time\" content=\"{date}\">\n\
             <script type=\"application/ld+json\">{{\"@context\":\"https://schema.org\",\"@type\":\"NewsArticle\",\
             \"headline\":\"{title}\",\"datePublished\":\"{date}\",\"dateModified\":\"{date}\",\"inLanguage\":\"en\",\
             \"mainEntityOfPage\":\"{url}\",\"author\":{{\"@type\":\"Person\",\"name\":\"Ada Marlow\"}},\
             \"publisher\":{{\"@type\":\"NewsMediaOrganization\",\"name\":\"{site}\"}}}}</script>\n"
            ),
        );
        html.push_str(&self.head);
        put(
            &mut html,
            format_args!(
                "<main><article>\n<h1>{title}</h1>\n<p class=\"byline\">By Ada Marlow, \
             <time datetime=\"{date}\">{date}</time></p>\n<div class=\"article-body\">\n"
            ),
        );
        let mut facts = facts.iter();
        // A multiplier without a factor in common with the stock walks through all of it, differently for each page.
        let step = 1 + (number % 97) as usize * 2;
        let mut place = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % STOCK;
        for position in 0..FILLERS {
            if FACT_PLACES.contains(&position)
                && let Some(fact) = facts.next()
            {
                put(&mut html, format_args!("<p>{fact} {}</p>\n", sentence_of(&self.stock[(place + 7) % STOCK])));
            }
            html.push_str(&self.stock[place]);
            place = (place + step * 8 + 1) % STOCK;
        }
        for fact in facts {
            put(&mut html, format_args!("<p>{fact}</p>\n"));
        }
        html.push_str("</div>\n</article></main>\n");
        html.push_str(&self.foot);
        html
    }
}

fn put(html: &mut String, piece: Arguments<'_>) {
    html.write_fmt(piece).expect("writing to a String cannot fail");
}

/// The first sentence of a stock paragraph.
fn sentence_of(paragraph: &str) -> &str {
    let text = paragraph.strip_prefix("<p>").unwrap_or(paragraph);
    text.split_inclusive('.').next().unwrap_or(text)
}

fn pick<'a>(random: &mut SmallRng, from: &[&'a str]) -> &'a str {
    from.choose(random).copied().unwrap_or_default()
}

fn sentence(random: &mut SmallRng) -> String {
    let (who, did, what) = (pick(random, &WHO), pick(random, &DID), pick(random, &WHAT));
    match random.random_range(0..4) {
        0 => format!("{who} {did} {what} {}.", pick(random, &TAIL)),
        1 => format!("{who} {did} {what}, {} people heard on Tuesday.", random.random_range(20..900)),
        2 => format!("{who} {did} {what}, and {} {what_else}.", pick(random, &DID), what_else = pick(random, &WHAT)),
        _ => format!("{who} {did} {what}; that will cost {} thousand euros.", random.random_range(12..990)),
    }
}

fn paragraph(random: &mut SmallRng) -> String {
    let sentences: Vec<String> = (0..random.random_range(4..8)).map(|_| sentence(random)).collect();
    format!("<p>{}</p>\n", sentences.join(" "))
}

fn boilerplate_head(random: &mut SmallRng) -> String {
    let mut head = String::from("<style>\n");
    let mut rule = 0;
    while head.len() < BOILERPLATE_BYTES / 3 {
        put(
            &mut head,
            format_args!(
                ".c-{rule} {{ margin: {}px; color: #{:06x}; }}\n",
                rule % 40,
                random.random_range(0..0xff_ffff)
            ),
        );
        rule += 1;
    }
    head.push_str("</style>\n</head>\n<body>\n<header><nav><ul>\n");
    for section in ["Politics", "Economy", "World", "Sport", "Culture", "Science", "Weather", "Letters"] {
        put(
            &mut head,
            format_args!("<li><a class=\"nav-link\" href=\"/section/{}\">{section}</a></li>\n", section.to_lowercase()),
        );
    }
    head.push_str(
        "</ul></nav></header>\n<div class=\"cookie-banner\"><p>We and our partners store information on a device. \
                   <button>Accept all</button> <button>Settings</button></p></div>\n",
    );
    head
}

fn boilerplate_foot(random: &mut SmallRng) -> String {
    let mut foot = String::from("<aside class=\"related\"><h2>Read more</h2><ul>\n");
    for number in 0..20 {
        put(
            &mut foot,
            format_args!("<li><a href=\"/story/{number}\">{} {}</a></li>\n", pick(random, &WHO), pick(random, &DID)),
        );
    }
    foot.push_str("</ul></aside>\n<section class=\"comments\"><h2>Comments</h2>\n");
    for _ in 0..6 {
        put(&mut foot, format_args!("<div class=\"comment\"><p>{}</p></div>\n", sentence(random)));
    }
    foot.push_str("</section>\n<footer><p>All rights reserved. Imprint, privacy, contact.</p></footer>\n<script>\n");
    let mut line = 0;
    while foot.len() < BOILERPLATE_BYTES * 2 / 3 {
        put(
            &mut foot,
            format_args!(
                "window.__q=window.__q||[];window.__q.push([\"slot-{line}\",{}]);\n",
                random.random_range(0..9999)
            ),
        );
        line += 1;
    }
    foot.push_str("</script>\n</body>\n</html>\n");
    foot
}
