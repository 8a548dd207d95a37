//! Converts Cyrillic to Latin letters.
//!
//! [`to_latin`] transliterates; [`skeleton`] also drops spelling differences. [`super::names`] builds keys from them.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::is_cyrillic;

/// Returns Russian, Ukrainian and Belarusian in lower-case Latin letters without diacritics; other scripts stay.
pub fn to_latin(text: &str) -> String {
    let mut latin = String::with_capacity(text.len());
    for letter in text.nfc().flat_map(char::to_lowercase) {
        match cyrillic_letter(letter) {
            Some(letters) => latin.push_str(letters),
            None => fold(letter, &mut latin),
        }
    }
    latin
}

/// Letters of Russian, Ukrainian, Belarusian, Serbian and Macedonian.
const LETTERS: &str = "а:a б:b в:v г:g ґ:g д:d е:e э:e ё:yo є:ye ж:zh з:z и:i і:i ї:yi й:y ы:y к:k л:l м:m н:n о:o п:p р:r с:s \
    т:t у:u ў:w ф:f х:kh ц:ts ч:ch ш:sh щ:shch ъ: ь: ю:yu я:ya ј:j љ:lj њ:nj ћ:c ђ:dj џ:dz ѓ:gj ќ:kj ѕ:dz";

fn cyrillic_letter(letter: char) -> Option<&'static str> {
    static TABLE: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
        LETTERS
            .split_whitespace()
            .filter_map(|pair| pair.split_once(':'))
            .filter_map(|(from, to)| Some((from.chars().next()?, to)))
            .collect()
    });
    if is_cyrillic(letter) { TABLE.get(&letter).copied() } else { None }
}

/// Latin letters without a Unicode decomposition.
const FOLDED: &str = "ł:l ø:o đ:d ð:d ß:ss æ:ae œ:oe þ:th ı:i ə:e ’:' ʼ:' ‘:'";

/// Removes Latin marks: é → e, ß → ss.
fn fold(letter: char, into: &mut String) {
    if letter.is_ascii() {
        into.push(letter);
        return;
    }
    // "ʿAbd", "Gʻulom": apostrophes.
    if matches!(letter, '\u{02B0}'..='\u{02FF}') {
        into.push('\'');
        return;
    }
    let special = FOLDED.split(' ').filter_map(|pair| pair.split_once(':')).find(|(from, _)| from.starts_with(letter));
    if let Some((_, plain)) = special {
        into.push_str(plain);
    } else if matches!(letter, '\u{00C0}'..='\u{024F}' | '\u{1E00}'..='\u{1EFF}') {
        into.extend(letter.nfd().filter(|c| !is_combining_mark(*c)));
    } else {
        into.push(letter);
    }
}

/// Spellings and sounds: C as in church, S ship, Z measure, J John.
const SOUNDS: &str = "shch:S tsch:C tch:C sch:S zsch:C dzh:J дж:J dz:J дз:J кс:ks szcz:S sh:S sz:S cz:C ch:C zh:Z kh:h ph:f th:t ck:k \
    qu:kv ts:c tz:c тс:c ье:ie ьо:o йо:o ия:ia ія:ia ya:a ja:a yu:u ju:u yo:o jo:o ye:e je:e yi:i ji:i ij:i \
    iy:i oo:u ou:u ee:i ce:ce ci:ci cy:ci a:a b:b c:k d:d e:e f:f g:g h:h i:i j:J k:k l:l m:m n:n o:o p:p q:k \
    r:r s:s t:t u:u v:v w:v x:ks y:i z:z а:a б:b в:v г:g ґ:g д:d е:e э:e ё:o є:e ж:Z з:z и:i і:i ї:i й:i ы:i \
    к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ў:v ф:f х:h ц:c ч:C ш:S щ:S ъ: ь: ю:u я:a";

type Sound = (&'static str, &'static str);

/// By first letter, longest first.
static SPELLINGS: LazyLock<Vec<Vec<Sound>>> = LazyLock::new(|| {
    let mut table: Vec<Vec<Sound>> = vec![Vec::new(); SLOTS];
    for (from, to) in SOUNDS.split_whitespace().filter_map(|pair| pair.split_once(':')) {
        if let Some(spellings) = from.chars().next().and_then(slot).and_then(|slot| table.get_mut(slot)) {
            spellings.push((from, to));
        }
    }
    for spellings in &mut table {
        spellings.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    }
    table
});

/// ASCII, then the Cyrillic block.
const SLOTS: usize = 128 + 256;

fn slot(letter: char) -> Option<usize> {
    match letter as usize {
        code @ 0..128 => Some(code),
        code @ 0x0400..0x0500 => Some(128 + code - 0x0400),
        _ => None,
    }
}

/// Returns sounds that both scripts share, without doubled letters and silent `h`.
pub fn skeleton(word: &str) -> String {
    let mut lower = String::with_capacity(word.len());
    for letter in word.nfc().flat_map(char::to_lowercase) {
        // Й and ё are letters of their own.
        if is_cyrillic(letter) { lower.push(letter) } else { fold(letter, &mut lower) }
    }
    let mut rest = lower.as_str();
    let mut sounds = String::with_capacity(lower.len());
    let mut before: Option<char> = None;
    while let Some(first) = rest.chars().next() {
        // "Johnson" has J, "Sonja" a glide.
        let heads = first == 'j' && before.is_none_or(|c| "aeiouy".contains(c));
        let fits = |from: &str| rest.starts_with(from) && (!heads || from.len() == 1);
        let found =
            slot(first).and_then(|slot| SPELLINGS.get(slot)).and_then(|all| all.iter().find(|(from, _)| fits(from)));
        let Some((from, to)) = found else {
            if first.is_alphanumeric() {
                push_once(&mut sounds, first);
            }
            before = Some(first);
            rest = rest.strip_prefix(first).unwrap_or_default();
            continue;
        };
        let after = rest.strip_prefix(from).unwrap_or_default();
        // "Downie", "Hadow": part of the vowel.
        let to = if *from == "w" && glides(before, after.chars().next()) { "u" } else { to };
        if *from != "h" || !silent_h(before, after.chars().next()) {
            to.chars().for_each(|sound| push_once(&mut sounds, sound));
        }
        before = from.chars().next_back();
        rest = after;
    }
    sounds
}

fn push_once(sounds: &mut String, sound: char) {
    if !sounds.ends_with(sound) || sound.is_ascii_digit() {
        sounds.push(sound);
    }
}

fn glides(before: Option<char>, after: Option<char>) -> bool {
    let vowel = |c: char| "aeiouy".contains(c);
    before.is_some_and(vowel) && !after.is_some_and(vowel)
}

/// Whether `h` is silent ("Sarah"); Cyrillic omits it.
fn silent_h(before: Option<char>, after: Option<char>) -> bool {
    let vowel = |c: char| "aeiouy".contains(c);
    before.is_some() && after.is_none_or(|next| !vowel(next))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cyrillic_is_written_in_latin_letters() {
        assert_eq!(to_latin("Зеленський і Щербаков"), "zelenskiy i shcherbakov");
        assert_eq!(to_latin("Łódź, São Tomé, Straße"), "lodz, sao tome, strasse");
        assert_eq!(to_latin("東京 5"), "東京 5");
    }

    #[test]
    fn both_alphabets_meet_in_the_skeleton() {
        for (latin, cyrillic) in [
            ("Johnson", "Джонсон"),
            ("Shcherbakov", "Щербаков"),
            ("Washington", "Вашингтон"),
            ("Alexei", "Алексей"),
            ("Putin", "Путин"),
            ("Yulia", "Юлия"),
            ("Zhanna", "Жанна"),
            ("Khrushchev", "Хрущев"),
            ("Philip", "Филип"),
            ("Gʻulom", "Гулом"),
            ("ʿAbd", "Абд"),
        ] {
            assert_eq!(skeleton(latin), skeleton(cyrillic), "{latin} {cyrillic}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_without_panic(text in "\\PC{0,60}") {
            let _latin = to_latin(&text);
            let bones = skeleton(&text);
            prop_assert_eq!(&bones, &skeleton(&text));
        }
    }
}
