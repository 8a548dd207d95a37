//! Selects the passages that a result shows: all are stored, the best few are shown.

use crate::domain::evidence::JudgedPassage;
use crate::judging::verdicts::Assessment;

/// Number of passages that a claim can show.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShowableCounts {
    cited: usize,
    /// Cited or on topic.
    all: usize,
}

impl ShowableCounts {
    pub(super) fn of(passages: &[JudgedPassage], assessment: &Assessment, floor: f64) -> Self {
        let all = order(passages, assessment, floor, passages.len()).len();
        Self { cited: cited(passages, assessment).len(), all }
    }
}

/// Distributes `most` passages. Cited ones are always shown; the rest goes one by one to the claim that shows fewest.
pub(super) fn shares(claims: &[ShowableCounts], most: usize) -> Vec<usize> {
    let mut shares: Vec<usize> = claims.iter().map(|claim| claim.cited).collect();
    let left = most.saturating_sub(shares.iter().sum());
    for _ in 0..left {
        let more = shares.iter_mut().zip(claims).filter(|(share, claim)| **share < claim.all);
        let Some((least, _)) = more.min_by_key(|(share, _)| **share) else { break };
        *least += 1;
    }
    shares
}

/// Returns cited passages, then those on topic by rank.
pub(super) fn order(passages: &[JudgedPassage], assessment: &Assessment, floor: f64, most: usize) -> Vec<usize> {
    let mut order = cited(passages, assessment);
    for (position, passage) in passages.iter().enumerate() {
        if order.len() >= most {
            break;
        }
        if passage.relevance >= floor && !order.contains(&position) {
            order.push(position);
        }
    }
    order.sort_unstable();
    order
}

fn cited(passages: &[JudgedPassage], assessment: &Assessment) -> Vec<usize> {
    assessment.citations.iter().copied().filter(|cited| *cited < passages.len()).collect()
}

#[cfg(test)]
mod tests;
