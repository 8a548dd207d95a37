//! The socket of a connection, with the client's timeouts and the current activity.
//!
//! Reads fail if a request head is late; writes fail if the client takes no data.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::registry::{Registration, Stage};

#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// To send a request head.
    pub(super) head: Duration,
    /// Between two requests.
    pub(super) keep_alive: Duration,
    /// To take more of a response.
    pub(super) write: Duration,
}

/// Shared by the socket, service and response body.
#[derive(Debug)]
pub(super) struct Activity {
    registered: Registration,
    phase: AtomicU8,
}

const WAITS: u8 = 0;
const SERVES: u8 = 1;
/// The response is complete, but its last bytes are not sent.
const ANSWERED: u8 = 2;

impl Activity {
    pub(super) fn new(registered: Registration) -> Arc<Self> {
        Arc::new(Self { registered, phase: AtomicU8::new(WAITS) })
    }

    fn waits(&self) -> bool {
        self.phase.load(Ordering::Acquire) == WAITS
    }

    /// Records a request head; false if closed for another connection.
    pub(super) fn begin(&self, has_body: bool) -> bool {
        self.phase.store(SERVES, Ordering::Release);
        self.registered.set(if has_body { Stage::Receives } else { Stage::Works })
    }

    fn received(&self) {
        self.registered.set(Stage::Works);
    }

    fn answered(&self) {
        self.phase.store(ANSWERED, Ordering::Release);
    }

    /// Records that all bytes are sent; true at the end of a response.
    fn sent(&self) -> bool {
        let is_end = self.phase.compare_exchange(ANSWERED, WAITS, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if is_end {
            self.registered.set(Stage::Waits);
        }
        is_end
    }
}

#[derive(Debug)]
pub(super) struct RequestBody {
    body: Incoming,
    activity: Arc<Activity>,
}

impl RequestBody {
    pub(super) const fn new(body: Incoming, activity: Arc<Activity>) -> Self {
        Self { body, activity }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.activity.received();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    activity: Arc<Activity>,
}

impl Answer {
    pub(super) const fn new(body: Body, activity: Arc<Activity>) -> Self {
        Self { body, activity }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.activity.answered();
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    tcp: TcpStream,
    activity: Arc<Activity>,
    timeouts: Timeouts,
    head_deadline: Pin<Box<Sleep>>,
    /// Some bytes arrived, or it is the first head.
    is_head_begun: bool,
    /// `None` while the client takes data.
    write_deadline: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream, activity: Arc<Activity>, timeouts: Timeouts) -> Self {
        let head_deadline = Box::pin(tokio::time::sleep(timeouts.head));
        Self { tcp, activity, timeouts, head_deadline, is_head_begun: true, write_deadline: None }
    }

    fn wrote<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.write_deadline = None;
            return outcome;
        }
        let timeout = self.timeouts.write;
        let deadline = self.write_deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(context, buffer);
        if !self.activity.waits() {
            // The body timeout is set per route (`bodies.rs`).
            return read;
        }
        if read.is_ready() {
            if buffer.filled().len() > before && !self.is_head_begun {
                self.is_head_begun = true;
                let until = Instant::now() + self.timeouts.head;
                self.head_deadline.as_mut().reset(until);
            }
            return read;
        }
        ready!(self.head_deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(context, bytes);
        self.wrote(context, written)
    }

    /// The server flushes after it has passed on all data.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.tcp).poll_flush(context))?;
        if self.activity.sent() {
            self.is_head_begun = false;
            let until = Instant::now() + self.timeouts.keep_alive;
            self.head_deadline.as_mut().reset(until);
            // Registers the waker again, because a deadline during the request consumed it and the server need not read
            // before it waits.
            let _pending = self.head_deadline.as_mut().poll(context);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(context, buffers);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
}
