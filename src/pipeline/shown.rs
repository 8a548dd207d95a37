//! Which passages a result shows: all are stored, and a reader sees the best few of an item.

use crate::domain::evidence::JudgedPassage;
use crate::judging::verdicts::Assessment;

/// How many passages of a claim there are to show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Showable {
    cited: usize,
    /// Cited or on topic.
    all: usize,
}

impl Showable {
    pub(super) fn of(passages: &[JudgedPassage], assessment: &Assessment, floor: f64) -> Self {
        let all = order(passages, assessment, floor, passages.len()).len();
        Self { cited: cited(passages, assessment).len(), all }
    }
}

/// How many passages each claim of an item shows, `most` together: what is cited always, for a justification points at
/// it; then one at a time by the claim that shows least, so that each shows some.
pub(super) fn shares(claims: &[Showable], most: usize) -> Vec<usize> {
    let mut shares: Vec<usize> = claims.iter().map(|claim| claim.cited).collect();
    let left = most.saturating_sub(shares.iter().sum());
    for _ in 0..left {
        let more = shares.iter_mut().zip(claims).filter(|(share, claim)| **share < claim.all);
        let Some((least, _)) = more.min_by_key(|(share, _)| **share) else { break };
        *least += 1;
    }
    shares
}

/// Positions of the passages to show: the cited ones always, then by rank those on topic, `most` at most. What is off
/// topic is stored, and tells a reader nothing.
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
