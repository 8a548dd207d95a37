//! The markup of a page: everything is inside two JSON-LD blocks of a page that is well formed.

#![no_main]

use corroborate_fuzz::reading::read_page;
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|data: &[u8]| {
    let Ok(url) = Url::parse("https://news.example/2026/11/18/article") else { return };
    let (first, second) = data.split_at(data.len() / 2);
    let script: &[u8] = b"<script type=\"application/ld+json\">";
    let page = [b"<html><head>", script, first, b"</script>", script, second, b"</script></head><body><p>Text.</p>"];
    drop(read_page(&page.concat(), Some("text/html; charset=utf-8"), &url));
});
