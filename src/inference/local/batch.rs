//! Which of the waiting entries are worked off together.

/// Chooses from entries of those lengths (in tokens, longest wait first) the ones for one batch: the first, and then those
/// nearest to it in length while their sum stays within `budget`. Entries of one length end together, so no core waits for
/// a straggler, and a budget in tokens bounds how long the next batch is kept waiting whatever the texts are.
///
/// The first is chosen whatever its length, so nothing waits for ever. Positions come in ascending order.
pub(super) fn choose(lengths: &[usize], budget: usize) -> Vec<usize> {
    let Some(first) = lengths.first() else { return Vec::new() };
    let mut others: Vec<(usize, usize)> =
        lengths.iter().enumerate().skip(1).map(|(position, length)| (length.abs_diff(*first), position)).collect();
    // Among equals the one that waits longest.
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
        assert_eq!(choose(&[30, 200, 28, 31, 190, 5], 100), [0, 2, 3]);
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
