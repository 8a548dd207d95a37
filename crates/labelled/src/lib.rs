//! Labelled sets for the tests that measure: the whole ones where they are at hand, else the samples that ship (`tests/data`).
//! A set of which nothing may ship is skipped, saying so.

#![expect(clippy::print_stdout, reason = "the output of a test says what it was measured on")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// One file of the labelled sets, unpacked where it is packed (`.gz`), or `None` (and a printed line) where there is none.
pub fn read(relative: &str) -> Option<String> {
    let path = at(relative)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).ok()?).read_to_string(&mut text).ok()?;
        return Some(text);
    }
    std::fs::read_to_string(path).ok()
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
