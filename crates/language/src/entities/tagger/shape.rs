//! Returns the shape of a piece: alphabet and capitals, or which mark.

use crate::tokens::unstressed;

/// Marks in the network's order.
const MARKS: &str = "!#$%&()[]\\/*+,.:;<=>?@^_{|}~-‐−‒⁃–—―`\"'«»„“ʼʻ”№…";
const RUSSIAN: usize = 1;
const ENGLISH: usize = 8;
const FIRST_MARK: usize = 15;
const OTHER_MARK: usize = 63;
const NUMBER: usize = 64;
const OTHER: usize = 65;

/// Capitals in the network's order.
#[derive(Clone, Copy)]
enum Outline {
    Capital,
    Small,
    Capitals,
    AllSmall,
    Title,
    /// "Нью-Йорк".
    DashTitle,
    Mixed,
}

/// Returns the shape number of a piece.
pub(super) fn of(piece: &str) -> usize {
    let Some(first) = piece.chars().next() else { return OTHER };
    if matches!(first, 'А'..='я' | 'Ё' | 'ё' | 'І' | 'і' | 'Ї' | 'ї' | 'Є' | 'є' | 'Ґ' | 'ґ') {
        return RUSSIAN + outline(piece) as usize;
    }
    if first.is_ascii_alphabetic() {
        return ENGLISH + outline(piece) as usize;
    }
    if first.is_ascii_digit() {
        return NUMBER;
    }
    match MARKS.chars().position(|mark| mark == first) {
        Some(place) if piece.chars().nth(1).is_none() => FIRST_MARK + place,
        Some(_) => OTHER_MARK,
        None => OTHER,
    }
}

fn outline(word: &str) -> Outline {
    let mut letters = word.chars().filter(|letter| letter.is_alphabetic());
    let Some(first) = letters.next() else { return Outline::Mixed };
    let (mut capitals, mut small) = (0, 0);
    for letter in letters {
        *if letter.is_uppercase() { &mut capitals } else { &mut small } += 1;
    }
    match (first.is_uppercase(), capitals, small) {
        (true, 0, 0) => Outline::Capital,
        (false, 0, 0) => Outline::Small,
        (true, _, 0) => Outline::Capitals,
        (false, 0, _) => Outline::AllSmall,
        (true, 0, _) => Outline::Title,
        _ if word.split_once(['-', '‑']).is_some_and(|(left, right)| is_title(left) && is_title(right)) => {
            Outline::DashTitle
        }
        _ => Outline::Mixed,
    }
}

fn is_title(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase)
        && letters.clone().next().is_some()
        && letters.all(|c| !c.is_uppercase())
}

/// Returns lower case without stress, with plain apostrophes and hyphens, as in the vectors.
pub(super) fn small(word: &str) -> String {
    let plain = unstressed(word);
    let folded = plain.chars().flat_map(char::to_lowercase).map(|letter| match letter {
        '’' | 'ʼ' => '\'',
        '‑' => '-',
        other => other,
    });
    folded.collect()
}
