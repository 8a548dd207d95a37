//! Decides whether a response is a page, by content type and first bytes. Pure.

/// Whether the `reading` crate can read a content type. Feeds and other XML count; JSON does not.
pub(super) fn is_readable(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "" | "text/html" | "text/plain" | "text/xml" | "application/xml" | "application/xhtml+xml")
        || essence.ends_with("+xml") && essence != "image/svg+xml"
        // For unknown types the body decides.
        || matches!(essence.as_str(), "application/octet-stream" | "unknown/unknown" | "content/unknown" | "none")
}

pub(super) fn of_binary(body: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 7] = [
        (b"%PDF-", "application/pdf"),
        (b"\x89PNG", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x7fELF", "application/x-executable"),
        (b"RIFF", "application/x-riff"),
    ];
    if let Some((_, kind)) = KINDS.iter().find(|(magic, _)| body.starts_with(magic)) {
        return Some(kind);
    }
    // UTF-16 and UTF-32 with a byte order mark, and UTF-16 markup, contain NULs. Markup may contain stray ones; other
    // text does not.
    let is_wide = [b"\xff\xfe".as_slice(), b"\xfe\xff", b"\0\0\xfe\xff", b"<\0", b"\0<"]
        .iter()
        .any(|mark| body.starts_with(mark));
    let is_markup = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start().starts_with(b"<");
    (!is_wide && !is_markup && body.iter().take(512).any(|byte| *byte == 0)).then_some("application/octet-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_with_nuls_is_a_page_when_it_is_markup() {
        for page in [b"<html>\0<p>x".as_slice(), b"\xef\xbb\xbf\n<!doctype html>\0", b"<\0p\0>\0", b"plain"] {
            assert_eq!(of_binary(page), None, "{page:?}");
        }
        for other in [b"ab\0cd".as_slice(), b"\0\0\0\x18ftyp", b"%PDF-1.7"] {
            assert!(of_binary(other).is_some(), "{other:?}");
        }
    }
}
