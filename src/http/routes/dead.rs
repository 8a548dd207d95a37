//! Dead letters: messages that cannot succeed, stored until a person decides.
//!
//! Sending again and dropping are recorded in the audit log.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use chrono::{DateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Answer, Content, List, Parameter, Place, Route, TimeoutClass, Verb, count};
use crate::broker::{DeadLetter, DeadSelection, OpenDeadLetter, Queue};
use crate::domain::excerpt::item_id_of;
use crate::http::App;
use crate::http::auth::Access;
use crate::http::extract::{ApiJson, ApiPath, ApiQuery, page_limit};
use crate::http::problem::Problem;
use crate::http::who::Actor;

const SELECTION: Option<Content> = Some(Content::json(selection));

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
    Route {
        verb: Verb::Get,
        path: "/api/dead",
        access: Access::Admin,
        patience: TimeoutClass::Short,
        operation: "listDead",
        summary: "List dead letters, oldest first",
        parameters: &[Parameter {
            name: "limit",
            place: Place::Query,
            about: "maximum number; 50 when absent",
            schema: count,
        }],
        body: None,
        answer: Answer::json("The letters, without their bodies", SchemaGenerator::subschema_for::<List<Letter>>),
        mount: |method| on(method, list),
    },
    Route {
        verb: Verb::Get,
        path: "/api/dead/{id}",
        access: Access::Admin,
        patience: TimeoutClass::Short,
        operation: "getDead",
        summary: "One dead letter with its message",
        parameters: &[Parameter { name: "id", place: Place::Path, about: "as the list names it", schema: super::text }],
        body: None,
        answer: Answer::json("The letter", SchemaGenerator::subschema_for::<OpenLetter>),
        mount: |method| on(method, get),
    },
    Route {
        verb: Verb::Post,
        path: "/api/dead/requeue",
        access: Access::Admin,
        patience: TimeoutClass::Long,
        operation: "requeueDead",
        summary: "Requeue dead letters",
        parameters: &[],
        body: SELECTION,
        answer: Answer::json("How many went back", SchemaGenerator::subschema_for::<Moved>),
        mount: |method| on(method, requeue),
    },
    Route {
        verb: Verb::Post,
        path: "/api/dead/drop",
        access: Access::Admin,
        patience: TimeoutClass::Long,
        operation: "dropDead",
        summary: "Delete dead letters",
        parameters: &[],
        body: SELECTION,
        answer: Answer::json("How many are gone", SchemaGenerator::subschema_for::<Moved>),
        mount: |method| on(method, throw_away),
    },
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

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    pub(crate) limit: Option<i64>,
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

    /// Requires exactly one way: an empty selection must not select everything.
    fn check(&self) -> Result<(), Problem> {
        match (self.all, self.ids.is_empty(), self.reason.is_none()) {
            (true, true, true) | (false, false, true) | (false, true, false) => Ok(()),
            _ => Err(Problem::invalid(
                "name the letters, {\"ids\": [\"…\"]}, or their reason, {\"reason\": \"…\"}, or say {\"all\": true}",
            )),
        }
    }

    /// Returns an error if none was moved.
    fn answer(&self, moved: usize) -> Result<usize, Problem> {
        if moved == 0 && !self.all {
            return Err(Problem::not_found(
                "none of these dead letters is there any more, or can go back; see GET /api/dead",
            ));
        }
        Ok(moved)
    }

    fn subject(&self) -> String {
        match &self.reason {
            _ if self.all => "all".to_owned(),
            Some(reason) => format!("all of {reason}"),
            None => self.ids.join(", ").chars().take(200).collect(),
        }
    }
}

pub(crate) async fn moved(app: &App, who: &Actor, selection: &Selection, how: LetterAction) -> Result<usize, Problem> {
    selection.check()?;
    let queue = app.queue.as_ref();
    let which = match &selection.reason {
        _ if selection.all => DeadSelection::All,
        Some(reason) => DeadSelection::Reason(reason),
        None => DeadSelection::Ids(&selection.ids),
    };
    let (count, action) = match how {
        LetterAction::Requeue => (queue.dead_requeue(which).await?, "dead.requeue"),
        LetterAction::Drop => (queue.dead_drop(which).await?, "dead.drop"),
    };
    if count > 0 {
        who.did(app, action, &selection.subject(), Some(serde_json::json!({ "letters": count }))).await;
    }
    selection.answer(count)
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

async fn list(State(app): State<App>, ApiQuery(query): ApiQuery<ListQuery>) -> Result<Json<List<Letter>>, Problem> {
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
        assert!(read(json!({})).check().is_err());
        assert!(read(json!({"ids": []})).check().is_err());
        assert!(read(json!({"ids": ["a"], "all": true})).check().is_err());
        assert!(read(json!({"ids": ["a"], "reason": "not_json"})).check().is_err());
        for one in [json!({"all": true}), json!({"ids": ["a"]}), json!({"reason": "not_json"})] {
            assert!(read(one).check().is_ok());
        }
        assert!(read(json!({"ids": ["a"]})).answer(0).is_err());
        assert!(read(json!({"all": true})).answer(0).is_ok(), "an empty pile is no error");
        assert!(serde_json::from_value::<Selection>(json!({"id": "a"})).is_err(), "a slip of the pen is told");
    }
}
