//! The socket of a connection, with the times that its client may take, and what the connection does at the moment.

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

use super::registry::{Registered, Stage};

/// How long the client of a connection may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// To send the head of a request.
    pub(super) head: Duration,
    /// Between two requests.
    pub(super) keep_alive: Duration,
    /// To take more of an answer.
    pub(super) write: Duration,
}

/// What a connection does. Shared by its socket, its service and the body of its answer.
#[derive(Debug)]
pub(super) struct Activity {
    registered: Registered,
    phase: AtomicU8,
}

/// Waits for the head of a request.
const WAITS: u8 = 0;
/// Reads a request, works on it, or writes the answer.
const SERVES: u8 = 1;
/// The answer is complete; its last bytes are not sent yet.
const ANSWERED: u8 = 2;

impl Activity {
    pub(super) fn new(registered: Registered) -> Arc<Self> {
        Arc::new(Self { registered, phase: AtomicU8::new(WAITS) })
    }

    fn waits(&self) -> bool {
        self.phase.load(Ordering::Acquire) == WAITS
    }

    /// A request's head has arrived; false if the connection has been closed for another one.
    pub(super) fn begin(&self, has_body: bool) -> bool {
        self.phase.store(SERVES, Ordering::Release);
        self.registered.set(if has_body { Stage::Receives } else { Stage::Works })
    }

    /// The request is complete.
    fn received(&self) {
        self.registered.set(Stage::Works);
    }

    fn answered(&self) {
        self.phase.store(ANSWERED, Ordering::Release);
    }

    /// Everything written is sent; true if that was the end of an answer.
    fn sent(&self) -> bool {
        let is_end = self.phase.compare_exchange(ANSWERED, WAITS, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if is_end {
            self.registered.set(Stage::Waits);
        }
        is_end
    }
}

/// The body of a request, whose end it reports.
#[derive(Debug)]
pub(super) struct Received {
    body: Incoming,
    activity: Arc<Activity>,
}

impl Received {
    pub(super) const fn new(body: Incoming, activity: Arc<Activity>) -> Self {
        Self { body, activity }
    }
}

impl HttpBody for Received {
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

/// The body of an answer, whose end it reports.
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

/// A client's socket. Reading fails if the head of a request takes too long, writing if the client takes nothing.
#[derive(Debug)]
pub(super) struct Stream {
    tcp: TcpStream,
    activity: Arc<Activity>,
    timeouts: Timeouts,
    /// When the head of the next request must be complete.
    head_deadline: Pin<Box<Sleep>>,
    /// Bytes of that head have arrived, or it is the first one of the connection.
    is_head_begun: bool,
    /// When the client must have taken something; `None` while it does.
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

    /// The server flushes once it has handed over all that it has written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.tcp).poll_flush(context))?;
        if self.activity.sent() {
            self.is_head_begun = false;
            let until = Instant::now() + self.timeouts.keep_alive;
            self.head_deadline.as_mut().reset(until);
            // Registers the waker again: a deadline that passed during the request has consumed it, and the server need
            // not read before it waits.
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
