//! Chooses two or three passages for a verdict: strongest first, of different groups, newest first among equals. A
//! group on both sides is cited for each. Without an outright passage for the verdict's side, leaning passages or the
//! doubt are cited.

use std::collections::BTreeSet;

use super::labels::MIN_POSSIBLE_CONTRADICTION;
use corroborate_domain::evidence::JudgedPassage;
use corroborate_domain::verdict::{Stance, Verdict};

const MAX_CITATIONS: usize = 3;

/// Passages closer than this are equal, because no judge is more precise.
const EQUALITY_TOLERANCE: f64 = 0.05;

/// Returns indices into `passages`, never of off-topic or social ones.
pub fn choose(verdict: Verdict, passages: &[JudgedPassage], relevance_floor: f64) -> Vec<usize> {
    let sides: &[Stance] = match verdict {
        Verdict::Refuted => &[Stance::Contradicts],
        // The new state first, then the earlier one.
        Verdict::Outdated => &[Stance::Contradicts, Stance::Supports],
        // Outright contradictions are cited too.
        Verdict::Supported | Verdict::Misleading | Verdict::Contested | Verdict::NotEnoughEvidence => {
            &[Stance::Supports, Stance::Contradicts]
        }
        Verdict::NotVerifiable => &[],
    };
    let open = verdict == Verdict::NotEnoughEvidence;
    let own = sides.first().copied();
    let needs_outright = matches!(verdict, Verdict::Supported | Verdict::Misleading);
    let mut queues: Vec<std::vec::IntoIter<usize>> = sides
        .iter()
        .map(|side| {
            let outright = needs_outright && Some(*side) != own;
            strongest(*side, passages, relevance_floor, open, outright).into_iter()
        })
        .collect();
    let mut groups = BTreeSet::new();
    let mut chosen = Vec::new();
    // The sides alternate.
    loop {
        let mut moved = false;
        for (side, queue) in queues.iter_mut().enumerate() {
            let next = queue.find(|index| {
                passages.get(*index).is_some_and(|passage| groups.insert((side, passage.independent_group.as_str())))
            });
            if let Some(index) = next {
                chosen.push(index);
                moved = true;
            }
            if chosen.len() == MAX_CITATIONS {
                return chosen;
            }
        }
        if !moved {
            return chosen;
        }
    }
}

pub(super) fn may_contradict(passage: &JudgedPassage) -> bool {
    passage.stance() == Stance::Neutral && passage.contradict >= MIN_POSSIBLE_CONTRADICTION
}

pub(super) fn leans(passage: &JudgedPassage, side: Stance) -> bool {
    let (own, other) = match side {
        Stance::Supports => (passage.entail, passage.contradict),
        _ => (passage.contradict, passage.entail),
    };
    passage.stance() == Stance::Neutral && own > other
}

/// Returns the passages of a stance, strongest first, else leaning ones. With `open` (no side taken) only possible
/// contradictions, with `outright` no leaning ones.
fn strongest(side: Stance, passages: &[JudgedPassage], relevance_floor: f64, open: bool, outright: bool) -> Vec<usize> {
    let on_topic = || {
        let numbered = passages.iter().enumerate();
        numbered.filter(|(_, passage)| passage.relevance >= relevance_floor && !passage.is_context())
    };
    let mut of_side: Vec<(usize, &JudgedPassage)> =
        on_topic().filter(|(_, passage)| passage.stance() == side).collect();
    if of_side.is_empty() && !outright {
        let leaning = |passage: &JudgedPassage| {
            if open { side == Stance::Contradicts && may_contradict(passage) } else { leans(passage, side) }
        };
        of_side = on_topic().filter(|(_, passage)| leaning(passage)).collect();
    }
    let step = |passage: &JudgedPassage| {
        let strength = if side == Stance::Contradicts { passage.contradict } else { passage.entail };
        (strength / EQUALITY_TOLERANCE).round() as i64
    };
    of_side.sort_by(|(_, a), (_, b)| {
        step(b)
            .cmp(&step(a))
            .then_with(|| b.published_at.cmp(&a.published_at))
            .then_with(|| b.quality.total_cmp(&a.quality))
            .then_with(|| super::features::by_rank(a, b))
    });
    of_side.into_iter().map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::super::samples::{any_passages, passage};
    use super::*;

    #[test]
    fn the_strongest_of_different_groups_the_newest_first_among_equals() {
        let mut old = passage("old", 0.90, 0.0);
        old.published_at = DateTime::from_timestamp(1_000_000, 0);
        let mut new = passage("new", 0.91, 0.0);
        new.published_at = DateTime::from_timestamp(2_000_000, 0);
        let mut copy = passage("copy", 0.99, 0.0);
        copy.independent_group = "strong".into();
        let strong = passage("strong", 1.0, 0.0);
        let weak = passage("weak", 0.65, 0.0);
        let against = passage("against", 0.0, 0.9);
        let cited = choose(Verdict::Supported, &[old, weak, copy, new, against, strong], 0.3);
        assert_eq!(cited, vec![2, 4, 3], "copy and strong are one group; what contradicts outright is heard too");
    }

    #[test]
    fn both_sides_are_cited_when_sources_disagree() {
        let sources = [passage("a", 0.9, 0.0), passage("b", 0.8, 0.0), passage("c", 0.7, 0.0), passage("d", 0.0, 0.9)];
        assert_eq!(choose(Verdict::Contested, &sources, 0.3), vec![0, 3, 1]);
        assert_eq!(choose(Verdict::Outdated, &sources, 0.3), vec![3, 0, 1]);
        assert_eq!(choose(Verdict::Refuted, &sources, 0.3), vec![3]);
        assert!(choose(Verdict::NotVerifiable, &sources, 0.3).is_empty());
        let [one, _, other, mut against] = sources;
        against.independent_group.clone_from(&one.independent_group);
        assert_eq!(choose(Verdict::Contested, &[one, other, against], 0.3), vec![0, 2, 1], "one source on both sides");
    }

    #[test]
    fn a_doubt_is_cited_where_nothing_contradicts_outright_and_only_there() {
        let (support, doubt, against) = (passage("a", 0.9, 0.0), passage("b", 0.2, 0.45), passage("c", 0.0, 0.9));
        let both = [support.clone(), doubt.clone()];
        assert_eq!(choose(Verdict::Contested, &both, 0.3), vec![0, 1]);
        assert_eq!(choose(Verdict::NotEnoughEvidence, &both, 0.3), vec![0, 1]);
        assert_eq!(choose(Verdict::Supported, &both, 0.3), vec![0], "a doubt speaks for no verdict");
        assert_eq!(choose(Verdict::Contested, &[support, doubt, against], 0.3), vec![0, 2]);
    }

    proptest! {
        #[test]
        fn citations_are_few_different_and_on_topic(passages in any_passages(), which in 0..Verdict::ALL.len()) {
            let cited = choose(Verdict::ALL[which], &passages, 0.3);
            prop_assert!(cited.len() <= 3);
            let once: BTreeSet<usize> = cited.iter().copied().collect();
            prop_assert_eq!(once.len(), cited.len(), "no passage twice");
            let most = if Verdict::ALL[which] == Verdict::Refuted { 1 } else { 2 };
            let group = |index: usize| &passages[index].independent_group;
            let of = |one: usize| cited.iter().filter(|other| group(**other) == group(one)).count();
            prop_assert!(cited.iter().all(|one| of(*one) <= most));
            prop_assert!(cited.iter().all(|index| passages[*index].relevance >= 0.3 && !passages[*index].is_context()));
        }
    }
}
