//! Shares a noun between figures: "from 9 percent to 12 percent", "12 of 20 suspects".

use super::{Quantity, cut};
use crate::lexicon::Words;

/// "from … to"
static TO: Words = Words::of("numbers.shared_nouns.to");
/// Between part and whole.
pub static PART_OF: Words = Words::of("numbers.shared_nouns.part_of");

/// Copies the counted noun within a pair.
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
            // The noun after the whole comes first.
            let before = std::mem::replace(&mut first.counted, of_second);
            for stem in before {
                if !first.counted.contains(&stem) {
                    first.counted.push(stem);
                }
            }
        }
    }
}
