//! Which paper, broadcaster or site a story says it has from: what ten sites retell of one paper is one source.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

use super::origin::{ends, is_in_passing, owner_of_domain, publisher_key, wire_of_site};
use corroborate_language::dates::names as calendar;
use corroborate_language::lexicon::Words;
use corroborate_language::{is_cyrillic, stopwords};

/// Who is often retold: the site, further domains of the same newsroom, and its name as a pattern. Names that are common
/// words stand with what makes them a name.
const OUTLETS: &[(&str, &[&str], &str)] = &[
    ("nytimes.com", &[], r"(?:(?i:new york times|нью-йорк таймс)|NYT)"),
    ("washingtonpost.com", &[], r"(?:(?i:washington post)|WaPo)"),
    ("wsj.com", &[], r"(?:(?i:wall street journal)|WSJ)"),
    ("latimes.com", &[], r"(?:(?i:los angeles times)|L\.?A\.? Times)"),
    ("usatoday.com", &[], r"(?:USA Today|USA TODAY)"),
    ("nypost.com", &[], "New York Post"),
    ("bostonglobe.com", &[], "Boston Globe"),
    ("chicagotribune.com", &[], "Chicago Tribune"),
    ("newyorker.com", &[], "New Yorker"),
    ("propublica.org", &[], "ProPublica"),
    ("theintercept.com", &[], "The Intercept"),
    ("politico.com", &["politico.eu"], "(?:Politico|POLITICO)"),
    ("axios.com", &[], "Axios"),
    ("newsweek.com", &[], "Newsweek"),
    ("forbes.com", &[], r"(?:Forbes|Форбс)"),
    ("businessinsider.com", &[], "Business Insider"),
    ("cnn.com", &[], "CNN"),
    ("nbcnews.com", &[], r"NBC(?: News)?"),
    ("cbsnews.com", &[], r"CBS(?: News)?"),
    ("go.com", &["abcnews.com"], "ABC News"),
    ("foxnews.com", &[], "Fox News"),
    ("cnbc.com", &[], "CNBC"),
    ("npr.org", &[], "NPR"),
    ("ft.com", &[], r"(?:(?i:financial times)|FT)"),
    ("irishexaminer.com", &[], "Irish Examiner"),
    ("independent.ie", &[], "Irish Independent"),
    ("jpost.com", &[], "Jerusalem Post"),
    ("kyivpost.com", &[], "Kyiv Post"),
    ("theguardian.com", &["guardian.co.uk"], "Guardian"),
    ("thetimes.com", &["thetimes.co.uk"], r"(?:Times of London|Sunday Times)"),
    ("telegraph.co.uk", &[], r"(?:Daily |Sunday )?Telegraph"),
    ("dailymail.co.uk", &["mailonline.co.uk"], r"(?i:daily mail|mail on sunday|mailonline)"),
    ("mirror.co.uk", &[], "Daily Mirror"),
    ("independent.co.uk", &["the-independent.com"], "[Tt]he Independent"),
    ("economist.com", &[], "Economist"),
    ("bbc.com", &["bbc.co.uk"], r"(?:BBC(?: News)?|Би-би-си|Бі-бі-сі)"),
    ("sky.com", &[], "Sky News"),
    ("spiegel.de", &[], r"(?:Der )?Spiegel"),
    ("bild.de", &[], r"(?:B[Ii][Ll][Dd](?:[- ]Zeitung)?|Бильд)"),
    ("sueddeutsche.de", &[], r"Süddeutsche[nr]? Zeitung"),
    ("faz.net", &[], r"(?:FAZ|Frankfurter Allgemeine[nr]?(?: Zeitung)?)"),
    ("zeit.de", &[], r"(?:Die Zeit|Zeit Online)"),
    ("welt.de", &[], "Die Welt"),
    ("handelsblatt.com", &[], "Handelsblatt"),
    ("dw.com", &[], r"(?:DW|Deutsche Welle|(?i:немецк\p{L}+ волн\p{L}+))"),
    ("lemonde.fr", &[], "Le Monde"),
    ("lefigaro.fr", &[], r"(?:Le )?Figaro"),
    ("mediapart.fr", &[], "Mediapart"),
    ("elpais.com", &[], r"El Pa[ií]s"),
    ("elmundo.es", &[], "El Mundo"),
    ("corriere.it", &[], r"Corriere della [Ss]era"),
    ("repubblica.it", &[], r"(?:La )?Repubblica"),
    ("folha.com.br", &[], r"Folha de S\.? ?Paulo"),
    ("globo.com", &[], r"(?:O Globo|TV Globo|G1)"),
    ("aljazeera.com", &["aljazeera.net"], r"(?:Al[- ]Jazeera|Аль-Джазир\p{L}+)"),
    ("scmp.com", &[], "South China Morning Post"),
    ("nikkei.com", &[], "Nikkei"),
    ("haaretz.com", &["haaretz.co.il"], "Haaretz"),
    ("timesofisrael.com", &[], "Times of Israel"),
    ("indiatimes.com", &[], "Times of India"),
    ("bellingcat.com", &[], r"(?i:bellingcat|беллингк\p{L}+|беллінгкет)"),
    ("rferl.org", &["svoboda.org", "radiosvoboda.org"], r"(?:RFE/RL|Radio Liberty|(?i:рад[иі]о [«]?свобод\p{L}+))"),
    ("rbc.ua", &[], r"(?i:рбк[-–]укра[иї]н\p{L}+)"),
    ("rbc.ru", &[], "РБК"),
    ("kommersant.ru", &[], r"(?:Коммерсант(?:ъ|а|у|ом|е)?|Ъ|Kommersant)"),
    ("vedomosti.ru", &[], r"Ведомост\p{L}+"),
    ("iz.ru", &[], r"Извести\p{L}+"),
    ("rg.ru", &[], r"Российск\p{L}+ газет\p{L}+"),
    ("novayagazeta.ru", &[], r"Нов\p{L}+ газет\p{L}+"),
    ("meduza.io", &[], r"(?:Медуз\p{L}+|Meduza)"),
    ("mk.ru", &[], r"Московск\p{L}+ комсомол\p{L}+"),
    ("kp.ru", &[], r"Комсомольск\p{L}+ правд\p{L}+"),
    ("fontanka.ru", &[], r"Фонтанк\p{L}+"),
    ("lenta.ru", &[], r"(?i:лент[аыеу]\.ру|lenta\.ru)"),
    ("theins.ru", &["theins.press"], "The Insider"),
    ("pravda.com.ua", &[], r"(?i:укра[иї]н\p{L}+ правд\p{L}+|ukrainska pravda|ukrayinska pravda)"),
    ("suspilne.media", &[], r"Суспільн\p{L}+"),
    ("kyivindependent.com", &[], "Kyiv Independent"),
    ("zn.ua", &[], r"(?:ZN\.UA|Зеркал\p{L}+ недели|Дзеркал\p{L}+ тижня)"),
    ("nv.ua", &[], "НВ"),
    ("liga.net", &[], r"(?i:л[иі]га\.net|liga\.net)"),
];

// Words around a name (`N`) that say the story is from there.
const TOLD_TO: &str = r"(?i:according to|citing|cited by|reported (?:by|in|on)|revealed by|published (?:by|in)|obtained by|seen by|source\s*:|told|interview with|(?:report|investigation) (?:by|in|from))\s+(?i:the )?(?i:(?:newspaper|paper|magazine|broadcaster|channel|website|outlet|weekly|daily) (?:the )?)?N";
const IN_A_REPORT: &str = r"(?i:according to|in)\s+(?i:an? |the )N (?:report|investigation|interview)\b";
const REPORTED: &str = r"N[»”’]?,?\s+(?i:reports|reported|(?:has|had) (?:learned|reported|revealed)|first reported|revealed|writes|wrote|understands)\b";
const DATELINE: &str = r"\(N\)\s*[-–—]";
const RUSSIAN_BEFORE: &str = r"(?i:по (?:данным|сообщению|информации|сведениям)|согласно|со ссылкой на|ссылаясь на|сообща[ею]т|сообщил[аио]?(?: в)?|переда[её]т|пиш[еу]т|написал[аио]?|рассказал\p{L}*(?: в интервью)?|в интервью|заявил[аио]?(?: в интервью)?|источник\s*:)\s+(?i:(?:газет|издани|телеканал|журнал|портал|радиостанци|сайт)\p{L}*\s+)?[«“„\x22]?(?:The |Der |Le )?N";
const RUSSIAN_BEHIND: &str =
    r"N[»”\x22]?\s+(?i:сообща[ею]т|сообщил[аио]?|переда[её]т|пиш[еу]т|узнал[аио]?|выяснил[аио]?)\b";
const UKRAINIAN_BEFORE: &str = r"(?i:за (?:даними|повідомленням|інформацією)|згідно з|з посиланням на|посилаючись на|повідомля(?:є|ють)|повідоми(?:в|ла|ло|ли)|переда(?:є|ють)|пиш(?:е|уть)|написа(?:в|ла|ло|ли)|розпов\p{L}+|в інтерв['’]ю|джерело\s*:)\s+(?i:(?:газет|видан|телеканал|журнал|портал|радіостанці|сайт)\p{L}*\s+)?[«“„\x22]?(?:The |Der |Le )?N";
const UKRAINIAN_BEHIND: &str = r"N[»”\x22]?\s+(?i:повідомля(?:є|ють)|повідоми(?:в|ла|ло|ли)|переда(?:є|ють)|пиш(?:е|уть)|дізна\p{L}+|з['’]ясува\p{L}+)\b";
const ROMANCE_AND_GERMAN: &str = r"(?i:segundo|de acordo com|según(?: informa| publica)?|de acuerdo con|selon|d['’]après|secondo|laut|nach (?:angaben|informationen) (?:von|der|des)|fonte\s*:|fuente\s*:|quelle\s*:)\s+(?i:a |la |o |el |l['’]|il |le |der |die |das |dem )?(?i:jornal |periódico |diario |quotidien |zeitung |magazin )?[„“«»\x22]?(?:The )?N";
const GERMAN_BEFORE: &str = r"(?i:berichtet(?:e|en)?|schreibt)\s+(?i:der |die |das )?[„“»\x22]?N";
const GERMAN_AROUND: &str = r"(?i:wie)\s+(?i:der |die |das )?[„“»\x22]?N[“”«\x22]?\s+(?i:berichtet|schreibt|meldet)";

const FRAMES: [&str; 11] = [
    TOLD_TO,
    IN_A_REPORT,
    REPORTED,
    DATELINE,
    RUSSIAN_BEFORE,
    RUSSIAN_BEHIND,
    UKRAINIAN_BEFORE,
    UKRAINIAN_BEHIND,
    ROMANCE_AND_GERMAN,
    GERMAN_BEFORE,
    GERMAN_AROUND,
];

/// Frames of a paper that the list does not have, and of a site: a company reports too, but not to others.
const OTHER_FRAMES: [&str; 2] = [TOLD_TO, REPORTED];
const SITE_FRAMES: [&str; 4] = [TOLD_TO, RUSSIAN_BEFORE, UKRAINIAN_BEFORE, ROMANCE_AND_GERMAN];

/// Names that say by themselves that they are a paper's: "The Toledo Blade" does not, "the Calgary Herald" does.
const KINDS: &str = r"(?:Times|Herald|Tribune|Gazette|Chronicle|Inquirer|Daily News|Morning News|Evening News)";

/// A name in quotation marks behind a word for a paper, a channel or a site, where that is who says so.
const QUOTED: &[&str] = &[
    r"(?i:по (?:данным|сообщению|информации|сведениям)|со ссылкой на|ссылаясь на|сообща[ею]т|сообщил[аио]?|переда[её]т|пиш[еу]т|написал[аио]?|источник\s*:)\s+(?i:газет|издани|телеканал|журнал|портал|радиостанци|сайт)\p{L}*\s+[«“„\x22]([^»”“\x22\n]{2,40})[»”“\x22]",
    r"(?i:за (?:даними|повідомленням|інформацією)|з посиланням на|посилаючись на|повідомля(?:є|ють)|повідоми(?:в|ла|ло|ли)|переда(?:є|ють)|пиш(?:е|уть)|написа(?:в|ла|ло|ли)|джерело\s*:)\s+(?i:газет|видан|телеканал|журнал|портал|радіостанці|сайт)\p{L}*\s+[«“„\x22]([^»”“\x22\n]{2,40})[»”“\x22]",
    r"(?i:газета|издание|телеканал|журнал|портал|видання)\s+[«“„\x22]([^»”“\x22\n]{2,40})[»”“\x22]\s+(?i:сообща[ею]т|сообщил[аио]?|пишет|написал[аио]?|повідомляє|повідоми(?:в|ла|ло)|пише)\b",
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
const ARTICLES: &[&str] = &["The", "Der", "Die", "Das", "Le", "La", "El", "Il", "O", "A"];
/// How words begin that stand before a name with a capital and are no part of it.
static BEFORE: Words = Words::of("independence.outlets.before");
/// A capital behind a name that does not make it another's.
const BEHIND: &[&str] =
    &["News", "Magazine", "Newspaper", "Radio", "Digital", "Channel", "TV", "Online", "Asia", "Russian", "Service"];

/// A shorter head than an agency's: of `FactRuEval`'s documents six name a paper behind it, each for a detail. Characters.
const HEAD: usize = 500;

static NAMED: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(OUTLETS.iter().map(|outlet| outlet.2)).ok());

/// In the order of [`OUTLETS`], each made when its name is first met.
static STATED: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| OUTLETS.iter().map(|_| OnceLock::new()).collect());

/// Papers that the list does not have, where their name tells that they are one.
static OTHERS: LazyLock<Option<Regex>> =
    LazyLock::new(|| framed(&OTHER_FRAMES, &format!(r"(?:\p{{Lu}}[\p{{L}}'’.-]+ ){{1,3}}{KINDS}")));

static IS_KIND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("^{KINDS}$")).ok());

static IN_QUOTES: LazyLock<Option<Regex>> =
    LazyLock::new(|| alternatives(QUOTED.iter().map(|frame| (*frame).to_owned())));

/// Sites named by their address: "сообщает NEWSru.com".
static SITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let site = r"(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:com|org|net|info|news|media|ru|su|ua|by|kz|de|fr|pl|uk|au|br|ee|lv|lt|md|ge|am|az|tv|io)(?:\.[a-z]{2})?";
    alternatives(SITE_FRAMES.iter().map(|frame| frame.replace('N', &format!(r"(?:https?://)?({site})\b"))))
});

fn alternatives(patterns: impl Iterator<Item = String>) -> Option<Regex> {
    let grouped: Vec<String> = patterns.map(|pattern| format!("(?:{pattern})")).collect();
    Regex::new(&grouped.join("|")).ok()
}

/// The frames around a name, which they capture.
fn framed(frames: &[&str], name: &str) -> Option<Regex> {
    let bounded = format!(r"\b({name})\b");
    alternatives(frames.iter().map(|frame| frame.replace('N', &bounded)))
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
    OUTLETS.iter().find(|(site, more, _)| *site == domain || more.contains(&domain)).map(|outlet| outlet.0)
}

/// What an outlet of the list and those that retell it share.
fn key(site: &str) -> String {
    owner_of_domain(site).map_or_else(|| format!("outlet:{site}"), |owner| format!("owner:{owner}"))
}

/// The keys of the outlet that a part of a text from the domain first says it is from.
fn stated(part: &str, domain: &str) -> Option<Vec<String>> {
    let of_list = NAMED.as_ref().into_iter().flat_map(|named| named.matches(part)).filter_map(|index| {
        let (site, _, name) = OUTLETS.get(index)?;
        let framed = STATED.get(index)?.get_or_init(|| framed(&FRAMES, name)).as_ref()?;
        let found = names(framed, part).find(|found| found.is_whole(part))?;
        // Of two names at one place the longer is meant.
        Some(((found.place.start, usize::MAX - found.name.len()), vec![key(site)]))
    });
    let papers =
        OTHERS.as_ref().into_iter().flat_map(|others| names(others, part)).filter(|found| found.is_whole(part));
    let quoted = IN_QUOTES.as_ref().into_iter().flat_map(|quoted| names(quoted, part));
    let others = papers.chain(quoted).map(Found::without_article).filter_map(|found| {
        let key = publisher_key(found.name);
        // "The Times" may be of any town.
        let names_one = !key.is_empty() && !IS_KIND.as_ref().is_some_and(|kind| kind.is_match(found.name));
        names_one.then(|| ((found.place.start, usize::MAX), vec![format!("publisher:{key}")]))
    });
    let sites = SITES.as_ref().into_iter().flat_map(|sites| names(sites, part));
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
    let known = OUTLETS.iter().find(|(known, more, _)| is_of(known) || more.iter().any(|more| is_of(more)));
    Some(known.map_or_else(|| vec![format!("outlet:{site}"), format!("domain:{site}")], |(known, ..)| vec![key(known)]))
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
                    && !BEHIND.contains(&word)
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
        && !ARTICLES.contains(&word)
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
