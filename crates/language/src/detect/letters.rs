//! Decides by letter pairs whether a few words in plain Latin letters can be English.
//!
//! `english.tsv` has a row per letter (`_` is a word edge) and a column per next letter, with ten times the weight of a
//! logistic regression on runs of four words. The test `the_table_is_what_the_lines_teach` trains it again from every
//! second line and prints it with `CORROBORATE_MEASURE_ALL`.

use std::sync::LazyLock;

/// Mean weight; 2 of 100 held-out English runs are below it.
const MIN_ENGLISH_WEIGHT: f64 = -2.0;

/// After the letters.
const EDGE: usize = 26;
const WIDTH: usize = 27;

static TABLE: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let numbers = include_str!("english.tsv").lines().flat_map(|line| line.split('\t').skip(1));
    numbers.filter_map(|number| number.parse().ok()).collect()
});

/// Returns the table places of a word's pairs, with edges.
fn pairs(word: &str) -> Vec<usize> {
    let place = |letter: char| letter.is_ascii_lowercase().then(|| letter as usize - 'a' as usize);
    let mut places = vec![EDGE];
    places.extend(word.chars().filter_map(place));
    places.push(EDGE);
    places.windows(2).filter_map(|pair| Some(pair.first()? * WIDTH + pair.last()?)).collect()
}

fn mean(table: &[f64], words: &[&String]) -> f64 {
    let pairs: Vec<usize> = words.iter().flat_map(|word| pairs(word)).collect();
    let sum: f64 = pairs.iter().filter_map(|pair| table.get(*pair)).sum();
    sum / pairs.len().max(1) as f64
}

/// Whether lower-case words can be English.
pub(super) fn look_english(words: &[&String]) -> bool {
    mean(&TABLE, words) >= MIN_ENGLISH_WEIGHT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_regression::{Column, fit};
    use corroborate_labelled as labelled;

    type Runs = Vec<Vec<String>>;

    fn runs(text: &str, from: usize, most: usize) -> Runs {
        let words = |line: &str| -> Vec<String> {
            line.split(|letter: char| !letter.is_alphabetic())
                .filter(|word| !word.is_empty())
                .map(str::to_lowercase)
                .collect()
        };
        let lines = text.lines().skip(from).step_by(2).map(words);
        lines
            .flat_map(|line| line.chunks(4).take(most).map(<[String]>::to_vec).collect::<Vec<_>>())
            .filter(|run| run.iter().all(|word| word.is_ascii()))
            .collect()
    }

    /// Returns English and other runs of the training half (1) or the other (0).
    fn lines(half: usize) -> Option<(Runs, Runs)> {
        let (mut english, mut others) = (Vec::new(), Vec::new());
        let mut folders: Vec<_> =
            std::fs::read_dir(labelled::at("lingua_langid")?).ok()?.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        for folder in folders {
            let Ok(text) = std::fs::read_to_string(folder.join("sentences.txt")) else { continue };
            if folder.ends_with("en") { english = runs(&text, half, 9) } else { others.extend(runs(&text, half, 2)) }
        }
        Some((english, others))
    }

    /// Adds fm2, because 1,000 lines are few.
    fn claims() -> Option<Runs> {
        let text = labelled::read("fm2/dev.jsonl")?;
        let claims = text.lines().filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).ok().and_then(|row| Some(row["text"].as_str()?.to_owned()))
        });
        Some(claims.flat_map(|claim| runs(&claim, 0, 9)).collect())
    }

    fn learnt(english: &[Vec<String>], others: &[Vec<String>]) -> Vec<i32> {
        let mut columns: Vec<Column> = vec![Vec::new(); WIDTH * WIDTH];
        let mut labels = Vec::new();
        for (run, is_english) in english.iter().map(|run| (run, true)).chain(others.iter().map(|run| (run, false))) {
            let places: Vec<usize> = run.iter().flat_map(|word| pairs(word)).collect();
            let one = 10.0 / places.len() as f64;
            for place in places {
                match columns[place].last_mut() {
                    Some((row, value)) if *row == labels.len() => *value += one,
                    _ => columns[place].push((labels.len(), one)),
                }
            }
            labels.push(is_english);
        }
        let always: Column = (0..labels.len()).map(|row| (row, 1.0)).collect();
        let all: Vec<&Column> = std::iter::once(&always).chain(&columns).collect();
        fit(&all, &labels, 0.5).into_iter().skip(1).map(|weight| (weight * 10.0).round() as i32).collect()
    }

    #[test]
    fn the_table_is_what_the_lines_teach() {
        let (Some((mut english, others)), Some(claims)) = (lines(1), claims()) else { return };
        english.extend(claims);
        let numbers = learnt(&english, &others);
        #[expect(clippy::disallowed_methods, reason = "a switch for people who measure")]
        if std::env::var_os("CORROBORATE_MEASURE_ALL").is_some() {
            for (row, letter) in numbers.chunks(WIDTH).zip("abcdefghijklmnopqrstuvwxyz_".chars()) {
                println!("ROW {letter}\t{}", row.iter().map(i32::to_string).collect::<Vec<_>>().join("\t"));
            }
        }
        let table: Vec<f64> = numbers.iter().map(|number| f64::from(*number)).collect();
        let Some((english, others)) = lines(0) else { return };
        let share = |runs: &[Vec<String>], least: f64| {
            let passing = runs.iter().filter(|run| mean(&table, &run.iter().collect::<Vec<_>>()) >= least).count();
            passing as f64 / runs.len() as f64
        };
        for least in -10..4 {
            let least = MIN_ENGLISH_WEIGHT + f64::from(least);
            println!(
                "from {least}: {:.3} of English runs, {:.3} of others",
                share(&english, least),
                share(&others, least)
            );
        }
        assert_eq!(table, *TABLE);
    }

    #[test]
    fn words_look_english_or_do_not() {
        let look = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_lowercase).collect();
            look_english(&words.iter().collect::<Vec<_>>())
        };
        for text in ["Trump wins", "NATO expands", "Thousands protest", "Stocks slump", "Zelensky visits Washington"] {
            assert!(look(text), "{text}");
        }
        for text in ["Kufake embhedeni kube", "Ohjelma palaa ikkunaan", "Anodadisa mwana uyu"] {
            assert!(!look(text), "{text}");
        }
    }
}
