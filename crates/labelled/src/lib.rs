//! Labelled sets for the tests that measure: the whole ones where they are at hand, else the samples that ship (`tests/data`).
//! A set of which nothing may ship is skipped, saying so.

#![expect(clippy::print_stdout, reason = "the output of a test says what it was measured on")]

use std::path::{Path, PathBuf};

/// One file of the labelled sets, or `None` (and a printed line) where there is none.
pub fn read(relative: &str) -> Option<String> {
    std::fs::read_to_string(at(relative)?).ok()
}

/// Where a file or folder of the labelled sets is, or `None` (and a printed line).
pub fn at(relative: &str) -> Option<PathBuf> {
    let whole = folder().join(relative);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(relative);
    if whole.exists() {
        Some(whole)
    } else if sample.exists() {
        println!(
            "a sample of {relative}: the whole set is not in the folder of labelled sets (CORROBORATE_SHARED_DATA)"
        );
        Some(sample)
    } else {
        println!("skipped: {relative} is not in the folder of labelled sets (CORROBORATE_SHARED_DATA)");
        None
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch, no configuration of the product")]
fn folder() -> PathBuf {
    std::env::var_os("CORROBORATE_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
}
