//! What a text is written in.
//!
//! Cyrillic languages are told apart by their letters, how often those stand, and function words (trigram tables confuse them on short news
//! sentences), English is confirmed by its function words, everything else is whatlang's call.

mod alphabets;
mod letters;

use std::collections::HashMap;
use std::sync::LazyLock;

use whatlang::{Lang, Script};

use super::{cut, is_cyrillic, stopwords, tokens};
use crate::lexicon::{self, Entry, Words};

/// English function words that other languages have too: half a mark each, and none alone.
static WEAK: Words = Words::of("detect.telling_weak");

/// What [`detect`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// ISO 639-1 code of the main language; `None` without letters, or where nothing speaks for any language.
    pub language: Option<String>,
    /// 0–1.
    pub confidence: f64,
    /// Two languages each carry a real share of the text.
    pub mixed: bool,
}

/// Share of the letters the second alphabet needs before a text is mixed: names and brands stay below it.
const MIXED_SHARE: f64 = 0.15;
/// Words beyond this many tell nothing new.
const MOST_WORDS: usize = 150;
/// And neither do characters.
const MOST_CHARACTERS: usize = 2000;
/// Characters handed to the trigram tables, whose time grows with them.
const MOST_TRIGRAMS: usize = 600;

/// The English name of a language by its ISO 639-1 code, for whoever is told in English to write in it; of others "the language
/// of the text".
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

/// Detects the main language, and whether there is a second one.
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

/// Whether the words of the smaller alphabet read as text rather than as names: at least three of them, some of them
/// function words or in small letters in a row.
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
    // Cyrillic inside a Latin text is hardly ever a mere name; Latin inside a Cyrillic one mostly is.
    second.len() >= 3 && (stops >= 1 || !cyrillic_leads)
}

/// Ukrainian and Russian side by side: each shows letters the other does not have, in at least three words and a fifth of
/// all telling words.
fn both_slavic(words: &[String]) -> bool {
    let count = |letters: &str| words.iter().filter(|word| word.chars().any(|letter| letters.contains(letter))).count();
    let (russian, ukrainian) = (count("ыэъ"), count("іїєґ"));
    let belarusian = count("ў");
    let telling = russian + ukrainian;
    belarusian == 0 && russian.min(ukrainian) >= 3 && russian.min(ukrainian) * 5 >= telling
}

/// A Cyrillic language: its telling letters, the letters it does not have, frequent words (lower case, `ё` as `е`) and endings.
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

/// Whether a language, by its ISO 639-1 code, is one that [`detect`] tells by its Cyrillic letters.
pub fn is_cyrillic_language(code: &str) -> bool {
    PROFILES.iter().any(|profile| profile.code == code)
}

/// What letters, words and endings say of the profiles, one bit each: a word is looked up once, not once a profile.
struct Signs {
    words: HashMap<&'static str, u16>,
    endings: HashMap<&'static str, u16>,
    /// By code point from U+0400.
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
    // Stable: on a tie the order of the profiles decides, and that begins with Russian.
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (best, code) = scores.first().copied().unwrap_or((0.0, "ru"));
    let second = scores.get(1).map_or(0.0, |pair| pair.0);
    // Evidence of half a mark a word or more leaves no doubt; a single word without telling letters leaves much.
    let confidence = (0.5 + (best - second) / words.len().max(4) as f64).clamp(0.0, 1.0);
    Detection { language: Some(code.to_owned()), confidence, mixed: false }
}

/// Most Cyrillic items are Russian or Ukrainian; a language of telling letters that shows none of them is unlikely.
fn prior(profile: &Profile, words: &[String]) -> f64 {
    match profile.code {
        "ru" => 0.7,
        "uk" => 0.5,
        "bg" => 0.0,
        _ if words.iter().any(|word| word.chars().any(|letter| profile.own.contains(letter))) => 0.0,
        _ => -0.5,
    }
}

/// What one word says for each language: one mark when it is frequent there, less for its letters and endings, minus one and
/// a half for a letter the language does not have.
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

/// Bulgarian writes its hard sign between consonants and its soft sign only before "о"; Russian writes the hard sign only
/// before a soft vowel.
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
    // Function words decide: an English sentence of any length has them, no other language has that many of them, and
    // counting them is a hundred times cheaper than trigrams of every language.
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
        // A short line in plain Latin letters ("Trump wins", "NATO expands"): English is the best guess, and no more.
        return Detection { language: Some("en".to_owned()), confidence: 0.4, mixed: false };
    }
    let doubtful = (latin.len() >= 7 && info.confidence() < 0.2) || (few && !plausible);
    let lang = if info.lang() == Lang::Eng && english < 0.1 && doubtful {
        // An English verdict without English function words is some language the tables do not know.
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

/// Function words of English that no other Latin-script language uses often.
static TELLING: Words = Words::of("detect.telling");

/// Frequent words of other languages in plain Latin letters that are neither English nor part of names one meets in English:
/// a short line with one of them is not English, whatever else it is.
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

/// ISO 639-1 where there is one, else ISO 639-3.
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
            // Of a hundred sentences one more or less says nothing.
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
            // Every second line taught the table of letters.
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
