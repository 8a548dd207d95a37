//! Marked words: those that a passage shares with the claim, and those that a correction changes.
//!
//! Passages are compared by stem, corrections exactly.

use std::collections::HashSet;

use crate::language::tokens;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) marked: bool,
}

/// Maximum words of a correction; longer ones stay unmarked.
const MOST_WORDS: usize = 200;

/// Marks figures and words shared with the claim.
pub(super) fn shared(claim: &str, passage: &str, language: Option<&str>) -> Vec<Piece> {
    let stems: HashSet<String> = tokens::content_stems(claim, language).into_iter().collect();
    let is_shared = |word: &str| {
        let found = tokens::tokens(word, language);
        found.iter().any(|token| token.number || (!token.stop && stems.contains(&token.stem)))
    };
    pieces(passage, is_shared)
}

/// Marks the words outside the longest common subsequence.
pub(super) fn differing(was: &str, now: &str) -> (Vec<Piece>, Vec<Piece>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (was.split_whitespace().collect(), now.split_whitespace().collect());
    if old.len() > MOST_WORDS || new.len() > MOST_WORDS {
        let whole = |text: &str| vec![Piece { text: text.to_owned(), marked: false }];
        return (whole(was), whole(now));
    }
    let (kept_old, kept_new) = common(&old, &new);
    (joined(&old, &kept_old), joined(&new, &kept_new))
}

/// Positions of the longest common subsequence in both texts.
fn common(old: &[&str], new: &[&str]) -> (HashSet<usize>, HashSet<usize>) {
    let width = new.len() + 1;
    let mut longest = vec![0_usize; (old.len() + 1) * width];
    let at = |longest: &[usize], i: usize, j: usize| longest.get(i * width + j).copied().unwrap_or_default();
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let best = if one == other {
                at(&longest, i + 1, j + 1) + 1
            } else {
                at(&longest, i + 1, j).max(at(&longest, i, j + 1))
            };
            if let Some(slot) = longest.get_mut(i * width + j) {
                *slot = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let (mut kept_old, mut kept_new) = (HashSet::new(), HashSet::new());
    while let (Some(one), Some(other)) = (old.get(i), new.get(j)) {
        if one == other {
            kept_old.insert(i);
            kept_new.insert(j);
            i += 1;
            j += 1;
        } else if at(&longest, i + 1, j) >= at(&longest, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    (kept_old, kept_new)
}

fn joined(words: &[&str], kept: &HashSet<usize>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        push(&mut pieces, word, !kept.contains(&at));
    }
    pieces
}

fn pieces(text: &str, is_marked: impl Fn(&str) -> bool) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for word in text.split_whitespace() {
        push(&mut pieces, word, is_marked(word));
    }
    pieces
}

/// Appends a word; adjacent words with the same mark form one piece.
fn push(pieces: &mut Vec<Piece>, word: &str, marked: bool) {
    match pieces.last_mut() {
        Some(last) if last.marked == marked => {
            last.text.push(' ');
            last.text.push_str(word);
        }
        Some(last) if marked => {
            last.text.push(' ');
            pieces.push(Piece { text: word.to_owned(), marked });
        }
        Some(_) => pieces.push(Piece { text: format!(" {word}"), marked }),
        None => pieces.push(Piece { text: word.to_owned(), marked }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[Piece]) -> String {
        pieces.iter().map(|one| if one.marked { format!("[{}]", one.text) } else { one.text.clone() }).collect()
    }

    #[test]
    fn words_of_the_claim_and_figures_are_marked_in_a_passage() {
        let marked = shared("The dam of Velmora broke.", "On Monday the  dams near Velmora held; 12 fled.", Some("en"));
        assert_eq!(shown(&marked), "On Monday the [dams] near [Velmora] held; [12] fled.");
        let marked = shared("Плотина прорвана.", "Прорыв плотины отрицают.", Some("ru"));
        assert_eq!(shown(&marked), "Прорыв [плотины] отрицают.");
    }

    #[test]
    fn a_correction_marks_what_it_changes() {
        let (was, now) = differing("He left school at age 14 to work.", "He left school at age 12 to work.");
        assert_eq!(shown(&was), "He left school at age [14] to work.");
        assert_eq!(shown(&now), "He left school at age [12] to work.");
        assert_eq!(shown(&differing("", "New words").1), "[New words]");
    }
}
