//! Detects the language of a text.
//!
//! Languages in Cyrillic letters have a trained model ([`cyrillic`]), because trigram tables confuse them on short
//! sentences. English is confirmed by function words. The rest is left to whatlang.
//!
//! To add a language in Cyrillic letters: see [`cyrillic`]. Others: `detect.tsv` in the lexicon has words that exclude
//! English.

mod cyrillic;
mod letters;

use whatlang::{Lang, Script};

use super::{cut, is_cyrillic, stopwords, tokens};
use crate::lexicon::Words;

/// Function words that English shares; each counts one half.
static SHARED_WORDS: Words = Words::of("detect.telling_weak");

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
const MIN_MIXED_SHARE: f64 = 0.15;
/// Confidence from which Latin text is not in the stated language in Cyrillic letters.
const MIN_CLEAR_CONFIDENCE: f64 = 0.8;
/// Languages of [`cyrillic`] that are also written in Latin letters.
const TWO_ALPHABETS: [&str; 4] = ["sr", "kk", "tt", "uz"];
/// Words read; more do not change the result.
const MAX_WORDS: usize = 150;
const MAX_CHARACTERS: usize = 2000;
/// Limit of the trigram tables, whose time grows with the length.
const MAX_TRIGRAMS: usize = 600;

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
    detect_stated(text, None)
}

/// Detects with the language that the sender states (ISO 639-1, perhaps with a region). The stated language decides if
/// close languages are about equally likely, or if no model includes it. Clear text of another language overrides it.
pub fn detect_stated(text: &str, stated: Option<&str>) -> Detection {
    let stated = stated.and_then(|code| code.split(['-', '_']).next()).map(str::to_lowercase);
    let stated = stated.filter(|code| !code.is_empty());
    let text = text.char_indices().nth(MAX_CHARACTERS).map_or(text, |(end, _)| cut(text, 0, end));
    let words: Vec<String> = tokens::spans(text)
        .into_iter()
        .map(|(start, end)| cut(text, start, end))
        .filter(|word| word.chars().any(char::is_alphabetic))
        .take(MAX_WORDS)
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
        return Detection { language: stated, confidence: 0.0, mixed: false };
    }
    let is_cyrillic = cyrillic * 2 >= all;
    let mut detection =
        if is_cyrillic { detect_cyrillic(&words, stated.as_deref()) } else { detect_other(text, &words) };
    if let Some(code) = stated.filter(|code| is_stated_kept(code, is_cyrillic, detection.confidence)) {
        detection.language = Some(code);
    }
    let minority = cyrillic.min(other) as f64 / all as f64;
    let ukrainian_and_russian = both_slavic(&words);
    detection.mixed = ukrainian_and_russian || (minority >= MIN_MIXED_SHARE && second_is_prose(&words, is_cyrillic));
    detection
}

/// Whether the stated language replaces the detected one. Of Cyrillic text: if no model includes it (Chuvash). Of other
/// text: unless the language has only Cyrillic letters and the detected one is clear.
fn is_stated_kept(code: &str, is_cyrillic: bool, confidence: f64) -> bool {
    let is_modelled = is_cyrillic_language(code);
    if is_cyrillic {
        return !is_modelled && !CODES.split_whitespace().any(|pair| pair.ends_with(&format!(":{code}")));
    }
    !is_modelled || TWO_ALPHABETS.contains(&code) || confidence < MIN_CLEAR_CONFIDENCE
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
    let marked = russian + ukrainian;
    belarusian == 0 && russian.min(ukrainian) >= 3 && russian.min(ukrainian) * 5 >= marked
}

/// Whether [`detect`] recognises the language (ISO 639-1) in Cyrillic letters.
pub fn is_cyrillic_language(code: &str) -> bool {
    cyrillic::LANGUAGES.contains(&code)
}

fn detect_cyrillic(words: &[String], stated: Option<&str>) -> Detection {
    let (code, confidence) = cyrillic::likeliest(words, stated);
    Detection { language: Some(code.to_owned()), confidence, mixed: false }
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
    let text = text.char_indices().nth(MAX_TRIGRAMS).map_or(text, |(end, _)| cut(text, 0, end));
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
    let foreign = latin.iter().any(|word| FOREIGN_WORDS.has(word));
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
static ENGLISH_WORDS: Words = Words::of("detect.telling");

/// Words of other languages that are neither English nor in common names; one of them excludes English.
static FOREIGN_WORDS: Words = Words::of("detect.telling_other");

fn english_share(words: &[&String]) -> f64 {
    let strong = words.iter().filter(|word| ENGLISH_WORDS.has(word)).count();
    let weak = words.iter().filter(|word| SHARED_WORDS.has(word)).count();
    (strong as f64 + 0.5 * weak as f64 * f64::from(u8::from(strong > 0))) / words.len().max(1) as f64
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
    use std::collections::BTreeMap;

    use super::*;
    use corroborate_labelled as labelled;

    fn language(text: &str) -> Option<String> {
        detect(text).language
    }

    #[test]
    fn language_is_found_when_a_neighbour_is_similar() {
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
            ("Опади почалися надвечор", "uk"),
            ("Поїзд запізнився на годину", "uk"),
            ("Школу закрили на карантин", "uk"),
            ("Хлопець загубив рюкзак", "uk"),
        ] {
            assert_eq!(language(text).as_deref(), Some(code), "{text}");
        }
    }

    #[test]
    fn stated_language_decides_when_two_are_likely_and_not_when_the_text_is_clear() {
        for (text, stated, code) in [
            ("Банк", "uk", "uk"),
            ("Банк", "ru-RU", "ru"),
            ("Президент підписав закон про бюджет", "ru", "uk"),
            ("Президент подписал закон о бюджете", "uk", "ru"),
            ("Президент подписал закон о бюджете", "en", "ru"),
            ("Президентра ҫӗнӗ саккун йышӑннӑ", "cv", "cv"),
            ("The president signed the budget law and left for the airport", "ru", "en"),
            ("iPhone Pro Max", "ru", "ru"),
            ("Predsednik je potpisao zakon o budžetu", "sr", "sr"),
            ("O presidente assinou a lei", "PT_BR", "pt"),
            ("12345", "uk", "uk"),
        ] {
            assert_eq!(detect_stated(text, Some(stated)).language.as_deref(), Some(code), "{text} ({stated})");
        }
    }

    /// Short texts that the training did not read: code and text.
    #[test]
    fn short_text_gets_its_language_when_it_has_two_to_six_words() {
        let (mut right, mut wrong) = (BTreeMap::new(), BTreeMap::new());
        let rows = include_str!("../../../tests/data/lingua_langid/short.tsv")
            .lines()
            .filter_map(|line| line.split_once('\t'));
        for (code, text) in rows {
            let (one, all): &mut (usize, usize) = right.entry(code).or_default();
            let found = language(text).unwrap_or_default();
            *all += 1;
            *one += usize::from(found == code);
            if found != code {
                *wrong.entry((code, found)).or_insert(0) += 1;
            }
        }
        println!("right of all: {right:?}; called another: {wrong:?}");
        for (code, (right, all)) in right {
            let least = match code {
                "bg" => 0.7,
                "mk" | "sr" => 0.8,
                _ => 0.9,
            };
            assert!(right as f64 >= least * all as f64, "{code}: {right} of {all}");
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
