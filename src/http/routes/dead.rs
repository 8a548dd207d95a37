//! Dead letters: messages that cannot succeed, stored until a person decides.
//!
//! Sending again and dropping are recorded in the audit log.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use chrono::{DateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{LIMIT, LimitQuery, List, Parameter, Route, TimeoutClass, text};
use crate::broker::{DeadLetter, DeadSelection, OpenDeadLetter, Queue};
use crate::domain::excerpt::item_id_of;
use crate::http::App;
use crate::http::auth::{Access, Actor};
use crate::http::extract::{ApiJson, ApiPath, ApiQuery, page_limit};
use crate::http::problem::Problem;

fn selection(_generator: &mut SchemaGenerator) -> Schema {
    one_way_of_three("reason", "their label; delivery_limit for those that the broker gave up")
}

/// The schema of a selection: by ids, by a shared text, or all; exactly one.
pub(super) fn one_way_of_three(shared: &'static str, about: &'static str) -> Schema {
    let way = |name: &str, value: Schema| {
        schemars::json_schema!({
            "type": "object", "required": [name], "additionalProperties": false, "properties": {name: value}
        })
    };
    let ids = schemars::json_schema!({"type": "array", "minItems": 1, "items": {"type": "string"}});
    let all = schemars::json_schema!({"const": true});
    let by_text = schemars::json_schema!({"type": "string", "description": about});
    schemars::json_schema!({"oneOf": [way("ids", ids), way("all", all), way(shared, by_text)]})
}

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/api/dead", Access::Admin, "listDead", |method| on(method, list))
        .about("List dead letters, oldest first")
        .parameters(&[LIMIT])
        .answer::<List<Letter>>("The letters, without their bodies"),
    Route::get("/api/dead/{id}", Access::Admin, "getDead", |method| on(method, get))
        .about("One dead letter with its message")
        .parameters(&[Parameter::path("id", "as the list names it", text)])
        .answer::<OpenLetter>("The letter"),
    Route::post("/api/dead/requeue", Access::Admin, "requeueDead", |method| on(method, requeue))
        .about("Requeue dead letters")
        .body_of(selection)
        .answer::<Moved>("How many went back")
        .timeout(TimeoutClass::Long),
    Route::post("/api/dead/drop", Access::Admin, "dropDead", |method| on(method, throw_away))
        .about("Delete dead letters")
        .body_of(selection)
        .answer::<Moved>("How many are gone")
        .timeout(TimeoutClass::Long),
];

/// The reason of dead letters that the daemon did not write.
const NO_REASON: &str = "the broker gave it up: it was delivered again and again and never settled, as when a worker \
                         crashes over it; no reason was recorded";

/// A dead letter in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Letter {
    id: String,
    /// `enrichment_queue` or `factcheck`; null if unknown.
    queue: Option<&'static str>,
    /// The reason as a word; null if the broker gave up.
    label: Option<String>,
    /// The reason for a person.
    error: String,
    attempts: Option<u32>,
    failed_at: Option<DateTime<Utc>>,
    message_id: Option<String>,
    /// The message's item id, if readable.
    item_id: Option<String>,
    /// Length of the message.
    bytes: usize,
}

/// A dead letter with its message.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OpenLetter {
    #[serde(flatten)]
    letter: Letter,
    /// The message; other bytes than UTF-8 appear as U+FFFD.
    body: String,
    /// Whether `body` is exactly the whole message.
    exact: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Selection {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    all: bool,
    /// A label; `delivery_limit` if the broker gave up.
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterAction {
    Requeue,
    Drop,
}

/// Number of messages that were moved.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Moved {
    count: usize,
}

impl Moved {
    pub(crate) fn of(count: u64) -> Self {
        Self { count: usize::try_from(count).unwrap_or(usize::MAX) }
    }
}

impl From<&DeadLetter> for Letter {
    fn from(dead: &DeadLetter) -> Self {
        Self {
            id: dead.id.clone(),
            queue: dead.origin.map(crate::broker::QueueName::as_str),
            label: dead.label.clone(),
            error: dead.error.clone().unwrap_or_else(|| NO_REASON.to_owned()),
            attempts: dead.attempts,
            failed_at: dead.failed_at,
            message_id: dead.message_id.clone(),
            item_id: item_id_of(&dead.excerpt),
            bytes: dead.bytes,
        }
    }
}

impl From<&OpenDeadLetter> for OpenLetter {
    fn from(dead: &OpenDeadLetter) -> Self {
        let body = String::from_utf8_lossy(&dead.body);
        let exact = matches!(body, std::borrow::Cow::Borrowed(_)) && !dead.letter.is_cut;
        Self { letter: (&dead.letter).into(), body: body.into_owned(), exact }
    }
}

impl Selection {
    pub(crate) const fn of_ids(ids: Vec<String>) -> Self {
        Self { ids, all: false, reason: None }
    }

    pub(crate) const fn of_reason(reason: String) -> Self {
        Self { ids: Vec::new(), all: false, reason: Some(reason) }
    }

    fn selected(&self) -> Result<Selected<'_>, Problem> {
        let advice =
            "name the letters, {\"ids\": [\"…\"]}, or their reason, {\"reason\": \"…\"}, or say {\"all\": true}";
        Selected::new(self.all, &self.ids, self.reason.as_deref(), advice)
    }
}

/// A checked selection.
#[derive(Debug, Clone, Copy)]
pub(super) enum Selected<'a> {
    All,
    Ids(&'a [String]),
    /// All with this reason or webhook.
    Of(&'a str),
}

impl<'a> Selected<'a> {
    /// Requires exactly one way: an empty selection must not select everything.
    pub(super) fn new(all: bool, ids: &'a [String], shared: Option<&'a str>, advice: &str) -> Result<Self, Problem> {
        match (all, ids.is_empty(), shared) {
            (true, true, None) => Ok(Self::All),
            (false, false, None) => Ok(Self::Ids(ids)),
            (false, true, Some(shared)) => Ok(Self::Of(shared)),
            _ => Err(Problem::invalid(advice)),
        }
    }

    /// For the audit log.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Of(shared) => format!("all of {shared}"),
            Self::Ids(ids) => ids.join(", ").chars().take(200).collect(),
        }
    }
}

pub(crate) async fn moved(app: &App, who: &Actor, selection: &Selection, how: LetterAction) -> Result<usize, Problem> {
    let selected = selection.selected()?;
    let queue = app.queue.as_ref();
    let which = match selected {
        Selected::All => DeadSelection::All,
        Selected::Of(reason) => DeadSelection::Reason(reason),
        Selected::Ids(ids) => DeadSelection::Ids(ids),
    };
    let (count, action) = match how {
        LetterAction::Requeue => (queue.dead_requeue(which).await?, "dead.requeue"),
        LetterAction::Drop => (queue.dead_drop(which).await?, "dead.drop"),
    };
    if count > 0 {
        who.did(app, action, &selected.subject(), Some(serde_json::json!({ "letters": count }))).await;
    } else if !selection.all {
        return Err(Problem::not_found(
            "none of these dead letters is there any more, or can go back; see GET /api/dead",
        ));
    }
    Ok(count)
}

async fn letters(queue: &dyn Queue, limit: Option<i64>) -> Result<List<Letter>, Problem> {
    // The broker holds back each listed message.
    let limit = page_limit(limit)?;
    Ok(List::whole(queue.dead_list(limit).await?.iter().map(Letter::from).collect()))
}

async fn letter(queue: &dyn Queue, id: &str) -> Result<OpenLetter, Problem> {
    let found = queue.dead_get(id).await?;
    found
        .as_ref()
        .map(OpenLetter::from)
        .ok_or_else(|| Problem::not_found("there is no dead letter of that id; see GET /api/dead"))
}

async fn list(State(app): State<App>, ApiQuery(query): ApiQuery<LimitQuery>) -> Result<Json<List<Letter>>, Problem> {
    letters(app.queue.as_ref(), query.limit).await.map(Json)
}

async fn get(State(app): State<App>, ApiPath(id): ApiPath) -> Result<Json<OpenLetter>, Problem> {
    letter(app.queue.as_ref(), &id).await.map(Json)
}

async fn requeue(
    State(app): State<App>,
    who: Actor,
    ApiJson(selection): ApiJson<Selection>,
) -> Result<Json<Moved>, Problem> {
    Ok(Json(Moved { count: moved(&app, &who, &selection, LetterAction::Requeue).await? }))
}

async fn throw_away(
    State(app): State<App>,
    who: Actor,
    ApiJson(selection): ApiJson<Selection>,
) -> Result<Json<Moved>, Problem> {
    Ok(Json(Moved { count: moved(&app, &who, &selection, LetterAction::Drop).await? }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::broker::QueueName;

    fn dead(body: &[u8]) -> DeadLetter {
        DeadLetter {
            id: "dl_1".into(),
            origin: Some(QueueName::Factcheck),
            label: Some("not_json".into()),
            error: Some("the message is not JSON".into()),
            attempts: Some(2),
            failed_at: None,
            message_id: None,
            excerpt: body.to_vec(),
            bytes: body.len(),
            is_cut: false,
        }
    }

    fn open(letter: DeadLetter) -> OpenLetter {
        let body = letter.excerpt.clone();
        OpenLetter::from(&OpenDeadLetter { letter, body })
    }

    #[test]
    fn a_letter_shows_its_reason_and_only_an_opened_one_its_message() {
        let whole = dead(br#"{"item_id":"tg:a:1"}"#);
        let shown = serde_json::to_value(Letter::from(&whole)).unwrap();
        assert_eq!(
            shown,
            json!({"id": "dl_1", "queue": "factcheck", "label": "not_json", "error": "the message is not JSON",
                "attempts": 2, "failed_at": null, "message_id": null, "item_id": "tg:a:1", "bytes": 20})
        );
        let opened = serde_json::to_value(open(whole)).unwrap();
        assert_eq!((&opened["body"], &opened["exact"]), (&json!("{\"item_id\":\"tg:a:1\"}"), &json!(true)));
        assert_eq!(opened["id"], "dl_1");
        assert!(!open(dead(&[b'{', 0xff])).exact);
        assert!(!open(DeadLetter { bytes: 2_000_000, is_cut: true, ..dead(b"{") }).exact);
    }

    #[test]
    fn letter_names_cause_when_broker_gave_it_up() {
        let letter = Letter::from(&DeadLetter { label: None, error: None, attempts: None, ..dead(b"x") });
        assert!(letter.error.contains("the broker gave it up"), "{}", letter.error);
        assert_eq!(letter.label, None);
    }

    #[test]
    fn nothing_never_means_everything() {
        let read = |value| serde_json::from_value::<Selection>(value).unwrap();
        assert!(read(json!({})).selected().is_err());
        assert!(read(json!({"ids": []})).selected().is_err());
        assert!(read(json!({"ids": ["a"], "all": true})).selected().is_err());
        assert!(read(json!({"ids": ["a"], "reason": "not_json"})).selected().is_err());
        for one in [json!({"all": true}), json!({"ids": ["a"]}), json!({"reason": "not_json"})] {
            assert!(read(one).selected().is_ok());
        }
        assert!(serde_json::from_value::<Selection>(json!({"id": "a"})).is_err(), "a slip of the pen is told");
    }
}
