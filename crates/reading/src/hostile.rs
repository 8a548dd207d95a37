//! Generates pages that take as much time as possible, one per seed. They repeat, nest, cross and leave open a few
//! pieces at places where a parser has most work.

/// A splitmix64 random number generator, so that a seed always gives the same page.
struct SplitMix64(u64);

impl SplitMix64 {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end.max(1) as u64).unwrap_or_default()
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list.get(self.below(list.len())).copied().unwrap_or_default()
    }
}

/// Elements whose content has other parsing rules.
const PLACES: [&str; 24] = [
    "",
    "<svg>",
    "<math>",
    "<svg><style>",
    "<svg><title>",
    "<svg><desc>",
    "<math><mi>",
    "<math><annotation-xml encoding=text/html>",
    "<table>",
    "<table><tr><td>",
    "<table><caption>",
    "<select>",
    "<template>",
    "<object>",
    "<noscript>",
    "<frameset>",
    "<svg><foreignObject>",
    "<ruby>",
    "<script><!--<script>",
    "<style>",
    "<textarea>",
    "<title>",
    "<svg><![CDATA[",
    "<!--",
];
const NAMES: [&str; 52] = [
    "a",
    "b",
    "i",
    "u",
    "font",
    "nobr",
    "p",
    "div",
    "span",
    "table",
    "tbody",
    "tr",
    "td",
    "caption",
    "colgroup",
    "select",
    "option",
    "optgroup",
    "template",
    "svg",
    "math",
    "g",
    "mi",
    "desc",
    "foreignObject",
    "style",
    "script",
    "title",
    "textarea",
    "object",
    "marquee",
    "button",
    "form",
    "ul",
    "li",
    "dd",
    "h1",
    "h2",
    "ruby",
    "rt",
    "br",
    "img",
    "input",
    "article",
    "section",
    "time",
    "body",
    "html",
    "head",
    "x",
    "noscript",
    "plaintext",
];
/// Attributes of a tag; `#` becomes a number.
const ATTRIBUTES: [&str; 16] = [
    "",
    "",
    "",
    " class=date",
    " class=#",
    " id=#",
    " a#=1",
    " a# b# c# d#",
    " a=\"<p <p\"",
    " a='",
    " style=\"display:none\"",
    " hidden",
    " class=comment",
    " itemprop=articleBody",
    " itemscope itemtype=http://schema.org/ClaimReview",
    " href=/#",
];
const TEXTS: [&str; 22] = [
    "",
    "",
    "x",
    "word ",
    "A sentence was said here on Tuesday by the council, and it ended. ",
    "12.05.2024",
    "&amp",
    "&#x41;",
    "&lt;p&gt;",
    "&notit;",
    "\u{0}",
    "\r\n",
    "Related",
    "<!--",
    "-->",
    "<!",
    "<?",
    "</",
    "<![CDATA[",
    "]]>",
    "é́́",
    "Читайте также ",
];
const JSON: [&str; 20] = [
    "{\"@type\":\"NewsArticle\",\"headline\":\"h\",\"author\":[",
    "{\"@type\":\"NewsArticle\",\"headline\":\"h\",\"isBasedOn\":[",
    "{\"@type\":\"ClaimReview\",\"claimReviewed\":\"c\",\"itemReviewed\":{\"appearance\":[",
    "\"https://a.example/#\",",
    "{\"mainEntity\":",
    "[",
    "{},",
    "[],",
    "[0],",
    "0,",
    "\"a\":",
    "{\"a\":0},",
    "{\"@graph\":[",
    "\"url\":\"https://a.example/#\",",
    "\"",
    "\\",
    "\"name\":\"x\",",
    "{\"@type\":\"NewsArticle\",\"headline\":\"h\",\"review\":[",
    ",",
    "\\ud800",
];
const SCRIPTS: [&str; 8] = [
    "a={\"b\":",
    "JSON.parse(\"{",
    "self.__next_f.push([1,\"",
    "__next_f.push([",
    "\"ublish\"",
    "{\"content\":\"<p>",
    "]=[",
    "24:T#,",
];

/// Returns the page of a seed, about `size` bytes long.
pub(super) fn page(seed: u64, size: usize) -> String {
    let mut rng = SplitMix64(seed);
    let mut html = String::from("<!doctype html><html><head><title>The title of a hostile page</title></head><body>");
    if rng.below(3) == 0 {
        html.push_str("<article><h1>The title of a hostile page</h1>");
    }
    let parts = 1 + rng.below(4);
    for part in 0..parts {
        let room = (size.saturating_sub(html.len())) / (parts - part);
        match rng.below(8) {
            0 => block(&mut html, &mut rng, room, "<script type=application/ld+json>", &JSON),
            1 => block(&mut html, &mut rng, room, "<script>", &SCRIPTS),
            2 => block(&mut html, &mut rng, room, "<script type=application/json>", &JSON),
            _ => markup(&mut html, &mut rng, room),
        }
    }
    html
}

fn block(html: &mut String, rng: &mut SplitMix64, room: usize, opening: &str, pieces: &[&str]) {
    html.push_str(opening);
    if rng.below(2) == 0 {
        html.push_str(rng.of(pieces));
    }
    let own: Vec<&str> = (0..=rng.below(3)).map(|_| rng.of(pieces)).collect();
    repeat(html, rng, &own.concat(), room);
    html.push_str("</script>");
}

fn markup(html: &mut String, rng: &mut SplitMix64, room: usize) {
    html.push_str(rng.of(&PLACES));
    let tag = |rng: &mut SplitMix64| match rng.below(3) {
        0 => format!("</{}>", rng.of(&NAMES)),
        _ => format!("<{}{}>{}", rng.of(&NAMES), rng.of(&ATTRIBUTES), rng.of(&TEXTS)),
    };
    let runs = 1 + rng.below(3);
    for _ in 0..runs {
        let unit: String = (0..=rng.below(4)).map(|_| tag(rng)).collect::<Vec<_>>().concat();
        repeat(html, rng, &unit, room / runs);
    }
}

/// Repeats a piece, each time with another number.
fn repeat(html: &mut String, rng: &mut SplitMix64, piece: &str, room: usize) {
    let end = html.len() + room;
    let mut number = rng.below(1_000);
    while html.len() < end && !piece.is_empty() {
        if piece.contains('#') {
            html.push_str(&piece.replace('#', &number.to_string()));
            number += 1;
        } else {
            html.push_str(piece);
        }
    }
}

/// CPU milliseconds of this thread; `None` if the system does not report them.
fn worked() -> Option<f64> {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    times.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e6)
}

/// Page size and milliseconds per page. A release build uses the largest size that is fetched. Without optimisation
/// code takes about fifteen times as long. Then the limit only detects quadratic time, because a small page may use as
/// many steps as a large one.
const SIZE: usize = if cfg!(debug_assertions) { 100 << 10 } else { 3 << 20 };
const PAGES: u64 = if cfg!(debug_assertions) { 24 } else { 160 };
const LIMIT: f64 = if cfg!(debug_assertions) { 7_500.0 } else { 500.0 };

#[test]
fn every_page_is_read_or_refused_in_time() {
    let url = url::Url::parse("https://news.example/2024/story").unwrap();
    let mut slowest = (0.0, 0);
    for seed in 0..PAGES {
        let html = page(seed, SIZE);
        let read = || {
            let before = worked();
            if let Ok(article) = super::read_page(html.as_bytes(), Some("text/html; charset=utf-8"), &url) {
                assert!(super::passages(&article).len() <= 400 && article.text().len() < 700_000);
            }
            Some(worked()? - before?)
        };
        // One fast run of three suffices, because the machine may be busy.
        let Some(took) = (0..3).filter_map(|_| read()).find(|took| *took < LIMIT).or_else(read) else { return };
        assert!(took < LIMIT, "page {seed} takes {took:.0} ms");
        if took > slowest.0 {
            slowest = (took, seed);
        }
    }
    eprintln!("the slowest of {PAGES} pages of {SIZE} bytes takes {:.0} ms: {}", slowest.0, slowest.1);
}
