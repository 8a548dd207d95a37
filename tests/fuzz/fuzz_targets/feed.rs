//! A feed: RSS, Atom, JSON feed, or whatever stands where one was.

#![no_main]

use corroborate_fuzz::reading::feeds::read_feed;
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|data: &[u8]| {
    let Ok(url) = Url::parse("https://news.example/feed") else { return };
    drop(read_feed(data, Some("application/xml"), &url));
});
