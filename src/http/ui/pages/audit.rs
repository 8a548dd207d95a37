//! The page of the audit log.
//!
//! Shows the same entries as `/api/audit`.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::super::chrome::Page;
use super::super::shown;
use crate::http::App;
use crate::http::problem::Problem;
use crate::judging::plain::plain;
use crate::store::AuditEntry;

const SHOWN: i64 = 200;

#[derive(Debug, Template)]
#[template(path = "audit.html")]
struct Audit {
    page: Page,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    at: String,
    who: String,
    action: String,
    subject: String,
    detail: String,
}

pub(crate) async fn show(State(app): State<App>, page: Page) -> Result<Response, Problem> {
    let entries = app.services.store.audit(SHOWN).await?;
    shown(&Audit { rows: entries.iter().map(row).collect(), page })
}

fn row(entry: &AuditEntry) -> Row {
    Row {
        at: entry.at.format("%Y-%m-%d %H:%M:%S").to_string(),
        who: plain(&entry.who).into_owned(),
        action: entry.action.clone(),
        subject: plain(&entry.subject).into_owned(),
        detail: entry.detail.as_ref().map(|detail| plain(&detail.to_string()).into_owned()).unwrap_or_default(),
    }
}
