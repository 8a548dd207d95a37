//! Compares names across alphabets: "Зеленского", "Zelensky" and "Зеленський" are one.
//!
//! [`name_key`] is the key for storage. [`same_name`] also accepts small differences, up to a threshold measured on
//! real names.

mod likeness;

use std::sync::LazyLock;

use self::likeness::{likeness, may_meet};
use super::lexicon::Words;
use super::transliterate::skeleton;
use super::{gazetteer, has_cyrillic, tokens};

/// Endings with a consonant; [`stem`] removes vowels. The order matters.
const CASE_ENDINGS: &str = "ского:ск цкого:цк ського:ськ цького:цьк скому:ск цкому:цк ському:ськ цькому:цьк \
    ским:ск цким:цк ським:ськ цьким:цьк ском:ск цком:цк овым:ов евым:ев \
    ёвым:ёв иным:ин ыным:ын овим:ов євим:єв евим:ев іним:ін їним:їн";

/// Returns the skeleton without case ending and final vowels.
fn stem(word: &str) -> String {
    let full = skeleton(word);
    let bare = if has_cyrillic(word) { skeleton(&without_case(word)) } else { full.clone() };
    let trimmed = bare.trim_end_matches(is_vowel);
    // Too short: "Мэй", "Xi".
    if trimmed.chars().count() >= 3 { trimmed.to_owned() } else { full }
}

fn without_case(word: &str) -> String {
    static ENDINGS: LazyLock<Vec<(&'static str, &'static str)>> =
        LazyLock::new(|| CASE_ENDINGS.split_whitespace().filter_map(|pair| pair.split_once(':')).collect());
    for (ending, keep) in ENDINGS.iter() {
        if let Some(head) = word.strip_suffix(ending) {
            return format!("{head}{keep}");
        }
    }
    let letters = word.chars().count();
    for ending in ["ого", "ому", "ові", "еві", "єві", "ом", "ем", "єм"] {
        let Some(head) = word.strip_suffix(ending) else { continue };
        let soft = head.ends_with(['л', 'р', 'н', 'е', 'и', 'а', 'ж', 'ш', 'ч', 'ц', 'і', 'о']);
        if letters >= ending.chars().count() + 3 && (!matches!(ending, "ем" | "єм") || soft) {
            return head.to_owned();
        }
    }
    word.to_owned()
}

fn is_vowel(sound: char) -> bool {
    matches!(sound, 'a' | 'e' | 'i' | 'o' | 'u')
}

static TITLES: Words = Words::of("names.titles");

pub(crate) fn is_title(word: &str) -> bool {
    TITLES.has(word)
}

/// Returns the gazetteer's key (Kyiv, Київ → `kyiv`) or the stemmed skeletons with spaces. Empty without letters or
/// digits.
pub fn name_key(text: &str) -> String {
    let words = gazetteer::name_words(text);
    if let Some(known) = gazetteer::lookup(&words) {
        return known.key.to_owned();
    }
    let mut words = words.as_slice();
    while let [first, rest @ ..] = words
        && !rest.is_empty()
        && (is_title(first) || first == "the")
    {
        words = rest;
    }
    if let Some(known) = gazetteer::lookup(words) {
        return known.key.to_owned();
    }
    words
        .iter()
        .map(|word| stem(&tokens::normalise_word(word)))
        .filter(|stem| !stem.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether two names are the same in any alphabet, case or transliteration.
pub fn same_name(a: &str, b: &str) -> bool {
    same_key(&name_key(a), &name_key(b))
}

/// Compares like [`same_name`], with existing keys.
pub fn same_key(a: &str, b: &str) -> bool {
    if a == b {
        return !a.is_empty();
    }
    match (gazetteer::is_key(a), gazetteer::is_key(b)) {
        // Iran and Iraq are separate keys.
        (true, true) => false,
        (true, false) => slip_of_the_pen(a, b),
        (false, true) => slip_of_the_pen(b, a),
        (false, false) => same_words(a, b),
    }
}

fn slip_of_the_pen(known: &str, other: &str) -> bool {
    let known: Vec<String> = known.split(' ').map(stem).collect();
    let other: Vec<&str> = other.split(' ').collect();
    known.len() == other.len()
        && known.iter().zip(&other).all(|(a, b)| a.len() >= 5 && likeness(a, b) >= likeness::MIN_NEARLY_EQUAL)
}

/// Compares words. A surname equals its full name; an initial matches names that begin with it.
fn same_words(a: &str, b: &str) -> bool {
    let a: Vec<&str> = a.split(' ').filter(|word| !word.is_empty()).collect();
    let b: Vec<&str> = b.split(' ').filter(|word| !word.is_empty()).collect();
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let (Some(short_last), Some(long_last)) = (short.last(), long.last()) else { return false };
    if short.len() == long.len() {
        // An initial alone is not a name.
        if short.len() == 1 {
            return alike(short_last, long_last);
        }
        let in_order = short.iter().zip(&long).all(|(x, y)| same_word(x, y));
        return in_order
            || (short.len() == 2
                && same_word(short_last, long.first().unwrap_or(long_last))
                && same_word(short.first().unwrap_or(short_last), long_last));
    }
    if short.len() == 1 {
        return long.len() <= 3 && short_last.chars().count() >= 4 && same_word(short_last, long_last);
    }
    // "Barack Obama" and "Barack Hussein Obama": in order, same last word.
    let mut rest = long.iter();
    same_word(short_last, long_last) && short.iter().all(|word| rest.any(|other| same_word(word, other)))
}

fn same_word(a: &str, b: &str) -> bool {
    let initial = |short: &str, long: &str| short.chars().count() == 1 && long.chars().next() == short.chars().next();
    initial(a, b) || initial(b, a) || alike(a, b)
}

fn alike(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    // "Nord Stream 1" is not "Nord Stream 2".
    let digits = |word: &str| word.chars().any(|c| c.is_ascii_digit());
    !digits(a) && !digits(b) && may_meet(a, b) && likeness(a, b) >= likeness::MIN_SAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use corroborate_labelled as labelled;

    #[test]
    fn aliases_and_cases_share_a_key() {
        for (a, b) in [
            ("Kyiv", "Києва"),
            ("Kiev", "Киеве"),
            ("US", "США"),
            ("United States", "Соединёнными Штатами"),
            ("UN", "ООН"),
            ("EU", "ЄС"),
            ("WHO", "ВООЗ"),
            ("World Health Organization", "ВОЗ"),
            ("the Netherlands", "Голландии"),
            ("President Putin", "Путиным"),
            ("Zelensky", "Зеленского"),
            ("Zelenskyy", "Зеленський"),
        ] {
            assert_eq!(name_key(a), name_key(b), "{a} {b}");
        }
        assert_eq!(name_key(" — "), "");
    }

    #[test]
    fn names_meet_across_alphabets_and_cases() {
        for (a, b) in [
            ("Zelensky", "Зеленського"),
            ("Volodymyr Zelensky", "Владимира Зеленского"),
            ("Trump", "Трампом"),
            ("Boris Johnson", "Бориса Джонсона"),
            ("Макрон", "Emmanuel Macron"),
            ("Ангела Меркель", "Angela Merkel"),
            ("V. Putin", "Владимир Путин"),
            ("Орбан Виктор", "Viktor Orbán"),
            ("Lukashenko", "Лукашенко"),
            ("Khodorkovsky", "Ходорковским"),
            ("Naftogaz", "Нафтогаза"),
            ("Gerhard Schröder", "Шредера"),
        ] {
            assert!(same_name(a, b), "{a} {b}: {} {}", name_key(a), name_key(b));
        }
    }

    #[test]
    fn strangers_stay_strangers() {
        for (a, b) in [
            ("Iran", "Iraq"),
            ("Iran", "Ираком"),
            ("Slovakia", "Словения"),
            ("Austria", "Австралией"),
            ("Niger", "Nigeria"),
            ("North Korea", "South Korea"),
            ("Nord Stream 1", "Nord Stream 2"),
            ("Biden", "Байкал"),
            ("Putin", "Rasputin"),
            ("Bank of England", "England"),
            ("", ""),
            ("Guinea", "Equatorial Guinea"),
            ("Carena", "К."),
            ("Moscow", "Киев"),
        ] {
            assert!(!same_name(a, b), "{a} {b}");
        }
    }

    fn wikidata(file: &str) -> Option<Vec<(String, String)>> {
        let text = labelled::read(&format!("wikidata_names_en_ru/{file}"))?;
        let pair = |line: &str| {
            let mut fields = line.split('\t');
            Some((fields.next()?.to_owned(), fields.next()?.replace(' ', "")))
        };
        Some(text.lines().filter_map(pair).collect())
    }

    #[test]
    fn real_pairs_meet_and_strangers_do_not() {
        let Some(pairs) = wikidata("wd_russian_16") else { return };
        let met = pairs.iter().filter(|(en, ru)| same_name(en, ru)).count() as f64 / pairs.len() as f64;
        // Pairs with one spelling are no strangers.
        let drawn = (1..=15).flat_map(|turn| (0..pairs.len()).map(move |i| (i, i + turn * 877)));
        let strangers: Vec<_> = drawn
            .map(|(i, j)| (&pairs[i], &pairs[j % pairs.len()]))
            .filter(|(one, other)| one.0 != other.0 && one.1 != other.1)
            .collect();
        let wrong: Vec<_> = strangers.iter().filter(|(one, other)| same_name(&one.0, &other.1)).collect();
        for (one, other) in &wrong {
            println!("one name? {} {}: {} {}", one.0, other.1, name_key(&one.0), name_key(&other.1));
        }
        let rate = wrong.len() as f64 / strangers.len() as f64;
        let exact = pairs.iter().filter(|(en, ru)| name_key(en) == name_key(ru)).count() as f64 / pairs.len() as f64;
        println!(
            "{} pairs: {met:.5} same, {exact:.4} by key alone; of {} random pairs same {rate:.6}",
            pairs.len(),
            strangers.len()
        );
        // In the sample one pair changes the rate by a tenth.
        let (least, most) = if pairs.len() > 10_000 { (0.95, 0.0005) } else { (0.93, 0.002) };
        assert!(met >= least && rate <= most);
    }

    #[test]
    fn countries_meet_in_both_languages() {
        let Some(text) = labelled::read("countries_ru_en/countries_ru_en.jsonl") else { return };
        let rows: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let name = |row: &serde_json::Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let names: Vec<(String, String)> = rows.iter().map(|row| (name(row, "en"), name(row, "ru"))).collect();
        let met = names.iter().filter(|(en, ru)| same_name(en, ru)).count();
        let mut wrong = Vec::new();
        for (i, (en, _)) in names.iter().enumerate() {
            for (j, (other, ru)) in names.iter().enumerate() {
                if i != j && same_name(en, ru) {
                    wrong.push(format!("{en} = {other} ({ru})"));
                }
            }
        }
        println!(
            "countries: {met}/{} met, {} wrong pairs of {}: {wrong:?}",
            names.len(),
            wrong.len(),
            names.len() * names.len()
        );
        assert!(met * 100 >= names.len() * 88 && wrong.len() <= 25);
    }
}
