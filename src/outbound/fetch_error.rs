//! Why a page was not fetched.
//!
//! To add a cause, add a variant with its label and a sample, and the label to the metrics catalogue.

use std::time::Duration;

use super::body_error::{chain, innermost};
use super::excerpt::excerpt;
use super::ssrf_guard::AddressRefused;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the address of the page cannot be used: too long, without a host, or with a user name")]
    BadUrl,
    #[error("only http and https pages are fetched")]
    Scheme,
    #[error("{host} is not on the public internet")]
    PrivateAddress { host: String },
    /// The host is this machine. Its services may trust local requests.
    #[error("{host} is an address of this machine, whose own services are not read")]
    OwnAddress { host: String },
    #[error("port {port} of {host} is not fetched from; pages have ports 80 and 443, and those of FETCH_EXTRA_PORTS")]
    Port { host: String, port: u16 },
    #[error("the name of the host cannot be resolved")]
    Dns,
    #[error("the page was not received in time")]
    Timeout,
    /// The data came too slowly.
    #[error("the page was received too slowly")]
    TooSlow,
    #[error("the page's server could not be reached: {detail}")]
    Connect { detail: String },
    #[error("the page's server has no valid certificate: {detail}")]
    Tls { detail: String },
    #[error("the page redirects too often")]
    TooManyRedirects,
    #[error("the page's server answered with status {0}")]
    Status(u16),
    /// A refusal with a browser check or a captcha. It is not evaded.
    #[error("the page's server blocks automated requests (status {status})")]
    BotWall { status: u16 },
    #[error("the page is larger than allowed")]
    TooLarge,
    #[error("the address holds no page but {content_type}")]
    NotAPage { content_type: String },
    #[error("the page cannot be decompressed: {detail}")]
    Encoding { detail: String },
    #[error("{host} is on the deny list")]
    Denied { host: String },
    /// The site's `robots.txt` forbids the page.
    #[error("robots.txt of {host} does not allow it")]
    Robots { host: String },
    /// The server failed, so the rules are unknown. The file is requested again after some minutes.
    #[error("robots.txt of {host} is unavailable, so its pages are not fetched")]
    RobotsUnreachable { host: String },
    /// Not requested: the host named a cool-down.
    #[error("{host} asked us to wait another {} s", rest.as_secs())]
    HostResting { host: String, rest: Duration },
    /// Not requested: no permit came in the page's time.
    #[error("no permit for {host} in time: too many of its pages are requested at once")]
    HostBusy { host: String },
    /// Received, but no parser was free.
    #[error("the page was received, but this machine is too busy to parse it")]
    ReadersBusy,
    #[error("the item's time ran out before the page was received")]
    Deadline,
    #[error("no recording for the page; record it, or fetch without replay")]
    NoRecording,
}

impl FetchError {
    /// For metrics and the stored failure.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::BadUrl => "bad_url",
            Self::Scheme => "scheme",
            Self::PrivateAddress { .. } => "private_address",
            Self::OwnAddress { .. } => "own_address",
            Self::Port { .. } => "port",
            Self::Dns => "dns",
            Self::Timeout => "timeout",
            Self::TooSlow => "too_slow",
            Self::Connect { .. } => "connect",
            Self::Tls { .. } => "tls",
            Self::TooManyRedirects => "too_many_redirects",
            Self::Status(_) => "status",
            Self::BotWall { .. } => "bot_wall",
            Self::TooLarge => "too_large",
            Self::NotAPage { .. } => "not_a_page",
            Self::Encoding { .. } => "encoding",
            Self::Denied { .. } => "denied",
            Self::Robots { .. } => "robots",
            Self::RobotsUnreachable { .. } => "robots_unreachable",
            Self::HostResting { .. } => "host_resting",
            Self::HostBusy { .. } => "host_busy",
            Self::ReadersBusy => "readers_busy",
            Self::Deadline => "deadline",
            Self::NoRecording => "no_recording",
        }
    }

    /// Whether a later attempt may succeed. Other errors come from the page or our rules.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Dns
            | Self::Timeout
            | Self::TooSlow
            | Self::Connect { .. }
            | Self::RobotsUnreachable { .. }
            | Self::HostResting { .. }
            | Self::HostBusy { .. }
            | Self::ReadersBusy
            | Self::Deadline => true,
            Self::Status(status) => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

impl From<AddressRefused> for FetchError {
    fn from(refused: AddressRefused) -> Self {
        match refused {
            AddressRefused::NotPublic { host } => Self::PrivateAddress { host },
            AddressRefused::Own { host } => Self::OwnAddress { host },
            AddressRefused::Port { host, port } => Self::Port { host, port },
        }
    }
}

pub(super) fn classify(error: &reqwest::Error) -> FetchError {
    for cause in chain(error) {
        if let Some(refused) = cause.downcast_ref::<AddressRefused>() {
            return refused.clone().into();
        }
        if let Some(tls) = tls_error(cause) {
            return FetchError::Tls { detail: excerpt(&tls.to_string()) };
        }
    }
    if error.is_timeout() {
        FetchError::Timeout
    } else if error.is_dns() {
        FetchError::Dns
    } else if error.is_builder() {
        FetchError::BadUrl
    } else {
        FetchError::Connect { detail: innermost(error) }
    }
}

/// TLS errors are nested inside I/O errors, which do not return them as their source.
fn tls_error<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    tls_error(cause.downcast_ref::<std::io::Error>()?.get_ref()?)
}

/// For tests with a table.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub(crate) fn all() -> Vec<FetchError> {
        let (host, detail) = (|| "a.example".to_owned(), || "why".to_owned());
        vec![
            FetchError::BadUrl,
            FetchError::Scheme,
            FetchError::PrivateAddress { host: host() },
            FetchError::OwnAddress { host: host() },
            FetchError::Port { host: host(), port: 6379 },
            FetchError::Dns,
            FetchError::Timeout,
            FetchError::TooSlow,
            FetchError::Connect { detail: detail() },
            FetchError::Tls { detail: detail() },
            FetchError::TooManyRedirects,
            FetchError::Status(404),
            FetchError::Status(429),
            FetchError::Status(503),
            FetchError::BotWall { status: 403 },
            FetchError::TooLarge,
            FetchError::NotAPage { content_type: detail() },
            FetchError::Encoding { detail: detail() },
            FetchError::Denied { host: host() },
            FetchError::Robots { host: host() },
            FetchError::RobotsUnreachable { host: host() },
            FetchError::HostResting { host: host(), rest: Duration::from_secs(2) },
            FetchError::HostBusy { host: host() },
            FetchError::ReadersBusy,
            FetchError::Deadline,
            FetchError::NoRecording,
        ]
    }
}
