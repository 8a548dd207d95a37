//! A transport for tests: scripted replies in order, no sockets.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};

use super::error::AskError;
use super::request::ApiRequest;
use super::response::{ApiResponse, header_map, response};

#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Status, `Retry-After` if not empty, body.
    Answer(u16, &'static str, &'static str),
    Fail(AskError),
    Hang,
}

/// Replies in order; the last one repeats.
#[derive(Debug)]
pub(crate) struct Script {
    replies: Mutex<VecDeque<Reply>>,
    asked: AtomicUsize,
}

impl Script {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), asked: AtomicUsize::new(0) }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(super) async fn answer(&self, _: &ApiRequest, now: DateTime<Utc>) -> Result<ApiResponse, AskError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let reply = {
            let mut replies = self.replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front().unwrap() } else { replies.front().unwrap().clone() }
        };
        match reply {
            Reply::Answer(status, retry_after, body) => {
                let mut headers = Vec::new();
                if !retry_after.is_empty() {
                    headers.push(("retry-after".to_owned(), retry_after.to_owned()));
                }
                Ok(response(status, header_map(&headers), body.as_bytes().to_vec(), now))
            }
            Reply::Fail(error) => Err(error),
            Reply::Hang => std::future::pending().await,
        }
    }
}
