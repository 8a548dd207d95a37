//! Stems: Snowball where it knows the language, a light suffix stripper for Ukrainian, the word itself otherwise. Frequent nouns
//! that would meet another's stem ("міст" and "місто") have one of their own, in `stemming/apart.tsv`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// Stems kept per thread and language; news repeats its words, and a stem costs ten times a look-up. About 2 MB when full.
const MOST_KEPT: usize = 20_000;

thread_local! {
    static KEPT: RefCell<HashMap<String, HashMap<String, String>>> = RefCell::new(HashMap::new());
}

/// The stem of a normalised word (see [`super::tokens`]). The alphabet decides before the language does, so that an English
/// name inside a Russian sentence is stemmed as English.
pub fn stem(word: &str, language: Option<&str>) -> String {
    let code = language.unwrap_or_default();
    KEPT.with_borrow_mut(|kept| {
        if !kept.contains_key(code) {
            // Languages are few; anything else is a caller's nonsense that must not grow the memory.
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
        if words.len() >= MOST_KEPT {
            words.clear();
        }
        words.insert(word.to_owned(), stem.clone());
        stem
    })
}

/// The stems of words that would share another's: Ukrainian ones, then Russian ones.
static APART: LazyLock<[HashMap<&'static str, &'static str>; 2]> = LazyLock::new(|| {
    let of = |wanted: &str| {
        let rows = include_str!("stemming/apart.tsv").lines().filter(|line| !line.starts_with('#'));
        let mut stems = HashMap::new();
        for row in rows {
            let mut fields = row.split('\t');
            if let (Some(language), Some(stem), Some(forms)) = (fields.next(), fields.next(), fields.next())
                && language == wanted
            {
                stems.extend(forms.split(' ').map(|form| (form, stem)));
            }
        }
        stems
    };
    [of("uk"), of("ru")]
});

fn computed(word: &str, language: Option<&str>) -> String {
    if super::has_cyrillic(word) {
        let ukrainian =
            language == Some("uk") || word.chars().any(|letter| matches!(letter, 'і' | 'ї' | 'є' | 'ґ' | '\''));
        let [of_ukrainian, of_russian] = &*APART;
        if let Some(stem) = if ukrainian { of_ukrainian } else { of_russian }.get(word) {
            return (*stem).to_owned();
        }
        // Belarusian, Bulgarian and the others have no stemmer here; Russian endings are nearer than none.
        return if ukrainian {
            ukrainian_stem(word)
        } else {
            Stemmer::create(Algorithm::Russian).stem(word).into_owned()
        };
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

/// Ukrainian endings, longest first within each group; a stem keeps at least three letters.
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

/// Letters a stem must keep: shorter ones would make strangers meet.
const SHORTEST_STEM: usize = 3;

fn ukrainian_stem(word: &str) -> String {
    let letters = word.chars().count();
    let ending = UKRAINIAN_ENDINGS
        .iter()
        .filter(|ending| word.ends_with(**ending) && letters >= ending.chars().count() + SHORTEST_STEM)
        .max_by_key(|ending| ending.chars().count());
    let stem = ending.and_then(|ending| word.strip_suffix(ending)).unwrap_or(word);
    // "країн-а, країн-и, країн" and "звіт, звіт-у": a soft sign or a doubled consonant left behind is no part of the stem.
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
            // Bridges and cities, whose stems would be one.
            (&["мосту", "мостом", "мости"], "uk"),
            (&["місто", "міста", "містом", "містах"], "uk"),
            (&["визит", "визита", "визитов"], "ru"),
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
            ("міст", "мостів"),
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
        let rows = include_str!("stemming/apart.tsv").lines().filter(|line| !line.starts_with('#'));
        for row in rows {
            assert!(
                matches!(row.split('\t').collect::<Vec<_>>()[..], ["uk" | "ru", _, forms] if !forms.is_empty()),
                "{row}"
            );
        }
    }

    #[test]
    fn the_alphabet_decides_before_the_language() {
        assert_eq!(stem("vaccines", Some("ru")), stem("vaccine", Some("en")));
        assert_eq!(stem("країни", Some("ru")), stem("країна", Some("uk")));
        assert_eq!(stem("слово", Some("xx")), "слов");
        assert_eq!(stem("ọrọ", Some("yo")), "ọrọ");
    }
}
