//! A configuration file. Every refusal is printed: the message is made of what the file holds.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use corroborate_fuzz::config::{LoadOptions, load};
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("corroborate-fuzz-{}.toml", std::process::id()))
});

fuzz_target!(|data: &[u8]| {
    if std::fs::write(&*FILE, data).is_err() {
        return;
    }
    let options = LoadOptions { file: Some(FILE.clone()), env: Vec::new() };
    if let Err(error) = load(options) {
        assert!(!error.to_string().is_empty());
    }
});
