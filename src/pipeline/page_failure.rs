//! Reasons why a page gives no evidence, each with a fixed stored word.
//! To add one, add a variant and its word, and list it in `NOT_HAD` if a retry may succeed.
//! Failures on our side are never stored.

use crate::outbound::FetchError;
use crate::parsing::ParseError;
use crate::reading::Junk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageFailure {
    /// The page itself: a paywall, an error page, no text.
    Junk(Junk),
    /// 404 or 410.
    NotFound,
    /// 401, 402, 403, 405, 406 or 451.
    Forbidden,
    /// 429.
    Throttled,
    /// 5xx.
    ServerError,
    /// Any other status without a page.
    Status,
    /// A transport error; the label of a [`FetchError`].
    Fetch(&'static str),
    /// The parser panicked.
    ReaderCrashed,
    /// The parser exceeded its time and may never end.
    ReaderTooSlow,
}

/// Failures after which a retry may succeed, unlike a paywall, a deleted page or a `robots.txt` rule.
const NOT_HAD: [&str; 17] = [
    "dns",
    "timeout",
    "too_slow",
    "connect",
    "tls",
    "encoding",
    "too_many_redirects",
    "robots_unreachable",
    "host_resting",
    "forbidden",
    "throttled",
    "server_error",
    "bot_wall",
    // A server failure, whatever its text.
    "error_page",
    "status",
    "reader_crashed",
    "reader_too_slow",
];

impl PageFailure {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Junk(junk) => junk.as_str(),
            Self::NotFound => "not_found",
            Self::Forbidden => "forbidden",
            Self::Throttled => "throttled",
            Self::ServerError => "server_error",
            Self::Status => "status",
            Self::Fetch(label) => label,
            Self::ReaderCrashed => "reader_crashed",
            Self::ReaderTooSlow => "reader_too_slow",
        }
    }

    /// Returns the failure to store; `None` if the parse never started.
    pub(super) const fn of_parsing(error: ParseError) -> Option<Self> {
        match error {
            ParseError::Crashed => Some(Self::ReaderCrashed),
            // Stored, so that no process parses the page again at once.
            ParseError::TooSlow => Some(Self::ReaderTooSlow),
            ParseError::NoPlace => None,
        }
    }

    pub(super) fn is_gone(word: &str) -> bool {
        word == Self::NotFound.as_str()
    }

    pub(super) fn was_not_had(word: &str) -> bool {
        NOT_HAD.contains(&word)
    }

    /// Returns the failure to store; `None` if our side or our rules caused it.
    pub(super) fn of(error: &FetchError) -> Option<Self> {
        Some(match error {
            FetchError::Status(404 | 410) => Self::NotFound,
            FetchError::Status(401 | 402 | 403 | 405 | 406 | 451) => Self::Forbidden,
            FetchError::Status(429) => Self::Throttled,
            FetchError::Status(500..) => Self::ServerError,
            FetchError::Status(_) => Self::Status,
            FetchError::BotWall { .. } => Self::Junk(Junk::BotWall),
            FetchError::NotAPage { .. } => Self::Junk(Junk::NotHtml),
            FetchError::Deadline
            | FetchError::HostBusy { .. }
            | FetchError::ReadersBusy
            | FetchError::Denied { .. }
            | FetchError::PrivateAddress { .. }
            | FetchError::OwnAddress { .. }
            | FetchError::Port { .. }
            | FetchError::BadUrl
            | FetchError::Scheme
            | FetchError::NoRecording => return None,
            FetchError::Dns
            | FetchError::Timeout
            | FetchError::TooSlow
            | FetchError::Connect { .. }
            | FetchError::Tls { .. }
            | FetchError::TooManyRedirects
            | FetchError::TooLarge
            | FetchError::Encoding { .. }
            | FetchError::Robots { .. }
            | FetchError::RobotsUnreachable { .. }
            | FetchError::HostResting { .. } => Self::Fetch(error.label()),
        })
    }
}

/// Whether an unstored error means that the page was missed.
pub(super) const fn could_not_ask(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Deadline | FetchError::HostBusy { .. } | FetchError::ReadersBusy | FetchError::NoRecording
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::every_fetch_error;

    #[test]
    fn fetch_error_is_stored_by_its_table_row_when_it_is_about_the_page() {
        let table = [
            ("bad_url", None),
            ("scheme", None),
            ("private_address", None),
            ("own_address", None),
            ("port", None),
            ("dns", Some(("dns", true))),
            ("timeout", Some(("timeout", true))),
            ("too_slow", Some(("too_slow", true))),
            ("connect", Some(("connect", true))),
            ("tls", Some(("tls", true))),
            ("too_many_redirects", Some(("too_many_redirects", true))),
            ("status", Some(("not_found", false))),
            ("status", Some(("throttled", true))),
            ("status", Some(("server_error", true))),
            ("bot_wall", Some(("bot_wall", true))),
            ("too_large", Some(("too_large", false))),
            ("not_a_page", Some(("not_html", false))),
            ("encoding", Some(("encoding", true))),
            ("denied", None),
            ("robots", Some(("robots", false))),
            ("robots_unreachable", Some(("robots_unreachable", true))),
            ("host_resting", Some(("host_resting", true))),
            ("host_busy", None),
            ("readers_busy", None),
            ("deadline", None),
            ("no_recording", None),
        ];
        let errors = every_fetch_error();
        assert_eq!(errors.len(), table.len());
        for (error, (label, expected)) in errors.iter().zip(table) {
            assert_eq!(error.label(), label);
            let stored = PageFailure::of(error).map(PageFailure::as_str);
            assert_eq!(stored.map(|word| (word, PageFailure::was_not_had(word))), expected, "{label}");
        }
    }

    #[test]
    fn page_is_stored_as_failed_when_its_parse_hangs_or_panics() {
        let stored = |error| PageFailure::of_parsing(error).map(PageFailure::as_str);
        assert_eq!(stored(ParseError::TooSlow), Some("reader_too_slow"));
        assert_eq!(stored(ParseError::Crashed), Some("reader_crashed"));
        assert_eq!(stored(ParseError::NoPlace), None, "the page was not looked at");
        assert!(PageFailure::was_not_had("reader_too_slow"));
    }

    #[test]
    fn walls_are_the_pages_nature_and_refusals_are_not() {
        for junk in Junk::ALL {
            let not_had = matches!(junk, Junk::BotWall | Junk::ErrorPage);
            assert_eq!(PageFailure::was_not_had(PageFailure::Junk(junk).as_str()), not_had, "{junk}");
        }
        for status in [401, 403, 451, 302] {
            assert!(PageFailure::was_not_had(PageFailure::of(&FetchError::Status(status)).unwrap().as_str()));
        }
    }
}
