//! A page as a stranger's server sends it: bytes of any kind under a header that may lie.

#![no_main]

use corroborate_fuzz::reading::{own_passages, passages, read_page};
use libfuzzer_sys::fuzz_target;
use url::Url;

const TYPES: [Option<&str>; 4] =
    [None, Some("text/html"), Some("text/html; charset=windows-1251"), Some("application/xhtml+xml")];

fuzz_target!(|data: &[u8]| {
    let Some((first, body)) = data.split_first() else { return };
    let Ok(url) = Url::parse("https://news.example/2026/11/18/article") else { return };
    if let Ok(article) = read_page(body, TYPES[usize::from(*first) % TYPES.len()], &url) {
        drop((passages(&article), own_passages(&article)));
    }
});
