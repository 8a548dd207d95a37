//! What Russian and Ukrainian need: institutions and places whose noun is in small letters ("Верховный суд",
//! "Свердловская область"), given names of other alphabets, surnames by their endings.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::kind::EntityKind;
use super::{Word, adjacent};
use crate::lexicon::{self, Entry, Words};
use crate::names::name_key;
use crate::{cut, has_cyrillic, is_cyrillic, stemming, stopwords};

type Stems = LazyLock<HashSet<String>>;

fn stems(nouns: impl Iterator<Item = Entry>) -> HashSet<String> {
    nouns.map(|entry| stem(entry.form)).collect()
}

fn stem(word: &str) -> String {
    stemming::stem(word, None)
}

/// Nouns whose stem is a word of its own are left out: "рада" and "рад", "село" and "сел", "гора" and "горит".
static INSTITUTIONS: Stems = LazyLock::new(|| stems(lexicon::entries("entities.cyrillic.institutions")));

static PLACES: Stems = LazyLock::new(|| stems(lexicon::entries("entities.cyrillic.places")));

static GIVEN: Stems =
    LazyLock::new(|| super::markers::first_names().map(name_key).filter(|key| key.chars().count() >= 5).collect());

/// Whether the word is a noun that institutions are named with, in any case and with a small letter too.
pub(super) fn is_institution(word: &str) -> bool {
    has_cyrillic(word) && word.chars().count() > 2 && INSTITUTIONS.contains(&stem(word))
}

/// The same for places.
pub(super) fn is_place(word: &str) -> bool {
    has_cyrillic(word) && word.chars().count() > 2 && PLACES.contains(&stem(word))
}

/// Whether the word is a given name as Cyrillic writes it, in any case: "Хиллари", "Томаса".
pub(super) fn is_given_name(word: &str) -> bool {
    has_cyrillic(word) && word.chars().count() > 4 && GIVEN.contains(&name_key(word))
}

/// Whether the word has an adjective's ending.
pub(super) fn is_adjective(word: &str) -> bool {
    static ENDINGS: Words = Words::of("entities.cyrillic.adjective_ending");
    has_cyrillic(word) && word.chars().count() > 4 && ENDINGS.has_ending_of(word)
}

/// Whether the word ends as surnames of one word do: "Лужков", "Путину", "Радуловым".
pub(super) fn is_plain_surname(word: &str) -> bool {
    const ENDINGS: [&str; 5] = ["ов", "ев", "ёв", "ин", "ын"];
    const CASES: [&str; 7] = ["", "а", "у", "ым", "е", "ой", "ых"];
    let letters = word.chars().count();
    letters >= 5
        && CASES
            .iter()
            .filter_map(|case| word.strip_suffix(case))
            .any(|bare| bare.chars().count() >= 5 && ENDINGS.iter().any(|ending| bare.ends_with(ending)))
}

/// Roman numerals and words in capitals that name nothing: "XIX", "СМИ", "ООО".
pub(super) fn names_nothing(surface: &str) -> bool {
    static WORDS: Words = Words::of("entities.cyrillic.naming_nothing");
    WORDS.has(surface) || (surface.len() > 1 && surface.chars().all(|c| matches!(c, 'I' | 'V' | 'X' | 'L' | 'C')))
}

/// Whether most letters are Cyrillic: one word in brackets does not make an English sentence Russian.
pub(super) fn is_mostly(sentence: &str) -> bool {
    let letters = sentence.chars().filter(|c| c.is_alphabetic());
    let (cyrillic, all) = letters.fold((0, 0), |(cyrillic, all), c| (cyrillic + usize::from(is_cyrillic(c)), all + 1));
    cyrillic * 2 > all
}

/// Prepositions of places. "У" is one in Ukrainian only: in Russian it says with whom.
pub(super) fn leads_to_a_place(word: &str, sentence: &str) -> bool {
    matches!(word, "в" | "во" | "из" | "із")
        || (word == "у" && sentence.contains(['і', 'ї', 'є', 'ґ', 'І', 'Ї', 'Є', 'Ґ']))
}

/// How many words behind the run of `taken` words belong to its name, and whether it is a place: an adjective with a capital
/// waits for its noun ("Брукхейвенской национальной лаборатории").
fn noun_behind(
    words: &[Word<'_>],
    index: usize,
    taken: usize,
    together: impl Fn(usize, usize) -> bool,
) -> Option<(usize, bool)> {
    let last = words.get(index + taken - 1)?;
    if !is_adjective(&last.text) || is_plain_surname(&last.text) {
        return None;
    }
    for more in 1..=2 {
        let at = index + taken - 1 + more;
        let word = words.get(at).filter(|word| !word.capital && together(at - 1, at))?;
        if is_institution(&word.text) {
            return Some((more, false));
        }
        if is_place(&word.text) {
            return Some((more, true));
        }
        if !is_adjective(&word.text) {
            return None;
        }
    }
    None
}

/// How many words in small letters follow an institution's noun and say which it is: "Министерство внутренних дел".
fn complement(words: &[Word<'_>], index: usize, taken: usize, together: impl Fn(usize, usize) -> bool) -> usize {
    // Endings that are tried one after the other: grammar of this rule alone.
    const OF_MANY: [&str; 7] = ["ых", "их", "ого", "его", "ой", "ей", "ої"];
    const NOUNS: [&str; 8] = ["ов", "ей", "ий", "ии", "ия", "ы", "ства", "дел"];
    const VERBS: [&str; 12] = ["л", "ла", "ло", "ли", "ть", "ся", "ет", "ит", "ут", "ют", "ят", "ив"];
    static PRONOUNS: Words = Words::of("entities.cyrillic.pronoun");
    let small = |at: usize| {
        let word = words.get(at).filter(|word| !word.capital && together(at - 1, at))?;
        let plain =
            word.text.chars().count() > 2 && !PRONOUNS.has(&word.text) && !stopwords::is_stop_word(&word.text, None);
        plain.then_some(word.text.as_str())
    };
    let ends = |word: &str, endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    let next = index + taken;
    let Some(first) = small(next) else { return 0 };
    let noun = small(next + 1).filter(|word| *word == "дел" || !ends(word, &VERBS));
    if ends(first, &OF_MANY) && noun.is_some() {
        return 2;
    }
    usize::from(ends(first, &NOUNS))
}

/// A name in quotation marks behind the noun that says what it is: 'движение «За права человека»'. Gives the words it takes.
pub(super) fn quoted_name<'a>(words: &[Word<'_>], index: usize, sentence: &'a str) -> Option<(usize, &'a str)> {
    let (noun, first) = (words.get(index.checked_sub(1)?)?, words.get(index)?);
    let opened = cut(sentence, noun.end, first.start).trim_start().starts_with(['«', '"', '“', '„']);
    if !opened || !first.capital || !is_institution(&noun.text) {
        return None;
    }
    let rest = cut(sentence, first.start, sentence.len());
    let name = rest.split(['»', '"', '”', '“']).next().filter(|name| name.len() < rest.len())?;
    let taken = words.iter().skip(index).take_while(|word| word.end <= first.start + name.len()).count();
    (1..=6).contains(&taken).then_some((taken, name))
}

/// The words in small letters that end a name which its capitals only begin: "Верховный суд", "Палата представителей".
pub(super) fn small_noun(
    words: &[Word<'_>],
    index: usize,
    taken: usize,
    sentence: &str,
) -> Option<(usize, EntityKind)> {
    let together = |first: usize, second: usize| adjacent(words, first, second, sentence);
    if let Some((more, place)) = noun_behind(words, index, taken, together) {
        return Some((more, if place { EntityKind::Loc } else { EntityKind::Org }));
    }
    let last = words.get(index + taken - 1)?;
    let noun = taken <= 2 && is_institution(&last.text) && (taken == 1 || is_adjective(&words.get(index)?.text));
    let more = if noun { complement(words, index, taken, together) } else { 0 };
    (more > 0).then_some((more, EntityKind::Org))
}
