//! Which paper, broadcaster or site a story says it has from: what ten sites retell of one paper is one source.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

use super::origin::{ends, is_in_passing, owner_of_domain, publisher_key, wire_of_site};
use corroborate_language::dates::names as calendar;
use corroborate_language::lexicon::{Words, entries};
use corroborate_language::patterns::{self, Pattern, PatternError};
use corroborate_language::{is_cyrillic, stopwords};

/// Who is often retold: the sites whose names the lexicon has, in order. Names that are common words stand there with what
/// makes them a name.
static OUTLETS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| entries("sources.outlet").map(|entry| entry.value).collect::<BTreeSet<_>>().into_iter().collect());

/// Further domains of the same newsroom.
const FURTHER: &[(&str, &str)] = &[
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

// Words around a name that say the story is from there, in any language.

/// "according to the newspaper Le Monde", "сообщает газета «Коммерсант»", "laut der Zeitung Die Welt". The articles before
/// the name are those of papers that texts of any language write with it.
const TOLD_BY: &str = r"(?:{independence.by?}|{independence.outlets.by?}|{independence.source?}\s*:)\s+(?:{independence.article?}\s*)?(?:{independence.outlets.medium?}\s+(?:{independence.article?}\s*)?)?[«“„»\x22]?(?:The |Der |Le )?{name}";
const IN_A_REPORT: &str =
    r"{independence.outlets.in}\s+{independence.outlets.an} {name} {independence.outlets.report}\b";
/// A comma may stand before it: "the Guardian, reported". Where it parts a sentence from another's, as in Russian, none may.
const REPORTED: &str = r"{name}[»”’]?,?\s+{independence.outlets.reported}\b";
const REPORTS: &str = r"{name}[»”\x22]?\s+{independence.outlets.reports}\b";
const DATELINE: &str = r"\({name}\)\s*[-–—]";
/// "wie der Spiegel berichtet".
const AS_REPORTED: &str = r"{independence.outlets.as}\s+(?:{independence.article}\s*)?[„“»\x22]?{name}[“”«\x22]?\s+{independence.outlets.as_reported}";

const FRAMES: [&str; 6] = [TOLD_BY, IN_A_REPORT, REPORTED, DATELINE, REPORTS, AS_REPORTED];

/// Frames of a paper that the list does not have, and of a site: a company reports too, but not to others.
const OTHER_FRAMES: [&str; 2] = [TOLD_BY, REPORTED];
const SITE_FRAMES: [&str; 1] = [TOLD_BY];

/// A name in quotation marks behind a word for a paper, a channel or a site, where that is who says so.
const QUOTED: [&str; 2] = [
    r"(?:{independence.by}|{independence.source}\s*:)\s+{independence.outlets.medium}\s+[«“„\x22]([^»”“\x22\n]{2,40})[»”“\x22]",
    r"{independence.outlets.paper}\s+[«“„\x22]([^»”“\x22\n]{2,40})[»”“\x22]\s+{independence.outlets.paper_says}\b",
];

/// Where everybody publishes: a story is from whom it quotes there.
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

/// What may stand before a name without being a part of it.
static ARTICLES: Words = Words::of("independence.outlets.own_article");
/// How words begin that stand before a name with a capital and are no part of it.
static BEFORE: Words = Words::of("independence.outlets.before");
/// A capital behind a name that does not make it another's.
static BEHIND: Words = Words::of("independence.outlets.behind");

/// A shorter head than an agency's: of `FactRuEval`'s documents six name a paper behind it, each for a detail. Characters.
const HEAD: usize = 500;

static NAMED: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let names: Option<Vec<String>> = OUTLETS.iter().map(|site| name_of(site).ok()).collect();
    RegexSet::new(names?).ok()
});

/// In the order of [`OUTLETS`], each made when its name is first met.
static STATED: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| OUTLETS.iter().map(|_| OnceLock::new()).collect());

/// Papers that the list does not have, where their name tells that they are one: "The Toledo Blade" does not, "the Calgary
/// Herald" does.
static OTHERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = patterns::filled(r"(?:\p{Lu}[\p{L}'’.-]+ ){1,3}{independence.outlets.kind}").ok()?;
    framed(&OTHER_FRAMES, &format!(r"\b({name})\b")).ok()
});

static IS_KIND: Pattern = Pattern::of("^{independence.outlets.kind}$");

// What few texts have and every match of the three needs: a search for it is far cheaper than they are.
static HAS_KIND: Pattern = Pattern::of("{independence.outlets.kind}");
static HAS_QUOTED: Pattern = Pattern::of(r"(?:{independence.outlets.medium}|{independence.outlets.paper})\s+[«“„\x22]");
static HAS_SITE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"\.(?:{TOP_LEVELS})\b")).ok());

static IN_QUOTES: LazyLock<Option<Regex>> = LazyLock::new(|| framed(&QUOTED, "").ok());

/// What the addresses of news sites end with.
const TOP_LEVELS: &str = "com|org|net|info|news|media|ru|su|ua|by|kz|de|fr|pl|uk|au|br|ee|lv|lt|md|ge|am|az|tv|io";

/// Sites named by their address: "сообщает NEWSru.com".
static SITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let site = format!(r"(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:{TOP_LEVELS})(?:\.[a-z]{{2}})?");
    framed(&SITE_FRAMES, &format!(r"(?:https?://)?({site})\b")).ok()
});

/// The pattern of an outlet's names.
fn name_of(site: &str) -> Result<String, PatternError> {
    patterns::one_of(entries("sources.outlet").filter(|entry| entry.value == site))
}

/// The frames around a name, which they capture.
fn framed(frames: &[&str], name: &str) -> Result<Regex, PatternError> {
    let filled = patterns::filled_alternatives(frames)?;
    Regex::new(&filled.replace("{name}", name)).map_err(PatternError::Regex)
}

/// The pattern that an outlet of the list is named by as where a story is from.
fn stating(site: &str) -> Result<Regex, PatternError> {
    framed(&FRAMES, &format!(r"\b({})\b", name_of(site)?))
}

/// What a story and those that retell it share: `outlet:ft.com`, or its owner where that has other sites too, of what the
/// list above has, by the site's own domain; of any other site that of the outlet it says first that it has this from.
pub(super) fn keys(domain: &str, text: &str) -> Vec<String> {
    if let Some(own) = listed(domain) {
        // What a paper quotes of another stands in a story of its own.
        return vec![key(own)];
    }
    ends(text, HEAD).iter().find_map(|part| stated(part, domain)).unwrap_or_default()
}

fn listed(domain: &str) -> Option<&'static str> {
    known_site(|known| known == domain)
}

/// The outlet of the list whose site it is, by a test of a domain.
fn known_site(is_of: impl Fn(&str) -> bool) -> Option<&'static str> {
    let further = || FURTHER.iter().find(|(further, _)| is_of(further)).map(|(_, site)| *site);
    OUTLETS.iter().copied().find(|site| is_of(site)).or_else(further)
}

/// What an outlet of the list and those that retell it share.
fn key(site: &str) -> String {
    owner_of_domain(site).map_or_else(|| format!("outlet:{site}"), |owner| format!("owner:{owner}"))
}

/// The keys of the outlet that a part of a text from the domain first says it is from.
fn stated(part: &str, domain: &str) -> Option<Vec<String>> {
    let of_list = NAMED.as_ref().into_iter().flat_map(|named| named.matches(part)).filter_map(|index| {
        let site = OUTLETS.get(index)?;
        let stated = STATED.get(index)?.get_or_init(|| stating(site).ok()).as_ref()?;
        let found = names(stated, part).find(|found| found.is_whole(part))?;
        // Of two names at one place the longer is meant.
        Some(((found.place.start, usize::MAX - found.name.len()), vec![key(site)]))
    });
    let with_kind = OTHERS.as_ref().filter(|_| HAS_KIND.is_match(part));
    let papers = with_kind.into_iter().flat_map(|others| names(others, part)).filter(|found| found.is_whole(part));
    let in_quotes = IN_QUOTES.as_ref().filter(|_| HAS_QUOTED.is_match(part));
    let quoted = in_quotes.into_iter().flat_map(|quoted| names(quoted, part));
    let others = papers.chain(quoted).map(Found::without_article).filter_map(|found| {
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

/// The keys of a site named by its address; `None` of a platform and of the text's own.
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

/// A name in its frame.
struct Found<'a> {
    name: &'a str,
    place: Range<usize>,
    /// Of the frame with the name.
    frame: Range<usize>,
}

impl Found<'_> {
    /// From behind its last "The": "But The Calgary Herald".
    fn without_article(mut self) -> Self {
        let from = self.name.rfind("The ").map_or(0, |at| at + "The ".len());
        self.name = self.name.get(from..).unwrap_or(self.name);
        self.place.start += from;
        self
    }

    /// Whether the name is no part of a longer one: "Evan Spiegel wrote", "told the Guardian Council", "пишет РБК-Украина".
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
            // A Cyrillic capital is whoever told it: "рассказал РБК Дмитрий Песков".
            Some(word) => {
                word.starts_with(|c: char| c.is_uppercase() && !is_cyrillic(c))
                    && !BEHIND.has(word)
                    && !calendar::is_calendar_word(&word.to_lowercase())
            }
            None => false,
        };
        // The frame stands on the other side.
        let begins = self.place.start == self.frame.start;
        let ends = self.place.end == self.frame.end;
        !(begins && in_a_name || joined || ends && goes_on)
    }
}

/// Whether a word before a name makes it another's: "Evan Spiegel", "Belfast Telegraph", "Mr. Spiegel"; not "As CNN",
/// "Газета РБК", "Ранее РБК".
fn is_of_a_name(word: &str) -> bool {
    let bare = word.trim_end_matches('.');
    let lower = bare.to_lowercase();
    let titled = word.ends_with('.') && bare.chars().count() <= 3;
    word.starts_with(char::is_uppercase)
        && (titled || word.ends_with(char::is_alphanumeric))
        && !ARTICLES.has(word)
        && !stopwords::is_stop_word(&lower, None)
        && !calendar::is_calendar_word(&lower)
        && !BEFORE.has(&lower)
}

/// The names that a pattern captures.
fn names<'a>(pattern: &'a Regex, part: &'a str) -> impl Iterator<Item = Found<'a>> {
    pattern.captures_iter(part).filter_map(|captured| {
        let name = captured.iter().skip(1).flatten().next()?;
        if is_in_passing(part, &captured.get(0)?.range()) {
            return None;
        }
        Some(Found { name: name.as_str(), place: name.range(), frame: captured.get(0)?.range() })
    })
}

#[cfg(test)]
mod tests;
