//! Selects the waiting entries of a batch.
//!
//! Uses only their lengths.

/// Chooses positions, in ascending order, by `lengths` (tokens, longest wait first).
///
/// The first entry is always chosen, so none waits without end. Then the nearest in length follow within `budget`: they
/// end together, so no core waits. The budget bounds the wait for the next batch.
pub(super) fn choose(lengths: &[usize], budget: usize) -> Vec<usize> {
    let Some(first) = lengths.first() else { return Vec::new() };
    let mut others: Vec<(usize, usize)> =
        lengths.iter().enumerate().skip(1).map(|(position, length)| (length.abs_diff(*first), position)).collect();
    // Equal distances: longest wait first.
    others.sort_unstable();
    let mut chosen = vec![0];
    let mut left = budget.saturating_sub(*first);
    for (_, position) in others {
        let Some(rest) = lengths.get(position).and_then(|length| left.checked_sub(*length)) else { break };
        left = rest;
        chosen.push(position);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn similar_lengths_go_together() {
        assert_eq!(choose(&[30, 200, 28, 31, 190, 5], 90), [0, 2, 3]);
        assert_eq!(choose(&[200, 30, 190, 28], 400), [0, 2]);
    }

    #[test]
    fn the_longest_wait_goes_first_whatever_its_length() {
        assert_eq!(choose(&[900, 3, 3], 100), [0]);
        assert_eq!(choose(&[10, 10, 10, 10], 30), [0, 1, 2]);
    }

    #[test]
    fn nothing_waiting_is_no_batch() {
        assert!(choose(&[], 100).is_empty());
    }

    proptest! {
        #[test]
        fn a_batch_keeps_its_budget_and_always_takes_the_first(
            lengths in prop::collection::vec(0usize..600, 1..80), budget in 0usize..2_000
        ) {
            let chosen = choose(&lengths, budget);
            prop_assert_eq!(chosen.first(), Some(&0));
            prop_assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
            let sum: usize = chosen.iter().map(|position| lengths[*position]).sum();
            prop_assert!(sum <= budget || chosen.len() == 1);
        }
    }
}
