//! Figures that share a noun: of "unemployment rose from 9 percent to 12 percent" both are unemployment's, of "12 of 20 suspects" both
//! count suspects.

use super::{Quantity, cut};
use crate::lexicon::Words;

/// Between the two ends of a change.
static TO: Words = Words::of("numbers.shared_nouns.to");
/// Between a part and the whole.
pub static PART_OF: Words = Words::of("numbers.shared_nouns.part_of");

/// Gives each figure of such a pair what the other one counts, where it counts nothing itself.
pub(super) fn share(text: &str, quantities: &mut [Quantity]) {
    for at in 1..quantities.len() {
        let Some((first, second)) = quantities.get(at - 1).zip(quantities.get(at)) else { continue };
        let between = cut(text, first.start + first.text.len(), second.start).trim().to_lowercase();
        let is_change = TO.has(&between) && first.unit == second.unit;
        let is_part = PART_OF.has(&between);
        let (of_first, of_second) = (first.counted.clone(), second.counted.clone());
        if is_change && let Some(second) = quantities.get_mut(at) {
            second.counted.extend(of_first.into_iter().filter(|stem| !of_second.contains(stem)));
        } else if is_part && let Some(first) = quantities.get_mut(at - 1) {
            // What a part counts stands behind the whole, and nearer than what stands before it.
            let before = std::mem::replace(&mut first.counted, of_second);
            for stem in before {
                if !first.counted.contains(&stem) {
                    first.counted.push(stem);
                }
            }
        }
    }
}
