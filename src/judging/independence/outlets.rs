//! Which paper, broadcaster or site a story says it has from: what ten sites retell of one paper is one source.

use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

use super::origin::{owner_of_domain, publisher_key};

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
    ("politico.com", &["politico.eu"], r"(?i:politico)"),
    ("axios.com", &[], "Axios"),
    ("newsweek.com", &[], "Newsweek"),
    ("forbes.com", &["forbes.ru", "forbes.ua"], r"(?:Forbes|Форбс)"),
    ("businessinsider.com", &[], "Business Insider"),
    ("cnn.com", &["edition.cnn.com"], "CNN"),
    ("nbcnews.com", &[], r"NBC(?: News)?"),
    ("cbsnews.com", &[], r"CBS(?: News)?"),
    ("abcnews.com", &["abcnews.go.com"], r"ABC News"),
    ("foxnews.com", &[], "Fox News"),
    ("cnbc.com", &[], "CNBC"),
    ("npr.org", &[], "NPR"),
    ("ft.com", &[], r"(?:(?i:financial times)|FT)"),
    ("theguardian.com", &["guardian.co.uk"], "Guardian"),
    ("thetimes.com", &["thetimes.co.uk"], r"(?:Times of London|Sunday Times)"),
    ("telegraph.co.uk", &[], r"(?:Daily |Sunday )?Telegraph"),
    ("dailymail.co.uk", &["mailonline.co.uk"], r"(?i:daily mail|mail on sunday|mailonline)"),
    ("mirror.co.uk", &[], "Daily Mirror"),
    ("independent.co.uk", &["the-independent.com"], "Independent"),
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
    ("folha.com.br", &["folha.uol.com.br"], r"Folha de S\.? ?Paulo"),
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
    ("kommersant.ru", &[], r"(?:Коммерсант\p{L}*|Ъ|Kommersant)"),
    ("vedomosti.ru", &[], r"Ведомост\p{L}+"),
    ("iz.ru", &[], r"Извести\p{L}+"),
    ("rg.ru", &[], r"Российск\p{L}+ газет\p{L}+"),
    ("novayagazeta.ru", &["novayagazeta.eu"], r"Нов\p{L}+ газет\p{L}+"),
    ("meduza.io", &[], r"(?:Медуз\p{L}+|Meduza)"),
    ("mk.ru", &[], r"Московск\p{L}+ комсомол\p{L}+"),
    ("kp.ru", &[], r"Комсомольск\p{L}+ правд\p{L}+"),
    ("fontanka.ru", &[], r"Фонтанк\p{L}+"),
    ("lenta.ru", &[], r"(?i:лент[аыеу]\.ру|lenta\.ru)"),
    ("theins.ru", &["theins.press"], "The Insider"),
    ("pravda.com.ua", &[], r"(?:(?i:укра[иї]н\p{L}+ правд\p{L}+|ukrainska pravda|ukrayinska pravda)|УП)"),
    ("suspilne.media", &[], r"Суспільн\p{L}+"),
    ("kyivindependent.com", &[], "Kyiv Independent"),
    ("zn.ua", &[], r"(?:ZN\.UA|Зеркал\p{L}+ недели|Дзеркал\p{L}+ тижня)"),
    ("nv.ua", &[], r"(?:НВ|NV)"),
    ("liga.net", &[], r"(?i:л[иі]га\.net|liga\.net)"),
];

/// Words around a name (`N`) that say the story is from there.
const FRAMES: &[&str] = &[
    r"(?i:according to|citing|cited by|reported (?:by|in|on)|revealed by|published (?:by|in)|obtained by|seen by|source\s*:|told|interview with|(?:report|investigation) (?:by|in|from))\s+(?i:the )?(?i:(?:newspaper|paper|magazine|broadcaster|channel|website|outlet|weekly|daily) (?:the )?)?N",
    r"N[»”’]?,?\s+(?i:reports|reported|(?:has|had) (?:learned|reported|revealed)|first reported|revealed|writes|wrote|understands)\b",
    r"(?i:по (?:данным|сообщению|информации|сведениям)|согласно|со ссылкой на|ссылаясь на|сообща[ею]т|сообщил[аио]?|переда[её]т|пиш[еу]т|написал[аио]?|рассказал\p{L}* (?:в интервью )?|источник\s*:)\s+(?i:(?:газет|издани|телеканал|журнал|портал|радиостанци|сайт)\p{L}*\s+)?[«“]?(?:The |Der |Le )?N",
    r"N[»”]?\s+(?i:сообща[ею]т|сообщил[аио]?|переда[её]т|пиш[еу]т|узнал[аио]?|выяснил[аио]?)\b",
    r"(?i:за (?:даними|повідомленням|інформацією)|згідно з|з посиланням на|посилаючись на|повідомля(?:є|ють)|повідоми(?:в|ла|ло|ли)|переда(?:є|ють)|пиш(?:е|уть)|написа(?:в|ла|ло|ли)|розпов\p{L}+|джерело\s*:)\s+(?i:(?:газет|видан|телеканал|журнал|портал|радіостанці|сайт)\p{L}*\s+)?[«“]?(?:The |Der |Le )?N",
    r"N[»”]?\s+(?i:повідомля(?:є|ють)|повідоми(?:в|ла|ло|ли)|переда(?:є|ють)|пиш(?:е|уть)|дізна\p{L}+|з[’']ясува\p{L}+)\b",
    r"(?i:segundo|de acordo com|según|de acuerdo con|selon|d'après|secondo|laut|nach (?:angaben|informationen) (?:von|der|des)|fonte\s*:|fuente\s*:|quelle\s*:)\s+(?i:a |la |o |el |l'|il |le |der |die |das |dem )?(?i:jornal |periódico |diario |quotidien |zeitung |magazin )?[„“«»\x22]?N",
    r"(?i:berichtet(?:e|en)?|schreibt)\s+(?i:der |die |das )?[„“»\x22]?N",
];

/// Names that say by themselves that they are a paper's: "The Toledo Blade" does not, "the Calgary Herald" does.
const KINDS: &str = r"(?:Times|Post|Herald|Tribune|Journal|Gazette|Chronicle|Observer|Examiner|Courier|Inquirer|Dispatch|Daily News|Morning News|Evening News|Magazine|Weekly)";

/// A name in quotation marks behind a word for a paper, a channel or a site, where that is who says so.
const QUOTED: &[&str] = &[
    r"(?i:по (?:данным|сообщению|информации|сведениям)|со ссылкой на|ссылаясь на|сообща[ею]т|сообщил[аио]?|переда[её]т|пиш[еу]т|написал[аио]?|источник\s*:)\s+(?i:газет|издани|телеканал|журнал|портал|радиостанци|сайт)\p{L}*\s+[«“]([^»”\n]{2,40})[»”]",
    r"(?i:за (?:даними|повідомленням|інформацією)|з посиланням на|посилаючись на|повідомля(?:є|ють)|повідоми(?:в|ла|ло|ли)|переда(?:є|ють)|пиш(?:е|уть)|написа(?:в|ла|ло|ли)|джерело\s*:)\s+(?i:газет|видан|телеканал|журнал|портал|радіостанці|сайт)\p{L}*\s+[«“]([^»”\n]{2,40})[»”]",
    r"(?i:газета|издание|телеканал|журнал|портал|видання)\s+[«“]([^»”\n]{2,40})[»”]\s+(?i:сообща[ею]т|сообщил[аио]?|пишет|написал[аио]?|повідомляє|повідоми(?:в|ла|ло)|пише)\b",
];

/// An origin is stated at the head or the foot of a story; what stands between is quotation. Characters.
const HEAD: usize = 500;
const FOOT: usize = 300;

static NAMED: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(OUTLETS.iter().map(|outlet| outlet.2)).ok());

/// In the order of [`OUTLETS`], each made when its name is first met.
static STATED: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| OUTLETS.iter().map(|_| OnceLock::new()).collect());

/// Papers that the list does not have, where their name tells that they are one.
static OTHERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let named = format!(r"((?:\p{{Lu}}[\p{{L}}'’.-]+ ){{1,3}}{KINDS})\b");
    alternatives(FRAMES.iter().take(2).map(|frame| frame.replace('N', &named)).collect())
});

static IN_QUOTES: LazyLock<Option<Regex>> =
    LazyLock::new(|| alternatives(QUOTED.iter().map(|frame| (*frame).to_owned()).collect()));

/// Sites named by their address: "сообщает NEWSru.com".
static SITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let site = r"((?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:com|org|net|info|news|media|ru|su|ua|by|kz|de|fr|pl|uk|ee|lv|lt|md|ge|am|az|tv|io))\b";
    alternatives(FRAMES.iter().map(|frame| frame.replace('N', site)).collect())
});

fn alternatives(patterns: Vec<String>) -> Option<Regex> {
    let grouped: Vec<String> = patterns.into_iter().map(|pattern| format!("(?:{pattern})")).collect();
    Regex::new(&grouped.join("|")).ok()
}

fn framed(name: &str) -> Option<Regex> {
    let bounded = format!(r"\b{name}\b");
    alternatives(FRAMES.iter().map(|frame| frame.replace('N', &bounded)).collect())
}

/// What a story and those that retell it share: `outlet:ft.com`, or its owner where that has other sites too, of what the
/// list above has, by the site's own domain as by the text; of another that the text names its publisher or its domain.
pub(super) fn keys(domain: &str, text: &str) -> Vec<String> {
    let own = OUTLETS.iter().find(|(site, more, _)| *site == domain || more.contains(&domain)).map(|outlet| outlet.0);
    let mut keys: Vec<String> = own.into_iter().map(key).collect();
    let count = text.chars().count();
    let head: String = text.chars().take(HEAD).collect();
    let foot: String = text.chars().skip(HEAD.max(count.saturating_sub(FOOT))).collect();
    let stated = [head, foot].iter().map(|part| stated(part, domain)).find(|stated| !stated.is_empty());
    for key in stated.unwrap_or_default() {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// What an outlet of the list and those that retell it share.
fn key(site: &str) -> String {
    owner_of_domain(site).map_or_else(|| format!("outlet:{site}"), |owner| format!("owner:{owner}"))
}

/// The keys of the outlets that a part of a text from the domain is said to be from.
fn stated(part: &str, domain: &str) -> Vec<String> {
    let is_framed = |index: usize, name: &str| {
        let framed = STATED.get(index).and_then(|framed_once| framed_once.get_or_init(|| framed(name)).as_ref());
        framed.is_some_and(|framed| framed.is_match(part))
    };
    let mut keys: Vec<String> = NAMED
        .as_ref()
        .into_iter()
        .flat_map(|named| named.matches(part))
        .filter_map(|index| OUTLETS.get(index).filter(|(.., name)| is_framed(index, name)))
        .map(|(site, ..)| key(site))
        .collect();
    if keys.is_empty() {
        // The Journal of Medicine is where a study stands, and no paper.
        let is_paper = |end: usize| part.get(end..).is_some_and(|rest| !rest.starts_with(" of "));
        let papers = names(&OTHERS, part).filter(|(_, end)| is_paper(*end)).chain(names(&IN_QUOTES, part));
        keys = papers
            .map(|(name, _)| publisher_key(name))
            .filter(|key| !key.is_empty())
            .map(|key| format!("publisher:{key}"))
            .collect();
    }
    let site = |(name, _): (&str, usize)| name.to_lowercase().trim_start_matches("www.").to_owned();
    for site in names(&SITES, part).map(site).filter(|site| site != domain) {
        keys.push(format!("outlet:{site}"));
        keys.push(format!("domain:{site}"));
    }
    keys
}

/// The names that a pattern captures, each with where it ends.
fn names<'a>(pattern: &'static LazyLock<Option<Regex>>, part: &'a str) -> impl Iterator<Item = (&'a str, usize)> {
    let found = pattern.as_ref().into_iter().flat_map(|pattern| pattern.captures_iter(part));
    found.filter_map(|captured| captured.iter().skip(1).flatten().next().map(|name| (name.as_str(), name.end())))
}

#[cfg(test)]
mod tests;
