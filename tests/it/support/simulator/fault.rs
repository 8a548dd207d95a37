//! What can go wrong on the way, and when.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::{StreamExt as _, stream};

/// Long enough for the head and the first bytes to leave the server before the connection breaks.
const TRUNCATION_PAUSE: Duration = Duration::from_millis(30);

/// How a request is answered instead of properly.
#[derive(Debug, Clone)]
enum Instead {
    /// With this status and body.
    Answer { status: StatusCode, kind: HeaderValue, body: Bytes },
    /// The connection is closed without a word.
    Outage,
    /// The head and these bytes of a longer body, then the connection is closed.
    Truncated { kind: HeaderValue, body: Bytes },
    /// Properly after all, only late.
    Nothing,
}

/// A fault at one target, with the requests it strikes.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    instead: Instead,
    headers: Vec<(HeaderName, HeaderValue)>,
    delay: Duration,
    /// Requests that are still served before it strikes.
    spared: u64,
    /// Requests it strikes, where bounded.
    strikes: Option<u64>,
}

impl Fault {
    fn of(instead: Instead) -> Self {
        Self { instead, headers: Vec::new(), delay: Duration::ZERO, spared: 0, strikes: None }
    }

    /// An answer with this status and an empty body.
    pub(crate) fn status(status: u16) -> Self {
        Self::answer(status, "text/plain", "")
    }

    /// An answer with this status, content type and body; a 200 with prose is a provider's way to refuse.
    pub(crate) fn answer(status: u16, kind: &str, body: impl Into<Bytes>) -> Self {
        let status = StatusCode::from_u16(status).expect("a test names a real status");
        let kind = HeaderValue::from_str(kind).expect("a test names a real content type");
        Self::of(Instead::Answer { status, kind, body: body.into() })
    }

    /// The connection is closed without an answer.
    pub(crate) fn outage() -> Self {
        Self::of(Instead::Outage)
    }

    /// The body breaks off after these bytes.
    pub(crate) fn truncated(kind: &str, body: impl Into<Bytes>) -> Self {
        let kind = HeaderValue::from_str(kind).expect("a test names a real content type");
        Self::of(Instead::Truncated { kind, body: body.into() })
    }

    /// The proper answer, this late.
    pub(crate) fn slow(delay: Duration) -> Self {
        Self::of(Instead::Nothing).delayed(delay)
    }

    /// Strikes only after this time.
    pub(crate) fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// With a `Retry-After` as it stands, sensible or not.
    pub(crate) fn retry_after(self, value: &str) -> Self {
        self.header("retry-after", value)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::try_from(name).expect("a test names a real header");
        self.headers.push((name, HeaderValue::from_str(value).expect("a test names a real header value")));
        self
    }

    /// Serves this many requests first: a throttle.
    pub(crate) fn after(mut self, requests: u64) -> Self {
        self.spared = requests;
        self
    }

    /// Strikes this many requests, then it is over.
    pub(crate) fn times(mut self, requests: u64) -> Self {
        self.strikes = Some(requests);
        self
    }

    /// Counts a request; the fault, where it strikes this one.
    pub(super) fn meet(&mut self) -> Option<Self> {
        if self.spared > 0 {
            self.spared -= 1;
            return None;
        }
        match &mut self.strikes {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        Some(self.clone())
    }

    /// The answer; `None` where the proper one is to follow.
    pub(super) async fn play(self) -> Option<Response> {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let broken = || Err::<Bytes, _>(io::Error::other("the simulator breaks off here"));
        let (status, kind, body) = match self.instead {
            Instead::Nothing => return None,
            Instead::Answer { status, kind, body } => (status, kind, Body::from(body)),
            Instead::Outage => {
                // A body that fails at once takes the head with it, which is still in the server's buffer.
                let nothing = stream::once(async move { broken() });
                (StatusCode::OK, HeaderValue::from_static("text/plain"), Body::from_stream(nothing))
            }
            Instead::Truncated { kind, body } => {
                let end = stream::once(async move {
                    tokio::time::sleep(TRUNCATION_PAUSE).await;
                    broken()
                });
                let start = stream::once(async move { Ok(body) });
                (StatusCode::OK, kind, Body::from_stream(start.chain(end)))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response.headers_mut().extend(self.headers);
        Some(response)
    }
}
