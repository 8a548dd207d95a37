//! What a text says in numbers and days, in each language that has rules of its own.

#![no_main]

use corroborate_fuzz::language::numbers::quantities;
use libfuzzer_sys::fuzz_target;

const LANGUAGES: [Option<&str>; 5] = [None, Some("en"), Some("ru"), Some("uk"), Some("de")];

fuzz_target!(|data: &[u8]| {
    let Some((first, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let language = LANGUAGES[usize::from(*first) % LANGUAGES.len()];
    // Each quantity stands in the text where it says.
    for quantity in quantities(&text, language) {
        let end = quantity.start + quantity.text.len();
        assert_eq!(text.get(quantity.start..end), Some(quantity.text.as_str()), "{quantity:?}");
    }
});
