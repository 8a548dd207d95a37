//! Trains the table of sounds again: frequencies in pairs of names, then separation from similar strangers.

use std::collections::HashMap;

use super::{END, MAX_SOUNDS, MIN_SAME, NONE, SOUNDS, TABLE, WIDTH, place};
use crate::names::name_key;
use corroborate_labelled as labelled;

/// As sounds of the table.
struct Pair {
    latin: Vec<usize>,
    cyrillic: Vec<usize>,
    spelled: (String, String),
}

/// Rounds of search for false matches, and steps in each.
const ROUNDS: usize = 12;
const STEPS: usize = 3;
/// Strangers per name and round.
const STRANGERS: usize = 30;
/// Threshold per sound, steepness, and distances at which strangers still count and pairs no longer do (some are two
/// names of one person).
const DECISION: f64 = 8.9;
const STEEPNESS: f64 = 0.7;
const MAX_BELOW_DECISION: f64 = 4.0;
const MIN_PAIR_SCORE: f64 = -5.0;
/// Pulls towards the frequency score.
const REGULARISATION: f64 = 0.04;

fn names(step: usize) -> Option<Vec<Pair>> {
    let text = labelled::read("wikidata_names_en_ru/wd_russian_64")?;
    let known = |word: &str| word.chars().map(place).collect::<Option<Vec<usize>>>().filter(|word| !word.is_empty());
    let pair = |line: &str| {
        let mut fields = line.split('\t');
        let spelled = (fields.next()?.to_owned(), fields.next()?.replace(' ', ""));
        Some(Pair { latin: known(&name_key(&spelled.0))?, cyrillic: known(&name_key(&spelled.1))?, spelled })
    };
    Some(text.lines().step_by(step).filter_map(pair).collect())
}

/// Returns the best alignment as (latin, cyrillic), with `NONE` and `END`.
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

/// Returns ten times the log-odds per pair of sounds.
fn usual(pairs: &[Pair]) -> Vec<f64> {
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
        let (mut counts, mut latin, mut cyrillic) = (HashMap::<(usize, usize), f64>::new(), [0.0; WIDTH], [0.0; WIDTH]);
        for Pair { latin: a, cyrillic: b, .. } in pairs {
            let (score, taken) = steps(a, b, &scores);
            // Some pairs are two names of one person.
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
    scores.iter().map(|score| (score * 10.0).clamp(-60.0, 60.0)).collect()
}

/// Returns the better direction unless a quick check excludes it: mean score per sound, steps.
fn best(a: &[usize], b: &[usize], scores: &[f64]) -> Option<(f64, Vec<(usize, usize)>)> {
    let longest = a.len().max(b.len());
    let score = |x: Option<&usize>, y: Option<&usize>| {
        x.zip(y)
            .is_some_and(|(x, y)| scores[x * WIDTH + y].max(scores[y * WIDTH + x]) > f64::from(super::MIN_FIRST_SOUNDS))
    };
    let may_meet = score(a.first(), b.first()) || score(a.first(), b.get(1)) || score(a.get(1), b.first());
    if !may_meet || longest > MAX_SOUNDS || a.len().abs_diff(b.len()) * 2 > longest {
        return None;
    }
    let (one, other) = (steps(a, b, scores), steps(b, a, scores));
    let (sum, taken) = if one.0 >= other.0 { one } else { other };
    Some((sum / longest as f64, taken))
}

/// Pairs each Latin name with another's Cyrillic one.
fn strangers(names: &[Pair], turn: usize) -> impl Iterator<Item = (&Pair, &Pair)> {
    let apart = turn * 7919 % names.len();
    (0..names.len()).map(move |at| (&names[at], &names[(at + apart) % names.len()])).filter(|(one, other)| {
        one.spelled.0 != other.spelled.0 && one.spelled.1 != other.spelled.1 && one.latin != other.cyrillic
    })
}

/// Minimises the logistic loss.
fn separated(names: &[Pair], usual: &[f64]) -> Vec<f64> {
    let mut scores = usual.to_vec();
    let pairs: Vec<(&Pair, &Pair)> = names.iter().filter(|pair| pair.latin != pair.cyrillic).map(|p| (p, p)).collect();
    for round in 0..ROUNDS {
        let near = |(one, other): &(&Pair, &Pair)| {
            best(&one.latin, &other.cyrillic, &scores).is_some_and(|(mean, _)| mean > DECISION - MAX_BELOW_DECISION)
        };
        let turns = (1..=STRANGERS).flat_map(|turn| strangers(names, round * STRANGERS + turn));
        let alike: Vec<(&Pair, &Pair)> = turns.filter(near).collect();
        for _step in 0..STEPS {
            let (mut slopes, mut bends) = (vec![0.0; scores.len()], vec![0.07; scores.len()]);
            let lessons = pairs.iter().map(|pair| (pair, 1.0)).chain(alike.iter().map(|pair| (pair, 0.0)));
            for ((one, other), same) in lessons {
                let Some((mean, taken)) = best(&one.latin, &other.cyrillic, &scores) else { continue };
                let sum = (mean - DECISION) * STEEPNESS;
                if same > 0.5 && sum < MIN_PAIR_SCORE {
                    continue;
                }
                let probability = 1.0 / (1.0 + f64::exp(-sum));
                let share = STEEPNESS / one.latin.len().max(other.cyrillic.len()) as f64;
                for (x, y) in taken {
                    slopes[x * WIDTH + y] += (same - probability) * share;
                    bends[x * WIDTH + y] += probability * (1.0 - probability) * share * STEEPNESS;
                }
            }
            for (at, score) in scores.iter_mut().enumerate() {
                let step = 0.5 * (slopes[at] - REGULARISATION * (*score - usual[at])) / bends[at];
                *score = (*score + step.clamp(-3.0, 3.0)).clamp(-60.0, 60.0);
            }
        }
    }
    scores
}

fn rounded(scores: &[f64]) -> Vec<i32> {
    scores.iter().map(|score| score.round() as i32).collect()
}

#[test]
fn the_table_is_what_the_names_teach() {
    #[expect(clippy::disallowed_methods, reason = "a switch for people who measure")]
    if std::env::var_os("CORROBORATE_MEASURE_ALL").is_some() {
        return learn_all();
    }
    // A twentieth shows the usual correspondences.
    let Some(names) = names(20) else { return };
    let numbers = rounded(&usual(&names));
    let common: Vec<(&i32, &i32)> = numbers.iter().zip(TABLE.iter()).filter(|(number, _)| number.abs() > 5).collect();
    let alike = common.iter().filter(|(number, known)| number.signum() == known.signum()).count();
    println!("{alike} of {} renderings are likelier or less likely than chance in both", common.len());
    assert!(alike * 10 >= common.len() * 9, "{alike} of {}", common.len());
}

/// Trains on four fifths and takes the threshold from the last.
fn learn_all() {
    let Some(all) = names(1) else { return };
    let (mut lessons, mut kept) = (Vec::new(), Vec::new());
    for (at, pair) in all.into_iter().enumerate() {
        if at % 5 == 0 { kept.push(pair) } else { lessons.push(pair) }
    }
    let table = rounded(&separated(&lessons, &usual(&lessons)));
    for (row, name) in table.chunks(WIDTH).zip(SOUNDS.chars().chain(['_', '$'])) {
        let row: Vec<String> = row.iter().map(i32::to_string).collect();
        println!("ROW {name}\t{}", row.join("\t"));
    }
    let scores: Vec<f64> = table.iter().map(|score| f64::from(*score)).collect();
    let mean = |one: &Pair, other: &Pair| {
        if one.latin == other.cyrillic {
            return f64::MAX;
        }
        best(&one.latin, &other.cyrillic, &scores).map_or(f64::MIN, |(mean, _)| mean)
    };
    let pairs: Vec<f64> = kept.iter().map(|pair| mean(pair, pair)).collect();
    let apart: Vec<f64> = (1..=60).flat_map(|turn| strangers(&kept, turn)).map(|(a, b)| mean(a, b)).collect();
    let share =
        |means: &[f64], from: f64| means.iter().filter(|mean| **mean >= from).count() as f64 / means.len() as f64;
    for tenth in -10..=10 {
        let from = MIN_SAME + f64::from(tenth) / 10.0;
        println!(
            "from {from:.1}: {:.4} of the pairs, {:.6} of the strangers",
            share(&pairs, from),
            share(&apart, from)
        );
    }
    assert_eq!(table, *TABLE);
}
