//! The labelled data some tests look at, where it is at hand.

use std::path::PathBuf;

/// The folder: `CORROBORATE_SHARED_DATA`, else `../shared/data` beside the checkout.
#[expect(clippy::disallowed_methods, reason = "a test's own switch, no configuration of the product")]
fn folder() -> PathBuf {
    std::env::var_os("CORROBORATE_SHARED_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")), PathBuf::from)
}

/// A file's text; `None`, said aloud, where the data is not there.
pub(crate) fn read(name: &str) -> Option<String> {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: {} is not at hand", path.display());
    }
    text
}
