use proptest::prelude::*;

use super::{ShowableCounts, shares};

fn claims(of: &[(usize, usize)]) -> Vec<ShowableCounts> {
    of.iter().map(|(cited, all)| ShowableCounts { cited: *cited, all: *all }).collect()
}

#[test]
fn an_item_shows_so_many_and_every_claim_some() {
    for (of, most, expected) in [
        (vec![(2, 8)], 5, vec![5]),
        (vec![(2, 3)], 5, vec![3]),
        (vec![(2, 8), (0, 8)], 5, vec![3, 2]),
        (vec![(3, 8), (0, 8), (0, 8)], 5, vec![3, 1, 1]),
        (vec![(0, 0), (1, 8), (0, 1)], 5, vec![0, 4, 1]),
        (vec![(3, 8), (3, 8)], 5, vec![3, 3]),
        (vec![(2, 8), (1, 8)], 0, vec![2, 1]),
        (vec![], 5, vec![]),
    ] {
        assert_eq!(shares(&claims(&of), most), expected, "{of:?} of {most}");
    }
}

proptest! {
    #[test]
    fn no_share_is_more_than_there_is_or_less_than_is_cited(
        of in prop::collection::vec((0usize..4, 0usize..6), 0..6),
        most in 0usize..20,
    ) {
        let of: Vec<(usize, usize)> = of.into_iter().map(|(cited, more)| (cited, cited + more)).collect();
        let shares = shares(&claims(&of), most);
        let cited: usize = of.iter().map(|(cited, _)| cited).sum();
        let all: usize = of.iter().map(|(_, all)| all).sum();
        prop_assert_eq!(shares.iter().sum::<usize>(), all.min(most.max(cited)));
        for (share, (cited, all)) in shares.iter().zip(&of) {
            prop_assert!((cited..=all).contains(&share));
        }
    }
}
