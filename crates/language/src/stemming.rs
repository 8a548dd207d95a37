//! Stems words, so that "захват" matches "захватили".
//!
//! 1. [`super::lemmas`] gives Russian and Ukrainian dictionary forms.
//! 2. Snowball or the Ukrainian suffix stripper stems them; other languages keep the word.
//!
//! A short stem would match unrelated words, so such a word keeps its dictionary form.

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use super::lemmas;

/// Cached stems per thread and language, about 2 MB. A stem costs ten look-ups.
const MAX_CACHED: usize = 20_000;

thread_local! {
    static CACHE: RefCell<HashMap<String, HashMap<String, String>>> = RefCell::new(HashMap::new());
}

/// Returns the stem of a normalised word (see [`super::tokens`]). The alphabet comes before the language: an English
/// name in Russian text is stemmed as English.
pub fn stem(word: &str, language: Option<&str>) -> String {
    let code = language.unwrap_or_default();
    CACHE.with_borrow_mut(|kept| {
        if !kept.contains_key(code) {
            // Limits memory if callers pass arbitrary codes.
            if kept.len() > 100 {
                kept.clear();
            }
            kept.insert(code.to_owned(), HashMap::new());
        }
        let Some(words) = kept.get_mut(code) else { return computed(word, language) };
        if let Some(stem) = words.get(word) {
            return stem.clone();
        }
        let stem = computed(word, language);
        if words.len() >= MAX_CACHED {
            words.clear();
        }
        words.insert(word.to_owned(), stem.clone());
        stem
    })
}

/// Minimum letters of a shared stem; shorter ones match more unrelated words than related ones (`docs/lemmas.md`).
const MIN_SHARED_STEM: usize = 6;

/// Words whose long stems still match others.
const EXCEPTIONS: [&str; 3] = ["капитал", "премьера", "прем'єра"];

fn computed(word: &str, language: Option<&str>) -> String {
    if super::has_cyrillic(word) {
        return cyrillic_stem(word, is_ukrainian(word, language));
    }
    let word = word.strip_suffix("'s").unwrap_or(word);
    let algorithm = match language {
        None | Some("en" | "ru" | "uk" | "be" | "bg" | "mk" | "sr" | "kk") => Algorithm::English,
        Some("de") => Algorithm::German,
        Some("fr") => Algorithm::French,
        Some("es") => Algorithm::Spanish,
        Some("pt") => Algorithm::Portuguese,
        Some("it") => Algorithm::Italian,
        Some("nl") => Algorithm::Dutch,
        Some("sv") => Algorithm::Swedish,
        Some("da") => Algorithm::Danish,
        Some("nb" | "no" | "nn") => Algorithm::Norwegian,
        Some("fi") => Algorithm::Finnish,
        Some("hu") => Algorithm::Hungarian,
        Some("ro") => Algorithm::Romanian,
        Some("tr") => Algorithm::Turkish,
        Some("el") => Algorithm::Greek,
        Some("ar") => Algorithm::Arabic,
        Some(_) => return word.to_owned(),
    };
    Stemmer::create(algorithm).stem(word).into_owned()
}

fn cyrillic_stem(word: &str, ukrainian: bool) -> String {
    let Some(lemma) = lemmas::lemma(word, ukrainian) else { return without_ending(word, ukrainian) };
    let stem = without_ending(&lemma, ukrainian);
    if stem.chars().count() < MIN_SHARED_STEM || EXCEPTIONS.contains(&lemma.as_str()) { lemma } else { stem }
}

/// Stems other Cyrillic languages as Russian, which is better than nothing.
fn without_ending(word: &str, ukrainian: bool) -> String {
    if ukrainian { ukrainian_stem(word) } else { Stemmer::create(Algorithm::Russian).stem(word).into_owned() }
}

/// Returns the weight of a word: letters without ending. A dictionary form as stem may be longer but means no more.
pub fn letters_without_ending(word: &str, stem: &str, language: Option<&str>) -> usize {
    if super::has_cyrillic(word) {
        return without_ending(word, is_ukrainian(word, language)).chars().count();
    }
    stem.chars().count()
}

fn is_ukrainian(word: &str, language: Option<&str>) -> bool {
    language == Some("uk") || word.chars().any(|letter| matches!(letter, 'і' | 'ї' | 'є' | 'ґ' | '\''))
}

/// Longest first within each group; the order matters.
const UKRAINIAN_ENDINGS: &[&str] = &[
    "ування",
    "уванням",
    "юватися",
    "уватися",
    "увався",
    "увалася",
    "увалися",
    "ується",
    "юється",
    "уються",
    "юються",
    "ювати",
    "увати",
    "ював",
    "ював",
    "ювала",
    "ували",
    "ювали",
    "увало",
    "увала",
    "ував",
    "уємо",
    "уєте",
    "ують",
    "юють",
    "ує",
    "ює",
    "ення",
    "енням",
    "еннями",
    "ань",
    "ень",
    "ання",
    "анням",
    "аннями",
    "ість",
    "ості",
    "істю",
    "остей",
    "остям",
    "остями",
    "ійський",
    "ається",
    "яється",
    "аються",
    "яються",
    "илася",
    "илися",
    "илось",
    "ився",
    "алася",
    "алися",
    "алось",
    "ався",
    "лася",
    "лися",
    "лось",
    "вся",
    "тися",
    "тись",
    "ться",
    "ими",
    "іми",
    "ого",
    "ому",
    "ій",
    "їй",
    "єю",
    "ею",
    "ою",
    "ої",
    "ій",
    "их",
    "іх",
    "им",
    "ім",
    "ами",
    "ями",
    "ах",
    "ях",
    "ам",
    "ям",
    "ові",
    "еві",
    "єві",
    "ів",
    "їв",
    "ей",
    "ем",
    "єм",
    "ом",
    "ати",
    "яти",
    "ити",
    "іти",
    "ала",
    "али",
    "ало",
    "ила",
    "или",
    "ило",
    "іла",
    "іли",
    "іло",
    "ала",
    "яла",
    "яли",
    "ав",
    "яв",
    "ив",
    "ів",
    "ає",
    "яє",
    "ють",
    "уть",
    "ать",
    "ять",
    "ить",
    "їть",
    "емо",
    "имо",
    "ете",
    "ите",
    "еш",
    "иш",
    "ий",
    "ії",
    "ію",
    "ія",
    "іє",
    "ві",
    "а",
    "я",
    "у",
    "ю",
    "е",
    "є",
    "и",
    "і",
    "ї",
    "о",
    "ь",
    "й",
];

/// Minimum letters; shorter stems match unrelated words.
const MIN_STEM: usize = 3;

fn ukrainian_stem(word: &str) -> String {
    let letters = word.chars().count();
    let ending = UKRAINIAN_ENDINGS
        .iter()
        .filter(|ending| word.ends_with(**ending) && letters >= ending.chars().count() + MIN_STEM)
        .max_by_key(|ending| ending.chars().count());
    let stem = ending.and_then(|ending| word.strip_suffix(ending)).unwrap_or(word);
    // "країн-а, країн", "звіт, звіт-у": no final soft sign or double consonant.
    stem.trim_end_matches('ь').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_word_share_a_stem() {
        for (forms, language) in [
            (&["vaccine", "vaccines"][..], "en"),
            (&["выборы", "выборах", "выборам"], "ru"),
            (&["вакцина", "вакцини", "вакцину", "вакциною", "вакцинами"], "uk"),
            (&["президент", "президента", "президентом", "президентів"], "uk"),
            // Bridges and cities would have one stem.
            (&["міст", "мосту", "мостом", "мости", "мостів"], "uk"),
            (&["місто", "міста", "містом", "містах"], "uk"),
            (&["визит", "визита", "визитов"], "ru"),
            (&["город", "города", "городе"], "ru"),
            (&["ракета", "ракетой", "ракет"], "ru"),
            (&["человек", "люди", "людей"], "ru"),
            (&["захватить", "захватил", "захвачен", "захваченный", "захват"], "ru"),
            (&["захопити", "захопив", "захопили", "захоплено", "захоплений"], "uk"),
            (&["ракета", "ракетою", "ракет"], "uk"),
            (&["генерал", "генерала", "генералы"], "ru"),
            (&["судья", "судьи", "судьей"], "ru"),
            (&["український", "українського", "українська", "українські"], "uk"),
        ] {
            let first = stem(forms[0], Some(language));
            for form in forms {
                assert_eq!(stem(form, Some(language)), first, "{form}");
            }
        }
    }

    #[test]
    fn frequent_nouns_of_one_beginning_have_stems_of_their_own() {
        let uk = [
            ("міст", "місто"),
            ("міст", "містити"),
            ("вибори", "вибір"),
            ("водій", "вода"),
            ("подія", "под"),
            ("метро", "метр"),
        ];
        let ru = [
            ("суд", "судья"),
            ("миссия", "мисс"),
            ("визит", "виза"),
            ("выборы", "выбор"),
            ("капитал", "капитан"),
            ("залив", "зал"),
        ];
        for (pairs, language) in [(uk, "uk"), (ru, "ru")] {
            for (one, other) in pairs {
                assert_ne!(stem(one, Some(language)), stem(other, Some(language)), "{one} and {other}");
            }
        }
    }

    #[test]
    fn the_alphabet_decides_before_the_language() {
        assert_eq!(stem("vaccines", Some("ru")), stem("vaccine", Some("en")));
        assert_eq!(stem("країни", Some("ru")), stem("країна", Some("uk")));
        assert_eq!(stem("слово", Some("xx")), stem("слова", Some("ru")));
        assert_eq!(stem("шмурдяками", Some("ru")), "шмурдяк");
        assert_eq!(stem("ọrọ", Some("yo")), "ọrọ");
    }
}
