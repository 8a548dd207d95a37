//! Scores how likely two skeletons are spellings of one name.
//!
//! `likeness.tsv` has a row per Latin sound and a column per Cyrillic one. A value is ten times the log of how much
//! more often they correspond than by chance, adjusted to separate pairs from similar strangers. `_` is no sound, `$`
//! no final sound.
//!
//! The test `the_table_is_what_the_names_teach` trains it again from most Wikidata names (`wd_russian_64`) and prints
//! it with `CORROBORATE_MEASURE_ALL`.

use std::sync::LazyLock;

/// Minimum per sound of the longer skeleton.
///
/// Chosen on held-out names: 95.3 % of pairs and 4.4 of 10,000 strangers reach it. The test
/// `real_pairs_meet_and_strangers_do_not` checks it.
pub(super) const MIN_SAME: f64 = 9.6;

/// The minimum if only one name is in the gazetteer: only a misspelling is allowed.
pub(super) const MIN_NEARLY_EQUAL: f64 = 18.0;

/// The minimum of two first sounds.
const MIN_FIRST_SOUNDS: i32 = -30;

/// Longer skeletons are no names, and the cost is quadratic.
const MAX_SOUNDS: usize = 40;

/// Sounds in table order; then no sound, and no final sound.
const SOUNDS: &str = "CJSZabcdefghiklmnoprstuvz";
const NONE: usize = 25;
const END: usize = 26;
const WIDTH: usize = 27;

/// Scores of sounds outside the table.
const EQUAL_SCORE: i32 = 30;
const OTHER_SCORE: i32 = -40;

static TABLE: LazyLock<Vec<i32>> = LazyLock::new(|| {
    let numbers = include_str!("likeness.tsv").lines().flat_map(|line| line.split('\t').skip(1));
    numbers.filter_map(|number| number.parse().ok()).collect()
});

fn place(sound: char) -> Option<usize> {
    SOUNDS.find(sound)
}

fn cell(latin: usize, cyrillic: usize) -> i32 {
    TABLE.get(latin * WIDTH + cyrillic).copied().unwrap_or(OTHER_SCORE)
}

#[derive(Clone, Copy)]
struct Sound {
    written: char,
    place: Option<usize>,
}

fn sounds(word: &str) -> Vec<Sound> {
    word.chars().map(|written| Sound { written, place: place(written) }).collect()
}

fn pair(latin: Sound, cyrillic: Sound) -> i32 {
    match (latin.place, cyrillic.place) {
        (Some(a), Some(b)) => cell(a, b),
        _ if latin.written == cyrillic.written => EQUAL_SCORE,
        _ => OTHER_SCORE,
    }
}

/// Returns the best alignment's score, with `latin` as the Latin spelling.
fn aligned(latin: &[Sound], cyrillic: &[Sound]) -> i32 {
    let left_out = |sound: Sound, none: usize| sound.place.map_or(OTHER_SCORE, |place| cell(place, none));
    let put_in = |sound: Sound, none: usize| sound.place.map_or(OTHER_SCORE, |place| cell(none, place));
    let mut row: Vec<i32> = Vec::with_capacity(cyrillic.len() + 1);
    row.push(0);
    for sound in cyrillic {
        row.push(row.last().copied().unwrap_or_default() + put_in(*sound, NONE));
    }
    for (at, sound) in latin.iter().enumerate() {
        let none = if at + 1 == latin.len() { END } else { NONE };
        let mut diagonal = row.first().copied().unwrap_or_default();
        let mut left = diagonal + left_out(*sound, NONE);
        if let Some(cell) = row.first_mut() {
            *cell = left;
        }
        for (column, (cell, other)) in row.iter_mut().skip(1).zip(cyrillic).enumerate() {
            let ends = if column + 1 == cyrillic.len() { END } else { NONE };
            let best =
                (diagonal + pair(*sound, *other)).max(*cell + left_out(*sound, ends)).max(left + put_in(*other, none));
            diagonal = *cell;
            *cell = best;
            left = best;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// Returns ten times the mean log-odds per sound, the better direction. Minimum if the lengths differ too much.
pub(super) fn likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (sounds(a), sounds(b));
    let longest = a.len().max(b.len());
    if longest == 0 || longest > MAX_SOUNDS || a.len().abs_diff(b.len()) * 2 > longest {
        return f64::MIN;
    }
    f64::from(aligned(&a, &b).max(aligned(&b, &a))) / longest as f64
}

/// Whether the first sounds allow a match (cheap).
pub(super) fn may_meet(a: &str, b: &str) -> bool {
    let mut first = sounds_ahead(a);
    let mut second = sounds_ahead(b);
    let (x, y) = (first.next(), second.next());
    let near = |x: Option<Sound>, y: Option<Sound>| {
        x.zip(y).is_some_and(|(x, y)| pair(x, y).max(pair(y, x)) > MIN_FIRST_SOUNDS)
    };
    near(x, y) || near(x, second.next()) || near(first.next(), y)
}

fn sounds_ahead(word: &str) -> impl Iterator<Item = Sound> {
    word.chars().take(2).map(|written| Sound { written, place: place(written) })
}

#[cfg(test)]
mod test_training;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(SOUNDS.len(), NONE);
        assert_eq!(TABLE.len(), WIDTH * WIDTH);
        assert!((0..NONE).all(|sound| cell(sound, sound) > 0));
    }

    #[test]
    fn one_name_is_likelier_than_another() {
        for (a, b, other) in
            [("Jonson", "dZonson", "jakson"), ("Sroder", "Sreder", "Snaider"), ("obam", "abam", "osam")]
        {
            assert!(likeness(a, b) > likeness(a, other), "{a} {b} {other}");
        }
        assert!(likeness("", "").is_sign_negative() && likeness("a", "aaaaaaaa").is_sign_negative());
        assert!((likeness("moskv", "moskou") - likeness("moskou", "moskv")).abs() < 1e-9);
    }
}
