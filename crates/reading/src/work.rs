//! Limits the work for one page in steps. Steps are independent of machine, build and load, and so is the decision to
//! read a page.

use std::cell::Cell;

/// Steps for one page, a few nanoseconds each. No page of the labelled sets needs as many.
pub(super) const MAX_STEPS: u64 = 20_000_000;

#[derive(Debug, Default)]
pub(super) struct Work {
    taken: Cell<u64>,
    is_over: Cell<bool>,
}

/// The page needs more steps or memory than any normal page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page is too expensive to parse")]
pub(super) struct TooCostly;

/// About 10,000 entries of ten elements each.
const MAX_MARKS: usize = 200_000;

/// Rejects a feed with too many elements or values: each uses hundreds of bytes of memory.
pub(super) fn count_marks(feed: &[u8]) -> Result<(), TooCostly> {
    let weight = |byte: &u8| match byte {
        b'{' => 4,
        b'[' => 2,
        b'<' => 1,
        _ => 0,
    };
    if feed.iter().map(weight).sum::<usize>() > MAX_MARKS { Err(TooCostly) } else { Ok(()) }
}

impl Work {
    pub(super) fn spend(&self, steps: usize) {
        self.taken.set(self.taken.get().saturating_add(steps as u64));
    }

    /// Ends the budget, because no normal page has this content.
    pub(super) fn spend_all(&self) {
        self.is_over.set(true);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.is_over.get() || self.taken.get() > MAX_STEPS
    }

    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        self.taken.get()
    }
}
