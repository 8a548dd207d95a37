//! The author of a change.
//!
//! Handlers take [`Actor`] as a parameter.

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use serde_json::Value;

use super::App;
use super::auth::Principal;
use super::peer::Peer;
use super::problem::Problem;
use crate::store::AuditEntry;

/// The visitor and address, like `token desk at 10.0.0.7`.
#[derive(Debug, Clone)]
pub(crate) struct Actor(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Actor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let visitor = parts.extensions.get::<Principal>().map_or("nobody known", |visitor| visitor.name.as_ref());
        let peer = parts.extensions.get::<ConnectInfo<Peer>>();
        Ok(Self(match peer {
            Some(ConnectInfo(Peer(address))) => format!("{visitor} at {}", address.ip()),
            None => visitor.to_owned(),
        }))
    }
}

impl Actor {
    /// Records a change in the audit log. If that fails, the process log still has it.
    pub(crate) async fn did(&self, app: &App, action: &str, subject: &str, detail: Option<Value>) {
        tracing::info!(who = self.0, action, subject, "admin action");
        let entry = AuditEntry {
            at: app.services.clock.now(),
            who: self.0.clone(),
            action: action.to_owned(),
            subject: subject.to_owned(),
            detail,
        };
        if let Err(error) = app.services.store.note_audit(&entry).await {
            tracing::error!(%error, who = self.0, action, subject, "writing the audit log failed");
        }
    }
}
