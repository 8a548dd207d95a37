//! How much likelier two skeletons are renderings of one name than two names that met by chance.
//!
//! `likeness.tsv` holds, for a sound of the Latin spelling (rows) and one of the Cyrillic (columns), ten times the natural
//! logarithm of how much oftener the two stand for each other than chance has it; `_` is no sound, `$` none at the word's end.
//! It was learnt from the larger part of Wikidata's names (`wd_russian_64`); the test
//! `the_table_is_what_the_names_teach` learns it again and, with `CORROBORATE_MEASURE_ALL`, prints it.

use std::sync::LazyLock;

/// Per sound of the longer skeleton: from here on two words are one name. About six of ten thousand random pairs reach it; the
/// test `real_pairs_meet_and_strangers_do_not` counts them.
pub(super) const SAME: f64 = 8.9;

/// The same where one name is in the gazetteer and the other is not: only a slip of the pen may stand between them.
pub(super) const NEARLY_EQUAL: f64 = 18.0;

/// Under this two first sounds do not stand for each other.
const FOREIGN: i32 = -30;

/// Longest skeleton that is compared; a name of more sounds is no name, and the table grows with the square.
const MOST_SOUNDS: usize = 40;

/// Sounds of the table, in its order; behind them no sound, and no sound at the end.
const SOUNDS: &str = "CJSZabcdefghiklmnoprstuvz";
const NONE: usize = 25;
const END: usize = 26;
const WIDTH: usize = 27;

/// For sounds that the table has not: digits, other alphabets.
const EQUAL: i32 = 30;
const OTHER: i32 = -40;

static TABLE: LazyLock<Vec<i32>> = LazyLock::new(|| {
    let numbers = include_str!("likeness.tsv").lines().flat_map(|line| line.split('\t').skip(1));
    numbers.filter_map(|number| number.parse().ok()).collect()
});

fn place(sound: char) -> Option<usize> {
    SOUNDS.find(sound)
}

fn cell(latin: usize, cyrillic: usize) -> i32 {
    TABLE.get(latin * WIDTH + cyrillic).copied().unwrap_or(OTHER)
}

/// What is known of one sound of a word.
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
        _ if latin.written == cyrillic.written => EQUAL,
        _ => OTHER,
    }
}

/// The best alignment's sum, the first skeleton taken for the Latin spelling.
fn aligned(latin: &[Sound], cyrillic: &[Sound]) -> i32 {
    let left_out = |sound: Sound, none: usize| sound.place.map_or(OTHER, |place| cell(place, none));
    let put_in = |sound: Sound, none: usize| sound.place.map_or(OTHER, |place| cell(none, place));
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

/// Ten times the mean log-odds per sound of the longer skeleton that two words are one name, whichever of them is the Latin
/// spelling; the lowest number where their lengths are too far apart.
pub(super) fn likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (sounds(a), sounds(b));
    let longest = a.len().max(b.len());
    if longest == 0 || longest > MOST_SOUNDS || a.len().abs_diff(b.len()) * 2 > longest {
        return f64::MIN;
    }
    f64::from(aligned(&a, &b).max(aligned(&b, &a))) / longest as f64
}

/// Whether two skeletons can be one name at all: a cheap look at their first sounds before the table is filled.
pub(super) fn may_meet(a: &str, b: &str) -> bool {
    let mut first = sounds_ahead(a);
    let mut second = sounds_ahead(b);
    let (x, y) = (first.next(), second.next());
    let near = |x: Option<Sound>, y: Option<Sound>| x.zip(y).is_some_and(|(x, y)| pair(x, y).max(pair(y, x)) > FOREIGN);
    near(x, y) || near(x, second.next()) || near(first.next(), y)
}

fn sounds_ahead(word: &str) -> impl Iterator<Item = Sound> {
    word.chars().take(2).map(|written| Sound { written, place: place(written) })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::language::names::name_key;
    use crate::language::shared_data;

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

    /// The steps of the best alignment by the scores so far: (latin, cyrillic), `NONE` and `END` among them.
    fn steps(a: &[usize], b: &[usize], scores: &[f64]) -> (f64, Vec<(usize, usize)>) {
        let score = |x: usize, y: usize| scores[x * WIDTH + y];
        let mut best = vec![vec![(0.0, 0_u8); b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                let none = |at: usize, len: usize| if at == len { END } else { NONE };
                let mut ways = Vec::new();
                if i > 0 && j > 0 {
                    ways.push((best[i - 1][j - 1].0 + score(a[i - 1], b[j - 1]), 2));
                }
                if i > 0 {
                    ways.push((best[i - 1][j].0 + score(a[i - 1], if j == 0 { NONE } else { none(j, b.len()) }), 0));
                }
                if j > 0 {
                    ways.push((best[i][j - 1].0 + score(if i == 0 { NONE } else { none(i, a.len()) }, b[j - 1]), 1));
                }
                best[i][j] = ways.into_iter().max_by(|x, y| x.0.total_cmp(&y.0)).unwrap_or((0.0, 3));
            }
        }
        let (mut i, mut j, mut taken) = (a.len(), b.len(), Vec::new());
        while i > 0 || j > 0 {
            match best[i][j].1 {
                2 => {
                    taken.push((a[i - 1], b[j - 1]));
                    (i, j) = (i - 1, j - 1);
                }
                0 => {
                    taken.push((a[i - 1], if j == b.len() { END } else { NONE }));
                    i -= 1;
                }
                _ => {
                    taken.push((if i == a.len() { END } else { NONE }, b[j - 1]));
                    j -= 1;
                }
            }
        }
        (best[a.len()][b.len()].0, taken)
    }

    #[test]
    fn the_table_is_what_the_names_teach() {
        let Some(text) = shared_data::read("wikidata_names_en_ru/wd_russian_64") else { return };
        #[expect(clippy::disallowed_methods, reason = "a switch for people who measure")]
        let all = std::env::var_os("CORROBORATE_MEASURE_ALL").is_some();
        let scores = learnt(&text, if all { 1 } else { 20 });
        let numbers: Vec<i32> = scores.iter().map(|score| (score * 10.0).round().clamp(-60.0, 60.0) as i32).collect();
        if all {
            for (row, name) in numbers.chunks(WIDTH).zip(SOUNDS.chars().chain(['_', '$'])) {
                let row: Vec<String> = row.iter().map(i32::to_string).collect();
                println!("{name}\t{}", row.join("\t"));
            }
            assert_eq!(numbers, *TABLE);
            return;
        }
        // A twentieth of the names knows the usual renderings as well as all of them, the rare ones less well.
        let usual: Vec<(&i32, &i32)> = numbers.iter().zip(TABLE.iter()).filter(|(_, known)| **known > 0).collect();
        let near = usual.iter().filter(|(number, known)| (**number - **known).abs() <= 10).count();
        println!("{near} of {} usual renderings are within one of the table", usual.len());
        assert!(near * 10 >= usual.len() * 8, "{near} of {}", usual.len());
    }

    /// The log-odds of every pair of sounds, from every `step`th pair of names.
    fn learnt(text: &str, step: usize) -> Vec<f64> {
        let known =
            |word: &str| word.chars().map(place).collect::<Option<Vec<usize>>>().filter(|word| !word.is_empty());
        let pairs: Vec<(Vec<usize>, Vec<usize>)> = text
            .lines()
            .step_by(step)
            .filter_map(|line| {
                let mut fields = line.split('\t');
                Some((known(&name_key(fields.next()?))?, known(&name_key(&fields.next()?.replace(' ', "")))?))
            })
            .collect();
        let vowel = |place: usize| SOUNDS.chars().nth(place).is_some_and(|sound| "aeiou".contains(sound));
        let mut scores = vec![-4.0; WIDTH * WIDTH];
        for x in 0..WIDTH {
            for y in 0..WIDTH {
                scores[x * WIDTH + y] = match (x >= NONE, y >= NONE) {
                    (true, _) => {
                        if vowel(y) {
                            -0.7
                        } else {
                            -2.0
                        }
                    }
                    (_, true) => {
                        if vowel(x) {
                            -0.7
                        } else {
                            -2.0
                        }
                    }
                    _ if x == y => 2.5,
                    _ => {
                        if vowel(x) && vowel(y) {
                            0.8
                        } else {
                            -2.5
                        }
                    }
                };
            }
        }
        for round in 0..3 {
            let (mut counts, mut latin, mut cyrillic) =
                (HashMap::<(usize, usize), f64>::new(), [0.0; WIDTH], [0.0; WIDTH]);
            for (a, b) in &pairs {
                let (score, taken) = steps(a, b, &scores);
                // Some pairs of the list are two names of one person.
                if round > 0 && score / (a.len().max(b.len()) as f64) < 0.5 {
                    continue;
                }
                for step in taken {
                    *counts.entry(step).or_default() += 1.0;
                }
                for (word, counted) in [(a, &mut latin), (b, &mut cyrillic)] {
                    for sound in word {
                        counted[*sound] += 1.0;
                    }
                }
            }
            let all: f64 = counts.values().sum();
            let (of_latin, of_cyrillic): (f64, f64) = (latin.iter().sum(), cyrillic.iter().sum());
            let by_chance = |place: usize, counts: &[f64], sum: f64| match place {
                NONE => 0.25,
                END => 0.05,
                _ => (counts[place] + 5.0) / sum,
            };
            for x in 0..WIDTH {
                for y in 0..WIDTH {
                    let met = (counts.get(&(x, y)).copied().unwrap_or_default() + 0.5) / all;
                    scores[x * WIDTH + y] =
                        (met / by_chance(x, &latin, of_latin) / by_chance(y, &cyrillic, of_cyrillic)).ln();
                }
            }
        }
        scores
    }
}
