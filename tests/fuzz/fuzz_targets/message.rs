//! A message of the queue. What is accepted has a text and a key.

#![no_main]

use corroborate_fuzz::domain::Item;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(item) = Item::parse(data) {
        assert!(!item.content_hash().is_empty());
        assert!(item.texts().next().is_some(), "an item without a text was accepted");
    }
});
