//! Labelled sets for the tests that measure. They do not ship with the project; without them those tests skip and say so.

use std::path::PathBuf;

/// One file of the labelled sets, or `None` (and a printed line) where the folder is absent.
pub(crate) fn read(relative: &str) -> Option<String> {
    let path = folder().join(relative);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: {relative} is not in the folder of labelled sets (CORROBORATE_SHARED_DATA)");
    }
    text
}

/// The folder of labelled sets, whether or not it is there.
#[expect(clippy::disallowed_methods, reason = "a test's own switch, no configuration of the product")]
pub(crate) fn folder() -> PathBuf {
    std::env::var("CORROBORATE_SHARED_DATA")
        .map_or_else(|_absent| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from)
}
