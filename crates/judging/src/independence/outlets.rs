//! Finds the paper, broadcaster or site that a story names as its origin, because ten retellings of one paper are one
//! source.
//!
//! [`keys`] searches head and foot of a text for outlets inside fixed phrases ("frames"). To add an outlet, extend
//! `sources.outlet` in the lexicon.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

use super::origin::{ends, is_in_passing, owner_of_domain, publisher_key, wire_of_site};
use corroborate_language::dates::names as calendar;
use corroborate_language::lexicon::{Words, entries};
use corroborate_language::patterns::{self, Pattern, PatternError};
use corroborate_language::{is_cyrillic, stopwords};

/// The listed sites, sorted. Names that are common words include a context.
static OUTLETS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| entries("sources.outlet").map(|entry| entry.value).collect::<BTreeSet<_>>().into_iter().collect());

/// Further domains of the same newsroom.
const ALIAS_DOMAINS: &[(&str, &str)] = &[
    ("politico.eu", "politico.com"),
    ("abcnews.com", "go.com"),
    ("guardian.co.uk", "theguardian.com"),
    ("thetimes.co.uk", "thetimes.com"),
    ("mailonline.co.uk", "dailymail.co.uk"),
    ("the-independent.com", "independent.co.uk"),
    ("bbc.co.uk", "bbc.com"),
    ("aljazeera.net", "aljazeera.com"),
    ("haaretz.co.il", "haaretz.com"),
    ("svoboda.org", "rferl.org"),
    ("radiosvoboda.org", "rferl.org"),
    ("theins.press", "theins.ru"),
];

// Frames state an origin, in any language.

/// Frames such as "according to the newspaper Le Monde", "laut der Zeitung Die Welt". Any language may keep the paper's
/// article.
const ACCORDING_TO: &str = r"(?:{independence.by?}|{independence.outlets.by?}|{independence.source?}\s*:)\s+(?:{independence.article?}\s*)?(?:{independence.outlets.medium?}\s+(?:{independence.article?}\s*)?)?[«“„»\x22]?(?:The |Der |Le )?{name}";
const IN_A_REPORT: &str =
    r"{independence.outlets.in}\s+{independence.outlets.an} {name} {independence.outlets.report}\b";
/// A comma may precede the verb ("the Guardian, reported"), but not if it separates clauses, as in Russian.
const PAST_REPORT: &str = r"{name}[»”’]?,?\s+{independence.outlets.reported}\b";
const PRESENT_REPORT: &str = r"{name}[»”\x22]?\s+{independence.outlets.reports}\b";
const DATELINE: &str = r"\({name}\)\s*[-–—]";
/// "wie der Spiegel berichtet".
const SUBORDINATE_REPORT: &str = r"{independence.outlets.as}\s+(?:{independence.article}\s*)?[„“»\x22]?{name}[“”«\x22]?\s+{independence.outlets.as_reported}";

const FRAMES: [&str; 6] = [ACCORDING_TO, IN_A_REPORT, PAST_REPORT, DATELINE, PRESENT_REPORT, SUBORDINATE_REPORT];

/// Frames of unlisted papers and of sites; companies report too.
const OTHER_FRAMES: [&str; 2] = [ACCORDING_TO, PAST_REPORT];
const SITE_FRAMES: [&str; 1] = [ACCORDING_TO];

/// A quoted name after a word for a medium.
const QUOTED_FRAMES: [&str; 2] = [
    r"(?:{independence.by}|{independence.source}\s*:)\s+{independence.outlets.medium}\s+[«“„\x22]([^»”“\x22\n]{2,40})[»”“\x22]",
    r"{independence.outlets.paper}\s+[«“„\x22]([^»”“\x22\n]{2,40})[»”“\x22]\s+{independence.outlets.paper_says}\b",
];

/// A story here comes from the quoted account.
const PLATFORMS: &[&str] = &[
    "youtube.com",
    "youtu.be",
    "x.com",
    "twitter.com",
    "facebook.com",
    "fb.com",
    "instagram.com",
    "threads.net",
    "t.me",
    "telegram.org",
    "telegram.me",
    "vk.com",
    "ok.ru",
    "tiktok.com",
    "reddit.com",
    "linkedin.com",
    "medium.com",
    "substack.com",
    "wikipedia.org",
    "amazon.com",
    "google.com",
];

static ARTICLES: Words = Words::of("independence.outlets.own_article");
/// Beginnings of capitalised words before a name.
static PRECEDING_WORDS: Words = Words::of("independence.outlets.before");
/// Capitalised words after a name that do not extend it.
static FOLLOWING_WORDS: Words = Words::of("independence.outlets.behind");

/// Length of the head in characters. Shorter than an agency's: six `FactRuEval` documents name a paper later, for a
/// detail.
const HEAD_CHARS: usize = 500;

static OUTLET_NAMES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let names: Option<Vec<String>> = OUTLETS.iter().map(|site| name_of(site).ok()).collect();
    RegexSet::new(names?).ok()
});

/// Patterns in the order of [`OUTLETS`]; compiled on first use.
static OUTLET_PATTERNS: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| OUTLETS.iter().map(|_| OnceLock::new()).collect());

/// Unlisted papers that their name shows: "the Calgary Herald", not "The Toledo Blade".
static UNLISTED_PAPERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = patterns::filled(r"(?:\p{Lu}[\p{L}'’.-]+ ){1,3}{independence.outlets.kind}").ok()?;
    framed(&OTHER_FRAMES, &format!(r"\b({name})\b")).ok()
});

static IS_KIND: Pattern = Pattern::of("^{independence.outlets.kind}$");

// Cheap tests first, because few texts match.
static HAS_KIND: Pattern = Pattern::of("{independence.outlets.kind}");
static HAS_QUOTED: Pattern = Pattern::of(r"(?:{independence.outlets.medium}|{independence.outlets.paper})\s+[«“„\x22]");
static HAS_SITE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"\.(?:{TOP_LEVELS})\b")).ok());

static QUOTED_NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| framed(&QUOTED_FRAMES, "").ok());

const TOP_LEVELS: &str = "com|org|net|info|news|media|ru|su|ua|by|kz|de|fr|pl|uk|au|br|ee|lv|lt|md|ge|am|az|tv|io";

/// Sites named by address: "сообщает NEWSru.com".
static SITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let site = format!(r"(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:{TOP_LEVELS})(?:\.[a-z]{{2}})?");
    framed(&SITE_FRAMES, &format!(r"(?:https?://)?({site})\b")).ok()
});

fn name_of(site: &str) -> Result<String, PatternError> {
    patterns::one_of(entries("sources.outlet").filter(|entry| entry.value == site))
}

fn framed(frames: &[&str], name: &str) -> Result<Regex, PatternError> {
    let filled = patterns::filled_alternatives(frames)?;
    Regex::new(&filled.replace("{name}", name)).map_err(PatternError::Regex)
}

fn stating(site: &str) -> Result<Regex, PatternError> {
    framed(&FRAMES, &format!(r"\b({})\b", name_of(site)?))
}

/// Returns the keys that a story shares with its retellings: `outlet:ft.com`, or the owner of several sites. A listed
/// outlet's domain decides, else the first outlet stated.
pub(super) fn keys(domain: &str, text: &str) -> Vec<String> {
    if let Some(own) = listed(domain) {
        // A paper's quotation of another is in a story of its own.
        return vec![key(own)];
    }
    ends(text, HEAD_CHARS).iter().find_map(|part| stated(part, domain)).unwrap_or_default()
}

fn listed(domain: &str) -> Option<&'static str> {
    known_site(|known| known == domain)
}

fn known_site(is_of: impl Fn(&str) -> bool) -> Option<&'static str> {
    let further = || ALIAS_DOMAINS.iter().find(|(further, _)| is_of(further)).map(|(_, site)| *site);
    OUTLETS.iter().copied().find(|site| is_of(site)).or_else(further)
}

fn key(site: &str) -> String {
    owner_of_domain(site).map_or_else(|| format!("outlet:{site}"), |owner| format!("owner:{owner}"))
}

/// The keys of the first outlet stated.
fn stated(part: &str, domain: &str) -> Option<Vec<String>> {
    let of_list = OUTLET_NAMES.as_ref().into_iter().flat_map(|named| named.matches(part)).filter_map(|index| {
        let site = OUTLETS.get(index)?;
        let stated = OUTLET_PATTERNS.get(index)?.get_or_init(|| stating(site).ok()).as_ref()?;
        let found = names(stated, part).find(|found| found.is_whole(part))?;
        // The longer of two names at one place.
        Some(((found.place.start, usize::MAX - found.name.len()), vec![key(site)]))
    });
    let with_kind = UNLISTED_PAPERS.as_ref().filter(|_| HAS_KIND.is_match(part));
    let papers = with_kind.into_iter().flat_map(|others| names(others, part)).filter(|found| found.is_whole(part));
    let in_quotes = QUOTED_NAMES.as_ref().filter(|_| HAS_QUOTED.is_match(part));
    let quoted = in_quotes.into_iter().flat_map(|quoted| names(quoted, part));
    let others = papers.chain(quoted).map(OutletMatch::without_article).filter_map(|found| {
        let key = publisher_key(found.name);
        // "The Times" may be of any town.
        let names_one = !key.is_empty() && !IS_KIND.is_match(found.name);
        names_one.then(|| ((found.place.start, usize::MAX), vec![format!("publisher:{key}")]))
    });
    let has_site = HAS_SITE.as_ref().is_some_and(|site| site.is_match(part));
    let sites = SITES.as_ref().filter(|_| has_site).into_iter().flat_map(|sites| names(sites, part));
    let sites = sites.filter_map(|found| Some(((found.place.start, usize::MAX), of_site(found.name, domain)?)));
    of_list.chain(others).chain(sites).min().map(|(_, keys)| keys)
}

/// The keys of a site; `None` for platforms and the text's own site.
fn of_site(name: &str, domain: &str) -> Option<Vec<String>> {
    let site = name.to_lowercase();
    let site = site.trim_start_matches("www.");
    let is_of = |known: &str| site == known || site.strip_suffix(known).is_some_and(|rest| rest.ends_with('.'));
    if is_of(domain) || PLATFORMS.iter().any(|platform| is_of(platform)) {
        return None;
    }
    if let Some(wire) = wire_of_site(is_of) {
        return Some(vec![format!("wire:{wire}")]);
    }
    let unknown = || vec![format!("outlet:{site}"), format!("domain:{site}")];
    Some(known_site(is_of).map_or_else(unknown, |known| vec![key(known)]))
}

struct OutletMatch<'a> {
    name: &'a str,
    place: Range<usize>,
    frame: Range<usize>,
}

impl OutletMatch<'_> {
    /// Drops the text up to the last "The": "But The Calgary Herald".
    fn without_article(mut self) -> Self {
        let from = self.name.rfind("The ").map_or(0, |at| at + "The ".len());
        self.name = self.name.get(from..).unwrap_or(self.name);
        self.place.start += from;
        self
    }

    /// Whether the name is whole, unlike in "Evan Spiegel wrote", "told the Guardian Council", "пишет РБК-Украина".
    fn is_whole(&self, part: &str) -> bool {
        let before = part.get(..self.place.start).unwrap_or_default();
        let word = before.strip_suffix(' ').and_then(|before| before.rsplit(char::is_whitespace).next());
        let in_a_name = word.is_some_and(is_of_a_name);
        let behind = part.get(self.place.end..).unwrap_or_default();
        let joined = behind.strip_prefix(['-', '–']).is_some_and(|rest| rest.starts_with(char::is_uppercase));
        let mut next = behind.strip_prefix(' ').into_iter().flat_map(|rest| rest.split(|c: char| !c.is_alphanumeric()));
        let goes_on = match next.next() {
            Some("affiliate") => true,
            Some("of") => next.next().is_some_and(|word| word.starts_with(char::is_uppercase)),
            // A Cyrillic capital is the speaker: "рассказал РБК Дмитрий Песков".
            Some(word) => {
                word.starts_with(|c: char| c.is_uppercase() && !is_cyrillic(c))
                    && !FOLLOWING_WORDS.has(word)
                    && !calendar::is_calendar_word(&word.to_lowercase())
            }
            None => false,
        };
        // The frame is on the other side.
        let begins = self.place.start == self.frame.start;
        let ends = self.place.end == self.frame.end;
        !(begins && in_a_name || joined || ends && goes_on)
    }
}

/// Whether the word before makes it another name: "Evan Spiegel", "Belfast Telegraph", "Mr. Spiegel"; not "As CNN",
/// "Газета РБК".
fn is_of_a_name(word: &str) -> bool {
    let bare = word.trim_end_matches('.');
    let lower = bare.to_lowercase();
    let titled = word.ends_with('.') && bare.chars().count() <= 3;
    word.starts_with(char::is_uppercase)
        && (titled || word.ends_with(char::is_alphanumeric))
        && !ARTICLES.has(word)
        && !stopwords::is_stop_word(&lower, None)
        && !calendar::is_calendar_word(&lower)
        && !PRECEDING_WORDS.has(&lower)
}

fn names<'a>(pattern: &'a Regex, part: &'a str) -> impl Iterator<Item = OutletMatch<'a>> {
    pattern.captures_iter(part).filter_map(|captured| {
        let name = captured.iter().skip(1).flatten().next()?;
        if is_in_passing(part, &captured.get(0)?.range()) {
            return None;
        }
        Some(OutletMatch { name: name.as_str(), place: name.range(), frame: captured.get(0)?.range() })
    })
}

#[cfg(test)]
mod tests;
