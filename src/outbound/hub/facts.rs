//! The facts about a file in a hub's response headers.

use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue};

/// Checksum and length of a large file, in the redirect to its store.
const LINKED_ETAG: &str = "x-linked-etag";
const LINKED_SIZE: &str = "x-linked-size";
/// The commit of a branch or tag.
const COMMIT: &str = "x-repo-commit";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Bytes.
    pub size: Option<u64>,
    /// Lower-case hexadecimal. Hubs send it for large files only.
    pub sha256: Option<String>,
    pub commit: Option<String>,
    linked: bool,
}

impl FileFacts {
    pub fn known(size: Option<u64>, sha256: Option<String>) -> Self {
        Self { size, sha256, commit: None, linked: false }
    }

    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let linked = text(LINKED_ETAG);
        // A mirror that serves the file itself sends the checksum as its etag.
        let tag = linked.or_else(|| text(ETAG.as_str()));
        let size = if linked.is_some() { text(LINKED_SIZE) } else { text(CONTENT_LENGTH.as_str()) };
        Self {
            size: size.and_then(|size| size.parse().ok()),
            sha256: tag.and_then(checksum),
            commit: text(COMMIT).map(str::to_owned),
            linked: linked.is_some(),
        }
    }

    /// Whether the response describes the file but redirects to it.
    pub(super) const fn is_linked(&self) -> bool {
        self.linked
    }
}

fn checksum(tag: &str) -> Option<String> {
    let tag = tag.trim_start_matches("W/").trim_matches('"');
    (tag.len() == 64 && tag.bytes().all(|letter| letter.is_ascii_hexdigit())).then(|| tag.to_ascii_lowercase())
}

/// Returns a strong etag. A weak one must not be sent with a range.
pub(super) fn strong_tag(value: Option<&HeaderValue>) -> Option<String> {
    let tag = value?.to_str().ok()?.trim();
    (tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2).then(|| tag.to_owned())
}

/// The first byte of `Content-Range: bytes 5-9/10`.
pub(super) fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.trim().strip_prefix("bytes")?.trim().split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::super::response::header_map;
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        header_map(&pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn large_files_have_their_checksum_and_small_ones_their_length() {
        let sum = "CC324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046";
        let quoted = format!("\"{sum}\"");
        let large = FileFacts::of(&headers(&[
            ("x-linked-etag", &quoted),
            ("x-linked-size", "117"),
            ("content-length", "1300"),
            ("etag", "\"of-the-redirect\""),
            ("x-repo-commit", "abc"),
        ]));
        assert_eq!((large.size, large.commit.as_deref(), large.is_linked()), (Some(117), Some("abc"), true));
        assert_eq!(large.sha256, Some(sum.to_lowercase()));
        let small = FileFacts::of(&headers(&[
            ("etag", "\"43a6b699feac31f6eda6b77d6d605e7b4ebdb86e\""),
            ("content-length", "9"),
        ]));
        assert_eq!((small.size, small.sha256, small.linked), (Some(9), None, false));
        let mirror = FileFacts::of(&headers(&[("etag", &quoted), ("content-length", "117")]));
        assert_eq!(mirror.sha256, Some(sum.to_lowercase()));
    }

    #[test]
    fn weak_tags_guard_no_range_and_ranges_are_read() {
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        assert_eq!(strong_tag(Some(&value("\"a\""))), Some("\"a\"".to_owned()));
        assert!(
            [Some(&value("W/\"a\"")), Some(&value("a")), Some(&value("\"\"")), None]
                .into_iter()
                .all(|tag| strong_tag(tag).is_none())
        );
        assert_eq!(range_start(&headers(&[("content-range", "bytes 5-9/10")])), Some(5));
        assert_eq!(range_start(&headers(&[("content-range", "bytes */10")])), None);
    }
}
