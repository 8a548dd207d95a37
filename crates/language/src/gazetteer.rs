//! Known names in English, Russian and Ukrainian with cases and adjectives: countries, places, large organisations.
//!
//! To add a name: a line in `gazetteer.txt`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::entities::kind::EntityKind;
use super::{has_cyrillic, tokens};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GazetteerEntry {
    /// The key of all forms: `kyiv`.
    pub key: &'static str,
    pub kind: EntityKind,
    /// An adjective or people: "Ukrainian".
    pub demonym: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Its length.
    pub words: usize,
    pub known: GazetteerEntry,
}

struct Gazetteer {
    /// One-word names in every form.
    single: HashMap<String, GazetteerEntry>,
    /// Case-stripped words joined by spaces.
    multi: HashMap<String, GazetteerEntry>,
    /// First word → maximum length.
    heads: HashMap<String, usize>,
    keys: HashSet<&'static str>,
}

static GAZETTEER: LazyLock<Gazetteer> = LazyLock::new(|| load(include_str!("gazetteer.txt")));

/// Returns lower-case words, split at spaces and hyphens, without acronym dots and `'s`.
pub fn name_words(name: &str) -> Vec<String> {
    name.split(|c: char| {
        c.is_whitespace() || matches!(c, '-' | '‑' | '–' | '—' | ',' | '/' | '_' | '(' | ')' | '«' | '»' | '"')
    })
    .map(|word| {
        let word = tokens::normalise_word(word);
        let word = word.strip_suffix("'s").unwrap_or(&word);
        word.chars().filter(|c| c.is_alphanumeric() || *c == '\'').collect::<String>()
    })
    .filter(|word| word.chars().any(char::is_alphanumeric))
    .collect()
}

/// Returns an exact match, ignoring a leading "the".
pub fn lookup(words: &[String]) -> Option<GazetteerEntry> {
    let words = match words {
        [first, rest @ ..] if first == "the" && !rest.is_empty() => rest,
        words => words,
    };
    match words {
        [] => None,
        [word] => GAZETTEER.single.get(word).copied(),
        words => GAZETTEER.multi.get(&joined(words)).copied(),
    }
}

pub fn longest_match(words: &[String]) -> Option<Match> {
    let first = words.first()?;
    if let Some(most) = GAZETTEER.heads.get(case_stem(first)) {
        for length in (2..=(*most).min(words.len())).rev() {
            let known = words.get(..length).and_then(|run| GAZETTEER.multi.get(&joined(run)));
            if let Some(known) = known {
                return Some(Match { words: length, known: *known });
            }
        }
    }
    GAZETTEER.single.get(first).map(|known| Match { words: 1, known: *known })
}

/// Returns all one-word forms, and first words of longer names.
pub fn single_words() -> Vec<&'static str> {
    GAZETTEER.single.keys().chain(GAZETTEER.heads.keys()).map(String::as_str).collect()
}

pub fn is_key(key: &str) -> bool {
    GAZETTEER.keys.contains(key)
}

fn joined(words: &[String]) -> String {
    words.iter().map(|word| case_stem(word)).collect::<Vec<_>>().join(" ")
}

/// Longest first; the order matters.
const CASE_ENDINGS: &[&str] = &[
    "ового",
    "ського",
    "ами",
    "ями",
    "ого",
    "его",
    "ому",
    "ему",
    "ыми",
    "ими",
    "ові",
    "еві",
    "ією",
    "ией",
    "иями",
    "иях",
    "ах",
    "ях",
    "ам",
    "ям",
    "ов",
    "ев",
    "ів",
    "їв",
    "ей",
    "ой",
    "ый",
    "ий",
    "ом",
    "ем",
    "ым",
    "им",
    "их",
    "ых",
    "ая",
    "яя",
    "ое",
    "ее",
    "ую",
    "юю",
    "ою",
    "ею",
    "єю",
    "ої",
    "ій",
    "ые",
    "ие",
    "ия",
    "ии",
    "ию",
    "ія",
    "ії",
    "ію",
    "а",
    "я",
    "о",
    "е",
    "у",
    "ю",
    "ы",
    "и",
    "і",
    "ї",
    "є",
    "ь",
    "й",
];

/// Removes the ending of a Cyrillic word; at least two letters stay.
fn case_stem(word: &str) -> &str {
    if !has_cyrillic(word) {
        return word;
    }
    // Twice, so that "Ростов" matches "Ростове".
    without_ending(without_ending(word))
}

fn without_ending(word: &str) -> &str {
    let letters = word.chars().count();
    CASE_ENDINGS
        .iter()
        .filter(|ending| letters >= ending.chars().count() + 2)
        .find_map(|ending| word.strip_suffix(ending))
        .unwrap_or(word)
}

fn load(text: &'static str) -> Gazetteer {
    let mut gazetteer =
        Gazetteer { single: HashMap::new(), multi: HashMap::new(), heads: HashMap::new(), keys: HashSet::new() };
    let mut declined: Vec<(String, GazetteerEntry)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&'static str> = line.split('|').collect();
        let [kind, english, russian, ukrainian, demonyms, adjectives @ ..] = fields.as_slice() else { continue };
        let kind = match *kind {
            "C" | "P" => EntityKind::Loc,
            "O" => EntityKind::Org,
            _ => EntityKind::Person,
        };
        let key = KEYS.get(english.split(';').next().unwrap_or_default()).copied().unwrap_or_default();
        gazetteer.keys.insert(key);
        let known = GazetteerEntry { key, kind, demonym: false };
        for name in [english, russian, ukrainian].into_iter().flat_map(|names| names.split(';')) {
            insert_name(&mut gazetteer, &mut declined, name, known);
        }
        let adjective = GazetteerEntry { kind: EntityKind::Misc, demonym: true, ..known };
        for demonym in demonyms.split(';').filter(|name| !name.is_empty()) {
            insert_name(&mut gazetteer, &mut declined, demonym, adjective);
            insert_name(&mut gazetteer, &mut declined, &format!("{demonym}s"), adjective);
        }
        for form in adjectives.iter().flat_map(|names| names.split(';')).flat_map(adjective_forms) {
            declined.push((form, adjective));
        }
    }
    // A nominative wins over generated forms.
    for (form, known) in declined {
        gazetteer.single.entry(form).or_insert(known);
    }
    gazetteer
}

/// Lower-case keys, leaked once.
static KEYS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include_str!("gazetteer.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('|').nth(1)?.split(';').next())
        .map(|name| {
            let key: &'static str = Box::leak(name.to_lowercase().into_boxed_str());
            (name, key)
        })
        .collect()
});

fn insert_name(
    gazetteer: &mut Gazetteer,
    declined: &mut Vec<(String, GazetteerEntry)>,
    name: &str,
    known: GazetteerEntry,
) {
    let words = name_words(name);
    let words = match words.as_slice() {
        [first, rest @ ..] if first == "the" && !rest.is_empty() => rest,
        words => words,
    };
    match words {
        [] => {}
        [word] => {
            gazetteer.single.entry(word.clone()).or_insert(known);
            let acronym = name.chars().filter(|c| c.is_alphabetic()).all(char::is_uppercase);
            if has_cyrillic(word) && !acronym {
                declined.extend(cases(word).into_iter().map(|form| (form, known)));
            }
        }
        words => {
            gazetteer.multi.entry(joined(words)).or_insert(known);
            if let Some(first) = words.first() {
                let most = gazetteer.heads.entry(case_stem(first).to_owned()).or_insert(0);
                *most = (*most).max(words.len());
            }
        }
    }
}

/// Returns case forms by the first matching pattern. Wrong forms are harmless: no text has them.
fn cases(word: &str) -> Vec<String> {
    const PATTERNS: &[(&str, &[&str])] = &[
        ("ия", &["ии", "ию", "ией", "иею"]),
        ("ія", &["ії", "ію", "ією", "іє"]),
        ("я", &["и", "е", "ю", "ей", "ею", "і", "ї", "єю"]),
        ("га", &["ги", "ге", "гу", "гой", "зі", "гою"]),
        ("ка", &["ки", "ке", "ку", "кой", "ці", "кою"]),
        ("а", &["ы", "и", "е", "у", "ой", "ою", "і", "ей", "ею"]),
        ("пет", &["пта", "пту", "птом", "пте", "пті"]),
        ("їв", &["єва", "єву", "євом", "єві"]),
        ("ків", &["кова", "кову", "ковом", "кові"]),
        ("нів", &["нева", "неву", "невом", "неві"]),
        ("ів", &["ова", "ову", "овом", "ові"]),
        ("піль", &["поля", "полю", "полем", "полі"]),
        ("ень", &["ня", "ню", "нем", "ні"]),
        ("ь", &["и", "ю", "ью", "я", "ем", "е", "і", "ем"]),
        ("й", &["я", "ю", "ем", "е", "єм", "ї"]),
        ("ы", &["", "ов", "ам", "ами", "ах"]),
        ("и", &["", "ов", "ів", "ам", "ами", "ах", "ям", "ях"]),
        ("о", &["а", "у", "ом", "е", "і"]),
        ("е", &["ю", "я", "ем", "і"]),
        ("", &["а", "у", "ом", "е", "ові", "і"]),
    ];
    // Forms of "Того", "Мали" are other words.
    let letters = word.chars().count();
    let short_foreign = letters <= 5 && (word.ends_with('о') || word.ends_with('и') || word.ends_with('е'));
    if short_foreign || word.ends_with(['у', 'ю', 'э', 'і', 'є']) {
        return Vec::new();
    }
    PATTERNS
        .iter()
        .find_map(|(ending, endings)| word.strip_suffix(ending).map(|stem| (stem, endings)))
        .map(|(stem, endings)| endings.iter().map(|ending| format!("{stem}{ending}")).collect())
        .unwrap_or_default()
}

/// Returns the forms of an adjective in "-ий".
fn adjective_forms(adjective: &str) -> Vec<String> {
    const ENDINGS: &[&str] = &[
        "ий", "ого", "ому", "им", "ом", "ая", "ой", "ую", "ое", "ие", "их", "ими", "а", "ої", "ій", "у", "ою", "е",
        "і", "ою",
    ];
    let adjective = tokens::normalise_word(adjective);
    adjective
        .strip_suffix("ий")
        .map(|stem| ENDINGS.iter().map(|ending| format!("{stem}{ending}")).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Option<&'static str> {
        lookup(&name_words(name)).map(|known| known.key)
    }

    #[test]
    fn every_case_of_a_name_is_known() {
        for (names, expected) in [
            (&["Kyiv", "Kiev", "Київ", "Киев", "Києва", "Києві", "Киеву", "Киевом"][..], "kyiv"),
            (
                &["US", "U.S.", "USA", "the United States", "США", "Соединённых Штатах", "Сполученим Штатам"],
                "united states",
            ),
            (&["Россией", "Росією", "Российской Федерации", "РФ", "Russia's"], "russia"),
            (&["Нью-Йорка", "New York", "Нью-Йорку"], "new york"),
            (&["Харкова", "Харькове", "Kharkiv", "Харкові"], "kharkiv"),
            (&["Организации Объединенных Наций", "ООН", "UN"], "united nations"),
            (&["Ростове-на-Дону"], "rostov-on-don"),
            (&["Египта", "Єгипту", "Egypt"], "egypt"),
            (&["Северной Корее", "КНДР", "Північною Кореєю"], "north korea"),
            (&["Верховной Раде", "Верховна Рада"], "verkhovna rada"),
        ] {
            for name in names {
                assert_eq!(key(name), Some(expected), "{name}");
            }
        }
        assert_eq!(key("York"), None);
        assert_eq!(key(""), None);
    }

    #[test]
    fn the_longest_name_wins_and_adjectives_are_marked() {
        let words = name_words("South Korean troops");
        let found = longest_match(&words).unwrap();
        assert_eq!((found.words, found.known.key, found.known.demonym), (2, "south korea", true));
        let words = name_words("российскими войсками");
        assert!(longest_match(&words).is_some_and(|found| found.known.demonym && found.known.key == "russia"));
        assert_eq!(longest_match(&name_words("Papua New Guinea wins")).map(|found| found.words), Some(3));
    }

    #[test]
    fn every_line_of_the_list_is_whole() {
        for line in include_str!("gazetteer.txt").lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(line.split('|').count(), 7, "{line}");
            assert!(matches!(line.split('|').next(), Some("C" | "P" | "O" | "H")), "{line}");
        }
    }
}
