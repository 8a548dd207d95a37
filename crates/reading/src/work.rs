//! What reading one page may cost, counted in steps. A count is the same on every machine and in every build, so that a
//! page is read or refused for what it is and not for how busy the machine was.

use std::cell::Cell;

/// Steps that one page may take, each of some nanoseconds. No page of the labelled sets takes as many.
pub(super) const STEPS: u64 = 20_000_000;

/// The steps that were taken for a page.
#[derive(Debug, Default)]
pub(super) struct Work {
    taken: Cell<u64>,
    is_over: Cell<bool>,
}

/// A page whose reading would take more steps or more memory than any written page does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page takes more work to read than a written page does")]
pub(super) struct TooCostly;

/// What a feed's elements, objects and lists may weigh together: some 10,000 entries of ten elements each.
const MARKS: usize = 200_000;

/// Refuses a feed of more elements or values than any has that is published. Each costs hundreds of bytes to hold.
pub(super) fn count_marks(feed: &[u8]) -> Result<(), TooCostly> {
    let weight = |byte: &u8| match byte {
        b'{' => 4,
        b'[' => 2,
        b'<' => 1,
        _ => 0,
    };
    if feed.iter().map(weight).sum::<usize>() > MARKS { Err(TooCostly) } else { Ok(()) }
}

impl Work {
    /// Takes off what something costs.
    pub(super) fn spend(&self, steps: usize) {
        self.taken.set(self.taken.get().saturating_add(steps as u64));
    }

    /// Leaves nothing: something was seen that no written page has.
    pub(super) fn spend_all(&self) {
        self.is_over.set(true);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.is_over.get() || self.taken.get() > STEPS
    }

    /// Steps taken so far.
    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        self.taken.get()
    }
}
