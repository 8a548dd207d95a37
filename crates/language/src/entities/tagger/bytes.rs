//! Reads parts of the model file from its front, without copying.

/// Takes `count` bytes; `None` if there are fewer.
pub(super) fn take(bytes: &mut &'static [u8], count: usize) -> Option<&'static [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// Takes a number of four bytes.
pub(super) fn count(bytes: &mut &'static [u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?)).ok()
}

pub(super) fn floats(bytes: &mut &'static [u8], count: usize) -> Option<Vec<f32>> {
    Some(take(bytes, count * 4)?.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
}
