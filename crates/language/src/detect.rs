//! Detects the language of a text.
//!
//! Cyrillic languages are compared by letters, letter frequencies and function words, because trigram tables confuse
//! them on short sentences. English is confirmed by function words. The rest is left to whatlang.
//!
//! To add a language: its `detect.tsv` in the lexicon.

mod alphabets;
mod letters;

use std::collections::HashMap;
use std::sync::LazyLock;

use whatlang::{Lang, Script};

use super::{cut, is_cyrillic, stopwords, tokens};
use crate::lexicon::{self, Entry, Words};

/// Function words that English shares; each counts one half.
static WEAK: Words = Words::of("detect.telling_weak");

#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// ISO 639-1 code (ISO 639-3 if there is none); `None` if nothing is clear.
    pub language: Option<String>,
    /// 0–1.
    pub confidence: f64,
    /// Whether two languages have a substantial share.
    pub mixed: bool,
}

/// Minimum share of the second alphabet; names and brands stay below it.
const MIXED_SHARE: f64 = 0.15;
/// Words read; more do not change the result.
const MOST_WORDS: usize = 150;
const MOST_CHARACTERS: usize = 2000;
/// Limit of the trigram tables, whose time grows with the length.
const MOST_TRIGRAMS: usize = 600;

/// Returns the English name of an ISO 639-1 code for prompts, or "the language of the text".
pub fn english_name(code: Option<&str>) -> &'static str {
    match code.unwrap_or_default() {
        "en" => "English",
        "ru" => "Russian",
        "uk" => "Ukrainian",
        "pt" => "Portuguese",
        "be" => "Belarusian",
        "pl" => "Polish",
        "de" => "German",
        "fr" => "French",
        "es" => "Spanish",
        "it" => "Italian",
        "el" => "Greek",
        "tr" => "Turkish",
        "ro" => "Romanian",
        "ka" => "Georgian",
        _ => "the language of the text",
    }
}

pub fn detect(text: &str) -> Detection {
    let text = text.char_indices().nth(MOST_CHARACTERS).map_or(text, |(end, _)| cut(text, 0, end));
    let words: Vec<String> = tokens::spans(text)
        .into_iter()
        .map(|(start, end)| cut(text, start, end))
        .filter(|word| word.chars().any(char::is_alphabetic))
        .take(MOST_WORDS)
        .map(tokens::normalise_word)
        .collect();
    let letters_of = |cyrillic: bool| -> usize {
        words
            .iter()
            .flat_map(|word| word.chars())
            .filter(|letter| letter.is_alphabetic() && is_cyrillic(*letter) == cyrillic)
            .count()
    };
    let (cyrillic, other) = (letters_of(true), letters_of(false));
    let all = cyrillic + other;
    if all == 0 {
        return Detection { language: None, confidence: 0.0, mixed: false };
    }
    let mut detection = if cyrillic * 2 >= all { detect_cyrillic(&words) } else { detect_other(text, &words) };
    let minority = cyrillic.min(other) as f64 / all as f64;
    let ukrainian_and_russian = both_slavic(&words);
    detection.mixed =
        ukrainian_and_russian || (minority >= MIXED_SHARE && second_is_prose(&words, cyrillic * 2 >= all));
    detection
}

/// Whether the minor alphabet is prose and not names: three words, with function words or a run in lower case.
fn second_is_prose(words: &[String], cyrillic_leads: bool) -> bool {
    let second: Vec<&String> = words
        .iter()
        .filter(|word| {
            word.chars().next().is_some_and(|first| first.is_alphabetic() && is_cyrillic(first) != cyrillic_leads)
        })
        .collect();
    let stops = second
        .iter()
        .filter(|word| if cyrillic_leads { stopwords::is_english(word) } else { stopwords::is_stop_word(word, None) })
        .count();
    // Latin words in a Cyrillic text are mostly names; the reverse is rare.
    second.len() >= 3 && (stops >= 1 || !cyrillic_leads)
}

/// Whether Ukrainian and Russian letters are each in three words and in a fifth of all words with such letters.
fn both_slavic(words: &[String]) -> bool {
    let count = |letters: &str| words.iter().filter(|word| word.chars().any(|letter| letters.contains(letter))).count();
    let (russian, ukrainian) = (count("ыэъ"), count("іїєґ"));
    let belarusian = count("ў");
    let telling = russian + ukrainian;
    belarusian == 0 && russian.min(ukrainian) >= 3 && russian.min(ukrainian) * 5 >= telling
}

/// A Cyrillic language: letters that only it has or that it lacks, frequent words (lower case, `ё` as `е`), endings.
struct Profile {
    code: &'static str,
    own: &'static str,
    foreign: &'static str,
}

const PROFILES: &[Profile] = &[
    Profile { code: "ru", own: "ыэщ", foreign: "іїєґўјљњћђџѓќѕәғқңөұүһҷҳӣӯҗ" },
    Profile { code: "uk", own: "іїєґ", foreign: "ыэъўјљњћђџѓќѕәғқңөұүһҷҳӣӯҗ" },
    Profile { code: "be", own: "ўі", foreign: "ищъїєґјљњћђџѓќѕәғқңөұүһҷҳӣӯҗ" },
    Profile { code: "bg", own: "ъщ", foreign: "ыэіїєґўјљњћђџѓќѕәғқңөұүһҷҳӣӯҗ" },
    Profile { code: "mk", own: "ѓќѕјљњ", foreign: "ыэіїєґўъщйьяюђћәғқңөұүһҷҳӣӯҗ" },
    Profile { code: "sr", own: "ћђјљњџ", foreign: "ыэіїєґўъщйьяюѓќѕәғқңөұүһҷҳӣӯҗ" },
    Profile { code: "kk", own: "әғқңөұүһі", foreign: "їєґўјљњћђџѓќѕҷҳӣӯҗ" },
    Profile { code: "mn", own: "өү", foreign: "іїєґўјљњћђџѓќѕәғқңұһҷҳӣӯҗщ" },
    Profile { code: "tg", own: "ҷҳӣӯғқ", foreign: "іїєґўјљњћђџѓќѕәңөұүһҗыщ" },
    Profile { code: "ky", own: "ңөү", foreign: "іїєґўјљњћђџѓќѕәғқұһҷҳӣӯҗщ" },
    Profile { code: "tt", own: "әөүһҗң", foreign: "іїєґўјљњћђџѓќѕғқұҷҳӣӯ" },
    Profile { code: "uz", own: "ўқғҳ", foreign: "іїєґјљњћђџѓќѕәңөұүһҷӣӯҗыщ" },
];

/// Whether [`detect`] recognises the language (ISO 639-1) by Cyrillic letters.
pub fn is_cyrillic_language(code: &str) -> bool {
    PROFILES.iter().any(|profile| profile.code == code)
}

/// Letters, words and endings, one bit per profile, so that each word is looked up once.
struct Signs {
    words: HashMap<&'static str, u16>,
    endings: HashMap<&'static str, u16>,
    /// Indexed by code point from U+0400.
    own: Vec<u16>,
    foreign: Vec<u16>,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let mut signs =
        Signs { words: HashMap::new(), endings: HashMap::new(), own: vec![0; 0x130], foreign: vec![0; 0x130] };
    for (index, profile) in PROFILES.iter().enumerate() {
        let bit = 1 << index;
        let own = |entry: &Entry| entry.language == profile.code;
        for entry in lexicon::entries("detect.frequent").filter(own) {
            *signs.words.entry(entry.form).or_insert(0) |= bit;
        }
        for entry in lexicon::entries("detect.ending").filter(own) {
            *signs.endings.entry(entry.form).or_insert(0) |= bit;
        }
        for (letters, table) in [(profile.own, &mut signs.own), (profile.foreign, &mut signs.foreign)] {
            for letter in letters.chars() {
                if let Some(bits) = (letter as usize).checked_sub(0x0400).and_then(|slot| table.get_mut(slot)) {
                    *bits |= bit;
                }
            }
        }
    }
    signs
});

fn detect_cyrillic(words: &[String]) -> Detection {
    let mut scores: Vec<(f64, &'static str)> =
        PROFILES.iter().map(|profile| (prior(profile, words), profile.code)).collect();
    for word in words {
        add_marks(word, &mut scores);
    }
    alphabets::add_letters(words, &mut scores);
    // Stable: on a tie the first profile, Russian, wins.
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (best, code) = scores.first().copied().unwrap_or((0.0, "ru"));
    let second = scores.get(1).map_or(0.0, |pair| pair.0);
    // A lead of half a mark per word is certain; one word without telling letters is not.
    let confidence = (0.5 + (best - second) / words.len().max(4) as f64).clamp(0.0, 1.0);
    Detection { language: Some(code.to_owned()), confidence, mixed: false }
}

/// Returns the prior: most items are Russian or Ukrainian, and a language whose own letters are absent is unlikely.
fn prior(profile: &Profile, words: &[String]) -> f64 {
    match profile.code {
        "ru" => 0.7,
        "uk" => 0.5,
        "bg" => 0.0,
        _ if words.iter().any(|word| word.chars().any(|letter| profile.own.contains(letter))) => 0.0,
        _ => -0.5,
    }
}

/// Adds 1 for a frequent word, less for letters and endings, −1.5 for a letter that the language lacks.
fn add_marks(word: &str, scores: &mut [(f64, &'static str)]) {
    let frequent = SIGNS.words.get(word).copied().unwrap_or_default();
    let (mut own, mut foreign, mut ending, mut sign) = (0, 0, 0, false);
    for letter in word.chars() {
        let slot = (letter as usize).wrapping_sub(0x0400);
        own |= SIGNS.own.get(slot).copied().unwrap_or_default();
        foreign |= SIGNS.foreign.get(slot).copied().unwrap_or_default();
        sign |= matches!(letter, 'ъ' | 'ь');
    }
    if word.chars().count() >= 5 {
        for (offset, _) in word.char_indices().rev().take(4).skip(1) {
            ending |= word.get(offset..).and_then(|tail| SIGNS.endings.get(tail)).copied().unwrap_or_default();
        }
    }
    for (index, (score, code)) in scores.iter_mut().enumerate() {
        let yes = |bits: u16, weight: f64| if bits & (1 << index) == 0 { 0.0 } else { weight };
        *score += yes(frequent, 1.0) + yes(own, 0.6) + yes(ending, 0.4) - yes(foreign, 1.5);
        if sign {
            *score += sign_mark(code, word);
        }
    }
}

/// Weighs hard and soft signs. Bulgarian has the hard sign between consonants and the soft sign only before "о";
/// Russian has the hard sign only before soft vowels.
fn sign_mark(code: &str, word: &str) -> f64 {
    let mut letters = word.chars().peekable();
    let mut sum = 0.0;
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match (letter, code) {
            ('ъ', "bg") => sum += if next.is_some_and(|c| "еюя".contains(c)) { -0.6 } else { 1.0 },
            ('ъ', "ru") => sum += if next.is_some_and(|c| "еюя".contains(c)) { 0.5 } else { -1.0 },
            ('ь', "bg") if next != Some('о') => sum -= 1.5,
            _ => {}
        }
    }
    sum
}

fn detect_other(text: &str, words: &[String]) -> Detection {
    let latin: Vec<&String> = words.iter().filter(|word| word.chars().all(|c| !is_cyrillic(c))).collect();
    let english = english_share(&latin);
    let accented = latin.iter().filter(|word| word.chars().any(|c| c.is_alphabetic() && !c.is_ascii())).count();
    let accented = accented as f64 / latin.len().max(1) as f64;
    let is_english =
        || Detection { language: Some("en".to_owned()), confidence: (0.6 + english).min(1.0), mixed: false };
    // Only English has so many of these words; counting is 100 times faster than trigrams.
    if english >= 0.3 && accented < 0.2 {
        return is_english();
    }
    let text = text.char_indices().nth(MOST_TRIGRAMS).map_or(text, |(end, _)| cut(text, 0, end));
    let Some(info) = whatlang::detect(text) else {
        return Detection { language: None, confidence: 0.0, mixed: false };
    };
    if info.script() != Script::Latin {
        return Detection { language: Some(iso(info.lang()).to_owned()), confidence: info.confidence(), mixed: false };
    }
    let doubtful = accented == 0.0 && info.confidence() < 0.9;
    if (english >= 0.2 && doubtful) || (english >= 0.1 && info.lang() == Lang::Eng) {
        return is_english();
    }
    let few = latin.len() <= 5;
    let plausible = letters::look_english(&latin);
    let foreign = latin.iter().any(|word| TELLING_OTHERS.has(word));
    if few && accented == 0.0 && !info.is_reliable() && !foreign && plausible {
        // "Trump wins", "NATO expands": English is a guess.
        return Detection { language: Some("en".to_owned()), confidence: 0.4, mixed: false };
    }
    let doubtful = (latin.len() >= 7 && info.confidence() < 0.2) || (few && !plausible);
    let lang = if info.lang() == Lang::Eng && english < 0.1 && doubtful {
        // English without function words is a language that whatlang lacks.
        None
    } else {
        Some(info.lang())
    };
    Detection {
        language: lang.map(|lang| iso(lang).to_owned()),
        confidence: if lang.is_some() { info.confidence() } else { 0.0 },
        mixed: false,
    }
}

/// Function words that only English uses often.
static TELLING: Words = Words::of("detect.telling");

/// Words of other languages that are neither English nor in common names; one of them excludes English.
static TELLING_OTHERS: Words = Words::of("detect.telling_other");

fn english_share(words: &[&String]) -> f64 {
    let telling = words.iter().filter(|word| TELLING.has(word)).count();
    let weak = words.iter().filter(|word| WEAK.has(word)).count();
    (telling as f64 + 0.5 * weak as f64 * f64::from(u8::from(telling > 0))) / words.len().max(1) as f64
}

/// ISO 639-3 → ISO 639-1.
const CODES: &str = "epo:eo eng:en rus:ru cmn:zh spa:es por:pt ita:it ben:bn fra:fr deu:de ukr:uk kat:ka ara:ar \
    hin:hi jpn:ja heb:he yid:yi pol:pl amh:am jav:jv kor:ko nob:nb dan:da swe:sv fin:fi tur:tr \
    nld:nl hun:hu ces:cs ell:el bul:bg bel:be mar:mr kan:kn ron:ro slv:sl hrv:hr srp:sr mkd:mk \
    lit:lt lav:lv est:et tam:ta vie:vi urd:ur tha:th guj:gu uzb:uz pan:pa aze:az ind:id tel:te \
    pes:fa mal:ml ori:or mya:my nep:ne sin:si khm:km tuk:tk aka:ak zul:zu sna:sn afr:af lat:la \
    slk:sk cat:ca tgl:tl hye:hy";

fn iso(lang: Lang) -> &'static str {
    let code = lang.code();
    CODES
        .split_whitespace()
        .filter_map(|pair| pair.split_once(':'))
        .find(|(long, _)| *long == code)
        .map_or(code, |(_, short)| short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corroborate_labelled as labelled;

    fn language(text: &str) -> Option<String> {
        detect(text).language
    }

    #[test]
    fn neighbours_are_told_apart() {
        for (text, code) in [
            ("Президент подписал закон о бюджете", "ru"),
            ("Президент підписав закон про бюджет", "uk"),
            ("Прэзідэнт падпісаў закон аб бюджэце", "be"),
            ("Президентът подписа закона за бюджета, че да се въведе", "bg"),
            ("Председник је потписао закон о буџету", "sr"),
            ("Претседателот го потпиша законот, но дека ќе биде", "mk"),
            ("Президент бұл заңға қол қойды", "kk"),
            ("The president signed the budget law", "en"),
            ("Der Präsident hat das Gesetz unterschrieben und ist nicht gekommen", "de"),
            ("El presidente firmó la ley del presupuesto y se fue para siempre", "es"),
            ("Trump wins", "en"),
            ("MIT study: Dan Brown sells", "en"),
            ("Das ging einfach nicht.", "de"),
            ("Москва", "ru"),
            ("Київ", "uk"),
        ] {
            assert_eq!(language(text).as_deref(), Some(code), "{text}");
        }
        assert_eq!(detect("12345 🙂 …"), Detection { language: None, confidence: 0.0, mixed: false });
    }

    #[test]
    fn a_short_sentence_of_a_neighbour_is_not_russian() {
        for (text, code) in [
            ("Тады мы ўбачылі старую хату каля ракі", "be"),
            ("Кожны чалавек мае права на грамадзянства", "be"),
            ("Олон файл сонгогдож болох эсэх", "mn"),
            ("Сонгуулийн хорооны дарга мэдэгдэл хийв", "mn"),
            ("Манай улсын эдийн засаг сэргэж эхэлсэн", "mn"),
            ("Бишкекте жаңы мектеп ачылды", "ky"),
            ("Өкмөт күйүүчү майдын баасын төмөндөттү", "ky"),
            ("Чек арада эки өлкөнүн аскерлери ок атышты", "ky"),
            ("Казанда яңа мәктәп ачылды", "tt"),
            ("Янгында өч кеше зыян күрде", "tt"),
            ("Хөкүмәт ягулык бәясен төшерде", "tt"),
            ("Тошкентда янги мактаб очилди, деди ҳоким", "uz"),
            ("Ҳукумат ёқилғи нархини пасайтирди", "uz"),
            ("Чегарада икки давлат ҳарбийлари ўртасида отишма бўлди", "uz"),
            ("Ҳукумат нархи сӯзишвориро паст кард", "tg"),
            ("Пожар потушили утром", "ru"),
            ("Власти закрыли рынок", "ru"),
            ("Суд арестовал директора завода", "ru"),
        ] {
            assert_eq!(language(text).as_deref(), Some(code), "{text}");
        }
    }

    #[test]
    fn names_do_not_make_a_text_mixed_and_prose_does() {
        assert!(!detect("Компания SpaceX запустила ракету Falcon Heavy с мыса Канаверал во Флориде").mixed);
        assert!(detect("Президент подписал закон. The president has signed the law on the budget.").mixed);
        assert!(
            detect(
                "Он сказал, что это был вымысел, и мы это знаем. Він сказав, що її країна вже є вільною і незалежною."
            )
            .mixed
        );
    }

    fn measure(code: &str) -> Option<(usize, usize, usize)> {
        let text = labelled::read(&format!("lingua_langid/{code}/sentences.txt"))?;
        let (mut right, mut mixed, mut all) = (0, 0, 0);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let found = detect(line);
            all += 1;
            right += usize::from(found.language.as_deref() == Some(code));
            mixed += usize::from(found.mixed);
        }
        println!("{code}: {right}/{all} right, {mixed} called mixed");
        Some((right, mixed, all))
    }

    #[test]
    fn news_sentences_get_their_language() {
        for (code, least) in [("ru", 0.98), ("uk", 0.98), ("en", 0.98)] {
            let Some((right, mixed, all)) = measure(code) else { return };
            // Too few sentences for a precise rate.
            let least = if all < 500 { least - 0.03 } else { least };
            assert!(right as f64 >= least * all as f64, "{code}");
            assert!(mixed * 100 <= all * 2, "{code}: too many called mixed");
        }
        let Some(folder) = labelled::at("lingua_langid").and_then(|path| std::fs::read_dir(path).ok()) else {
            return;
        };
        #[expect(clippy::disallowed_methods, reason = "a switch for people who measure")]
        let all = std::env::var_os("CORROBORATE_MEASURE_ALL").is_some();
        let (mut english, mut others) = ([0; 2], [0; 2]);
        for entry in folder.flatten() {
            let code = entry.file_name().to_string_lossy().into_owned();
            let Ok(text) = std::fs::read_to_string(entry.path().join("sentences.txt")) else { continue };
            if matches!(code.as_str(), "en" | "ru" | "uk") {
                continue;
            }
            let step = if all || text.lines().count() <= 100 { 2 } else { 8 };
            // Every second line trained the letter table.
            for (half, (english, others)) in english.iter_mut().zip(&mut others).enumerate() {
                let lines = text.lines().skip(half).step_by(step);
                *others += lines.clone().count();
                *english += lines.filter(|line| language(line).as_deref() == Some("en")).count();
            }
        }
        println!("other languages called English: {english:?} of {others:?}, the second half learnt from");
        assert!(english[0] * 100 <= others[0] * 2);
    }

    #[test]
    fn mixtures_are_called_mixed() {
        let Some(text) = labelled::read("lingua_langid/mixed_ru_en.jsonl") else { return };
        let rows: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let found = rows.iter().filter(|row| detect(row["text"].as_str().unwrap_or_default()).mixed).count();
        let plain =
            ["ru", "uk", "en"].iter().filter_map(|code| measure(code)).map(|(_, mixed, _)| mixed).sum::<usize>();
        let f1 = 2.0 * found as f64 / (rows.len() + found + plain) as f64;
        println!("mixed: {found} of {} and {plain} plain ones called so: F1 {f1:.3}", rows.len());
        assert!(f1 >= 0.9);
    }
}
