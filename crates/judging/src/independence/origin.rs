//! Finds the news agency that a story names as its origin, and the owner of a site.
//!
//! [`wire_of`] searches head and foot of a text for agencies inside fixed phrases. A photo credit or bare mention does
//! not count.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use corroborate_language::lexicon::{Words, entries};
use corroborate_language::patterns::{self, Pattern, PatternError};

/// Words that do not distinguish publishers.
static COMPANY_FORMS: Words = Words::of("independence.company_form");

/// Lexicon key and domains of a news agency.
struct Wire {
    key: &'static str,
    domains: &'static [&'static str],
}

/// A more specific name precedes the one that it contains.
const WIRES: &[Wire] = &[
    Wire { key: "reuters", domains: &["reuters.com"] },
    Wire { key: "ap", domains: &["apnews.com", "ap.org"] },
    Wire { key: "afp", domains: &["afp.com"] },
    Wire { key: "tass", domains: &["tass.ru", "tass.com"] },
    Wire { key: "ria", domains: &["ria.ru"] },
    Wire { key: "interfax-ukraine", domains: &["interfax.com.ua"] },
    Wire { key: "interfax", domains: &["interfax.ru", "interfax.com"] },
    Wire { key: "ukrinform", domains: &["ukrinform.net", "ukrinform.ua"] },
    Wire { key: "unian", domains: &["unian.net", "unian.ua", "unian.info"] },
    Wire { key: "dpa", domains: &["dpa.com"] },
    Wire { key: "efe", domains: &["efe.com"] },
    Wire { key: "ansa", domains: &["ansa.it"] },
    Wire { key: "lusa", domains: &["lusa.pt"] },
    Wire { key: "xinhua", domains: &["xinhuanet.com", "news.cn"] },
    Wire { key: "anadolu", domains: &["aa.com.tr"] },
    Wire { key: "belta", domains: &["belta.by"] },
    Wire { key: "upi", domains: &["upi.com"] },
    Wire { key: "kyodo", domains: &["kyodonews.net"] },
    Wire { key: "yonhap", domains: &["yna.co.kr"] },
    Wire { key: "pti", domains: &["ptinews.com"] },
    Wire { key: "agencia-brasil", domains: &["ebc.com.br"] },
    Wire { key: "estadao-conteudo", domains: &[] },
    Wire { key: "folhapress", domains: &["folhapress.com.br"] },
    Wire { key: "pa-media", domains: &["pa.media"] },
    Wire { key: "ani", domains: &["aninews.in"] },
    Wire { key: "aap", domains: &["aap.com.au"] },
    Wire { key: "kcna", domains: &["kcna.kp"] },
    Wire { key: "irna", domains: &["irna.ir"] },
    Wire { key: "apa", domains: &["apa.at"] },
    Wire { key: "unn", domains: &["unn.ua"] },
    Wire { key: "bloomberg", domains: &["bloomberg.com"] },
];

fn name_of(wire: &Wire) -> Result<String, PatternError> {
    patterns::one_of(entries("sources.agency").filter(|entry| entry.value == wire.key))
}

const FRAMES: &[&str] = &[
    // Datelines: "LONDON (Reuters) -", "МОСКВА, 3 мая. /ТАСС/.", "КИЕВ, 3 мая - РИА Новости." A bracket may also spell
    // out an acronym or credit a picture. It counts after a place at a line's beginning, before a dash or full stop, or
    // ending a long line.
    r"(?m:^[^\n]{0,60}(?:\(\s*{name}\s*\)|\[\s*{name}\s*\])\s*[-–—:])",
    r"(?m:^[^\n]{0,60}/\s*{name}\s*/)",
    r"(?m:^\p{Lu}[\p{Lu} .,'’-]{2,40}[^\n]{0,25}\(\s*{name}\s*\))",
    r"(?m:^\p{Lu}[^\n(]{1,40}, [^\n(]{0,10}\b\d{1,2}\b[^\n(]{0,10}[(/\[]\s*{name}\s*[)/\]] ?[-–—:.\p{Lu}])",
    r"(?m:^[^\n]{120,}\(\s*{name}\s*\)\s*$)",
    r"(?m:[.!?…»”]\s*[(/\[]\s*{name}\s*[)/\]]\.?\s*$)",
    r"(?m:^[^\n]{0,60}\.\s*{name}\s*[-–—])",
    r"(?m:[.!?»”\x22]\s*[-–—]\s*{name}\s*\.?\s*$)",
    r"(?m:^[\p{Lu}][^\n.!?]{0,60}[-–—]\s*{name}\s*[.,:;-])",
    // A byline alone on its line: "By The Associated Press", "Von dpa".
    r"(?m:^\s*(?:{independence.origin.byline}|{independence.origin.author}\s*:)\s+(?:{independence.article}\s*)?{name}\s*$)",
    r"(?m:^\s*{independence.origin.byline}\s+[\p{L} .,’'-]{3,60}[,|/–—-]\s*(?:{independence.article}\s*)?{name}\s*$)",
    // The copyright sign, or its word in any language.
    r"(?i:©|\(c\)|copyright)\s*\d{4}\s+(?:{independence.article}\s*)?{name}",
    // "according to Reuters", "a witness told Reuters", "in an interview with AFP", "по данным ТАСС", "laut dpa".
    r"(?:{independence.by?}|{independence.origin.by?}|{independence.source?}\s*:)\s+(?:{independence.article?}\s*)?(?:{independence.origin.agency?} )?[«“„\x22]?{name}",
    r"(?:{independence.by}|{independence.origin.by}|{independence.source}\s*:)\s+(?:\p{L}+ ){0,2}{independence.origin.described_agency} [«“„\x22]?{name}",
    // "as Reuters reports", "Reuters contributed to this report".
    r"{name}(?: {independence.origin.behind})?,? (?:{independence.origin.has} )?{independence.origin.reported}\b",
    // "ТАСС сообщает".
    r"[«“„\x22]?{name}[»”\x22]?\s+{independence.origin.reports}",
];

/// Ambiguous acronyms, valid only in a dateline: "WASHINGTON, Jan. 3 (UPI) --", "New Delhi, Jan 3 (PTI)".
const DATELINES: &[(&str, &str)] = &[("upi", "UPI"), ("pti", "PTI")];

/// Lengths of head and foot in characters. The text between is quotation.
const HEAD_CHARS: usize = 700;
const FOOT_CHARS: usize = 300;
/// Characters by which the head may extend to finish a sentence.
const MAX_TAIL_CHARS: usize = 250;

pub(super) fn ends(text: &str, head: usize) -> [String; 2] {
    let foot = head.max(text.chars().count().saturating_sub(FOOT_CHARS));
    [text.chars().take(head).collect(), text.chars().skip(foot).collect()]
}

/// The same for agencies: the head extends to its sentence's end, and a short story is one part.
fn agency_ends(text: &str) -> [String; 2] {
    let length = text.chars().count();
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '\n');
    let more = text.chars().skip(HEAD_CHARS).take(MAX_TAIL_CHARS).position(is_end).map_or(0, |at| at + 1);
    ends(text, if length <= HEAD_CHARS + FOOT_CHARS { length } else { HEAD_CHARS + more })
}

/// In the order of [`WIRES`].
static WIRE_PATTERNS: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| WIRES.iter().map(|wire| pattern(wire).ok()).collect());

/// A cheap test for any agency; nearly every page has none.
static WIRE_NAMES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let name = |wire: &Wire| {
        let name = name_of(wire).ok()?;
        Some(acronym(wire).map_or_else(|| name.clone(), |acronym| format!("{name}|{acronym}")))
    };
    RegexSet::new(WIRES.iter().map(name).collect::<Option<Vec<_>>>()?).ok()
});

fn acronym(wire: &Wire) -> Option<&'static str> {
    DATELINES.iter().find(|(key, _)| *key == wire.key).map(|(_, acronym)| *acronym)
}

fn pattern(wire: &Wire) -> Result<Regex, PatternError> {
    static FILLED_FRAMES: LazyLock<Result<String, PatternError>> =
        LazyLock::new(|| patterns::filled_alternatives(FRAMES));
    let dateline = acronym(wire).map_or_else(String::new, |acronym| {
        format!(
            r"|(?m:^(?:\p{{Lu}}[\p{{L}} .]{{1,40}}, \p{{Lu}}\p{{L}}{{2,8}}\.? \d{{1,2}} \({acronym}\)|\p{{Lu}}[\p{{Lu}} .,]{{2,40}}\({acronym}\)\s*[-–—:]))"
        )
    });
    // "GAP said" is not the AP's, nor is РИАМО РИА.
    let whole = format!(r"\b{}\b", name_of(wire)?);
    let frames = FILLED_FRAMES.as_ref().map_err(Clone::clone)?.replace("{name}", &whole);
    Regex::new(&format!("{frames}{dateline}")).map_err(PatternError::Regex)
}

/// The agency of a source: by domain, else the first origin stated.
pub(super) fn wire_of(domain: &str, text: &str) -> Option<&'static str> {
    if let Some(wire) = WIRES.iter().find(|wire| wire.domains.contains(&domain)) {
        return Some(wire.key);
    }
    agency_ends(text).iter().find_map(|part| first_stated(part))
}

pub(super) fn wire_of_site(is_of: impl Fn(&str) -> bool) -> Option<&'static str> {
    WIRES.iter().find(|wire| wire.domains.iter().any(|domain| is_of(domain))).map(|wire| wire.key)
}

/// The first agency stated; at one place the more specific one, which is earlier in the list.
fn first_stated(part: &str) -> Option<&'static str> {
    let named = WIRE_NAMES.as_ref()?.matches(part);
    named
        .iter()
        .filter_map(|index| {
            let mut stated = WIRE_PATTERNS.get(index)?.as_ref()?.find_iter(part);
            let start = stated
                .find(|found| !is_in_passing(part, &found.range()) && !is_a_persons(part, found.start()))?
                .start();
            Some((start, index))
        })
        .min()
        .and_then(|(_, index)| WIRES.get(index))
        .map(|wire| wire.key)
}

/// Words before a name that mean another story: "once told Reuters", "unlike what the BBC reported".
static CONTRAST: Pattern = Pattern::of(r"\b{independence.origin.unlike} (?:\p{L}+ ){0,2}$");
/// Words after it: "reported last week", "told Reuters in 2016".
static EARLIER_TIME: Pattern = Pattern::of(
    r"(?x)^(?:[\p{L}’']+\ ){0,2}(?:{independence.origin.back_then}|{independence.origin.in}\ (?:19|20)\d\d
        |(?:\p{L}+\ )?{independence.origin.ago})",
);

/// Whether a person has the name: "Michael Bloomberg said".
fn is_a_persons(text: &str, start: usize) -> bool {
    static PERSONS: Words = Words::of("independence.origin.persons");
    PERSONS.has_this(text.get(..start).unwrap_or_default().split_whitespace().next_back())
}

/// The agency of a byline or publisher name.
pub(super) fn wire_named(name: &str) -> Option<&'static str> {
    static WHOLE_NAMES: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
        let around = patterns::filled("^(?:{independence.article} )?{name}(?: {independence.origin.desk})*$").ok();
        let whole = |wire: &Wire| Regex::new(&around.as_ref()?.replace("{name}", &name_of(wire).ok()?)).ok();
        WIRES.iter().map(whole).collect()
    });
    let name = name.trim();
    let at = WHOLE_NAMES.iter().position(|pattern| pattern.as_ref().is_some_and(|pattern| pattern.is_match(name)))?;
    WIRES.get(at).map(|wire| wire.key)
}

/// Whether an earlier report is meant.
pub(super) fn is_in_passing(text: &str, place: &Range<usize>) -> bool {
    let (before, behind) = (text.get(..place.start).unwrap_or_default(), text.get(place.end..).unwrap_or_default());
    CONTRAST.is_match(before) || EARLIER_TIME.is_match(behind.trim_start())
}

/// Owners with several domains, from their imprints. Agencies are in [`WIRES`].
const OWNERS: &[(&str, &[&str])] = &[
    ("bbc", &["bbc.com", "bbc.co.uk"]),
    ("rambler", &["lenta.ru", "gazeta.ru", "rambler.ru", "championat.com"]),
    ("vgtrk", &["vesti.ru", "smotrim.ru", "vesti.fm"]),
    ("national-media-group", &["iz.ru", "ren.tv", "5-tv.ru", "78.ru"]),
    ("1plus1", &["tsn.ua", "unian.net", "unian.ua", "unian.info", "1plus1.ua"]),
    (
        "rossiya-segodnya",
        &["ria.ru", "ukraina.ru", "sputniknews.com", "sputnikglobe.com", "inosmi.ru", "rsport.ru", "1prime.ru"],
    ),
    ("rt", &["rt.com", "russian.rt.com", "ruptly.tv"]),
    ("rfe-rl", &["rferl.org", "svoboda.org", "radiosvoboda.org", "currenttime.tv", "krymr.com", "azattyq.org"]),
    (
        "news-corp",
        &[
            "wsj.com",
            "nypost.com",
            "thetimes.co.uk",
            "thetimes.com",
            "thesun.co.uk",
            "news.com.au",
            "marketwatch.com",
            "barrons.com",
            "theaustralian.com.au",
        ],
    ),
    ("dmg-media", &["dailymail.co.uk", "mailonline.co.uk", "metro.co.uk", "inews.co.uk"]),
    (
        "reach",
        &[
            "mirror.co.uk",
            "express.co.uk",
            "dailystar.co.uk",
            "manchestereveningnews.co.uk",
            "dailyrecord.co.uk",
            "walesonline.co.uk",
        ],
    ),
    ("globo", &["globo.com", "valor.com.br"]),
    ("folha", &["folha.com.br", "uol.com.br"]),
    ("ukrainska-pravda", &["pravda.com.ua", "epravda.com.ua", "eurointegration.com.ua"]),
    ("axel-springer", &["bild.de", "welt.de", "politico.com", "politico.eu", "businessinsider.com", "onet.pl"]),
    ("conde-nast", &["wired.com", "newyorker.com", "vanityfair.com", "arstechnica.com"]),
    ("comcast", &["nbcnews.com", "cnbc.com", "msnbc.com", "sky.com"]),
    ("gannett", &["usatoday.com", "azcentral.com", "freep.com"]),
    ("new-york-times", &["nytimes.com", "theathletic.com"]),
    ("alphabet", &["youtube.com", "youtu.be"]),
    ("x", &["x.com", "twitter.com"]),
    ("meta", &["facebook.com", "fb.com", "instagram.com", "threads.net", "threads.com"]),
    ("telegram", &["t.me", "telegram.me", "telegra.ph"]),
];

pub(super) fn owner_of_domain(domain: &str) -> Option<&'static str> {
    OWNERS.iter().find(|(_, domains)| domains.contains(&domain)).map(|(owner, _)| *owner)
}

/// The publisher's name without case, spacing, punctuation and legal form; empty if nothing is left.
pub(super) fn publisher_key(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !COMPANY_FORMS.has(word))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(WIRE_NAMES.is_some());
        for (wire, regex) in WIRES.iter().zip(WIRE_PATTERNS.iter()) {
            assert!(regex.is_some(), "{}: {:?}", wire.key, pattern(wire).err());
            assert!(
                wire_named(entries("sources.agency").find(|entry| entry.value == wire.key).unwrap().form).is_some()
            );
        }
        let idle: Vec<&str> = entries("sources.agency")
            .map(|entry| entry.value)
            .filter(|key| !WIRES.iter().any(|wire| wire.key == *key))
            .collect();
        assert!(idle.is_empty(), "names of agencies that the list does not have: {idle:?}");
    }

    #[test]
    fn origins_are_read_where_they_are_stated() {
        let cases = [
            ("LONDON, May 3 (Reuters) - Shares fell.", Some("reuters")),
            ("KYIV, Ukraine (AP) — Officials said.", Some("ap")),
            ("According to the Associated Press, three were hurt.", Some("ap")),
            ("МОСКВА, 3 мая — РИА Новости. Заседание отложено.", Some("ria")),
            ("Об этом сообщает «Интерфакс».", Some("interfax")),
            ("Об этом сообщает Интерфакс-Украина.", Some("interfax-ukraine")),
            ("Про це повідомляє Укрінформ.", Some("ukrinform")),
            ("Згідно з повідомленням державного агентства «Укрінформ», рейс скасовано.", Some("ukrinform")),
            ("Согласно сообщению государственного информационного агентства БелТА, суд отложен.", Some("belta")),
            ("Сообщает пресс-служба; позже ТАСС назвали агентством года.", None),
            ("Рейс отменён, передаёт УНИАН со ссылкой на ТАСС.", Some("unian")),
            ("Segundo a agência EFE, o voo foi cancelado.", Some("efe")),
            ("Laut dpa wurde der Flug gestrichen.", Some("dpa")),
            ("Rain fell.\nBy The Associated Press\nThree were hurt.", Some("ap")),
            ("IBGE: desemprego cai\n\nPor Agência Brasil\n\nA taxa caiu para 9,1%.", Some("agencia-brasil")),
            ("A taxa caiu, informou o instituto.\nCom informações da Agência Brasil", Some("agencia-brasil")),
            ("Bought by Reuters last year, the paper was sold.", None),
            ("Reuters hired a new editor.", None),
            ("WASHINGTON, Jan. 3 (UPI) -- The Senate voted.", Some("upi")),
            ("MIAMI (UPI) - A storm formed.", Some("upi")),
            ("New Delhi, Jan 3 (PTI) The court adjourned.", Some("pti")),
            ("The court adjourned, the Press Trust of India reported.", Some("pti")),
            ("United Press International said that the storm had formed.", Some("upi")),
            ("Unified Payments Interface (UPI) handled 9 billion payments in May.", None),
            ("Unified Payments Interface (UPI) - a system of India's banks - grew.", None),
            ("Pakistan Tehreek-e-Insaf (PTI) won the vote.", None),
            ("PTI said that its leader was in prison.", None),
            ("According to PTI, the vote was rigged.", None),
            ("Photo: AFP", None),
            ("The boat sank, a witness told Reuters by telephone.", Some("reuters")),
            ("The boat sank. The Associated Press contributed to this report.", Some("ap")),
            ("The boat sank, the minister said in an interview with AFP.", Some("afp")),
            ("Лодка затонула, рассказал ТАСС капитан.", Some("tass")),
            ("Човен затонув, розповів Укрінформу капітан.", Some("ukrinform")),
            ("The profit fell last year, Reuters reported.", Some("reuters")),
            ("The mayor resigned.\n© AFP", None),
            ("Its captain once told Reuters in 2016 that he loved storms.", None),
            ("Unlike what Reuters reported last week, the talks go on.", None),
            ("The map shows it.", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(wire_of("site.example", text), expected, "{text}");
        }
    }

    #[test]
    fn a_wire_named_in_the_middle_of_a_long_story_is_quotation() {
        let padding = "Our reporter asked the minister about it once more. ".repeat(40);
        let text = format!("{padding} Reuters reported in March that talks had failed. {padding}");
        assert_eq!(wire_of("site.example", &text), None);
        assert_eq!(wire_of("site.example", &format!("{padding} Source: Reuters")), Some("reuters"));
    }

    #[test]
    fn a_publisher_is_itself_however_it_is_spelt() {
        assert_eq!(publisher_key("The Example News, Inc."), publisher_key("example  news"));
        assert_eq!(publisher_key("Inc."), "");
    }
}
