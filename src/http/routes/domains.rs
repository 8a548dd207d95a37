//! The live domain lists. An edit reaches every process within seconds. The audit log records author and reason.
//!
//! A preview is a dry run of an edit. `table` exports and imports CSV.

mod table;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::on;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Parameter, Route, TimeoutClass, plain_text, text};
use crate::domain::rules::{ALLOW_MIN_CREDIBILITY, DomainList, DomainRule, check_credibility, normalize_domain};
use crate::domain::verdict::SourceType;
use crate::http::App;
use crate::http::auth::{Access, Actor};
use crate::http::extract::{ApiJson, ApiPath, ApiQuery, query_text};
use crate::http::problem::Problem;
use crate::store::{RuleChange, RuleChangeAction};
pub(crate) use table::imported;

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/api/domains", Access::Read, "listDomains", |method| on(method, list))
        .about("List the domain rules")
        .answer::<Rules>("The rules"),
    Route::post("/api/domains", Access::Admin, "putDomain", |method| on(method, put))
        .about("Add a domain rule (201) or change it; omitted fields keep their values on the same list")
        .body_of(rule_schema)
        .answer_of("What was done", change_schema),
    Route::delete("/api/domains/{domain}", Access::Admin, "removeDomain", |method| on(method, remove))
        .about("Remove a domain's rule")
        .parameters(&[
            Parameter::path("domain", "the domain, like example.org or *.gov", text),
            Parameter::query("why", "the reason, for the record", text),
        ])
        .answer_of("What was done", change_schema),
    Route::post("/api/domains/preview", Access::Admin, "previewDomain", |method| on(method, preview))
        .about("Dry run of an edit: what it would change, and how many stored pages are under the domain")
        .body_of(planned_schema)
        .answer_of("What would be done", change_schema),
    Route::get("/api/domains/export", Access::Read, "exportDomains", |method| on(method, table::export))
        .about("Export the domain rules as CSV")
        .answer_of("The table", plain_text)
        .media("text/csv"),
    Route::post("/api/domains/import", Access::Admin, "importDomains", |method| on(method, table::import))
        .about("Import domain rules from CSV; bad lines are reported, the others are applied")
        .body::<table::ImportRequest>()
        .answer::<table::Imported>("What was done")
        .timeout(TimeoutClass::Long),
];

/// Maximum reason, characters.
const MOST_WHY: usize = 1000;

/// The domain lists.
#[derive(Debug, Serialize, JsonSchema)]
struct Rules {
    items: Vec<DomainRule>,
    /// Always null: the lists are not paged.
    next: Option<String>,
    /// Increases with every edit.
    version: i64,
    /// If true, only domains on the allow list are used.
    allowlist_only: bool,
}

/// A rule as an admin writes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleRequest {
    /// `example.org` covers its subdomains too; `*.gov` covers only subdomains. A URL is reduced to its host.
    #[schemars(extend("pattern" = DOMAIN))]
    pub(crate) domain: String,
    pub(crate) list: DomainList,
    /// 0–1; at least 0.7 for an allowed domain.
    #[serde(default)]
    pub(crate) credibility: Option<f64>,
    #[serde(default)]
    pub(crate) source_type: Option<SourceType>,
    /// The reason, for the record.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub(crate) why: Option<String>,
}

/// The edit to preview: a rule, or its removal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewRequest {
    domain: String,
    #[serde(default)]
    list: Option<DomainList>,
    #[serde(default)]
    credibility: Option<f64>,
    #[serde(default)]
    source_type: Option<SourceType>,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    remove: bool,
}

#[derive(Debug, Serialize)]
struct Edited {
    /// The normalized domain.
    domain: String,
    #[serde(flatten)]
    change: RuleChange,
    /// Number of stored pages under the domain.
    stored_pages: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveQuery {
    why: Option<String>,
}

fn rule_schema(generator: &mut SchemaGenerator) -> Schema {
    let rule = generator.subschema_for::<RuleRequest>();
    let of = |list: &str, least: f64| {
        schemars::json_schema!({"properties": {
            "list": {"const": list},
            "credibility": {"type": ["number", "null"], "minimum": least, "maximum": 1}
        }})
    };
    schemars::json_schema!({"allOf": [rule, {"anyOf": [of("allow", ALLOW_MIN_CREDIBILITY), of("deny", 0.0)]}]})
}

fn planned_schema(generator: &mut SchemaGenerator) -> Schema {
    let rule = rule_schema(generator);
    let end = schemars::json_schema!({
        "type": "object", "required": ["domain", "remove"], "additionalProperties": false,
        "properties": {"domain": {"type": "string", "pattern": DOMAIN}, "remove": {"const": true}}
    });
    schemars::json_schema!({"anyOf": [rule, end]})
}

/// Pattern for clients; the server also accepts URLs.
const DOMAIN: &str = r"^(\*\.)?([a-z0-9]{1,20}\.){1,3}[a-z]{2,10}$";

fn change_schema(generator: &mut SchemaGenerator) -> Schema {
    let rule = generator.subschema_for::<Option<DomainRule>>();
    let action = generator.subschema_for::<RuleChangeAction>();
    schemars::json_schema!({
        "type": "object",
        "required": ["domain", "action", "before", "after", "changed", "stored_pages"],
        "properties": {
            "domain": {"type": "string"},
            "action": action,
            "before": rule.clone(),
            "after": rule,
            "changed": {
                "type": "array",
                "items": {"enum": ["list", "credibility", "source_type", "why"]},
                "description": "The fields whose values differ; empty unless a rule was changed."
            },
            "stored_pages": {"type": "integer"}
        }
    })
}

impl RuleRequest {
    pub(crate) fn check(self) -> Result<DomainRule, Problem> {
        let domain = domain_of(&self.domain)?;
        check_credibility(self.list, self.credibility).map_err(|error| Problem::invalid(error.to_string()))?;
        let why = query_text("why", self.why, MOST_WHY)?;
        Ok(DomainRule { domain, list: self.list, credibility: self.credibility, source_type: self.source_type, why })
    }
}

pub(crate) fn domain_of(given: &str) -> Result<String, Problem> {
    normalize_domain(given).map_err(|error| Problem::invalid(error.to_string()))
}

async fn list(State(app): State<App>) -> Result<Json<Rules>, Problem> {
    let (items, version) = app.services.store.domain_rules().await?;
    let allowlist_only = app.services.rules.current().allowlist_only;
    Ok(Json(Rules { items, next: None, version, allowlist_only }))
}

async fn put(
    State(app): State<App>,
    editor: Actor,
    ApiJson(request): ApiJson<RuleRequest>,
) -> Result<(StatusCode, Json<Edited>), Problem> {
    let rule = request.check()?;
    let services = &app.services;
    let change = services.store.put_domain_rule(&rule, &editor.0, services.clock.now(), false).await?;
    let status = if change.before.is_none() { StatusCode::CREATED } else { StatusCode::OK };
    if change.action != RuleChangeAction::Unchanged {
        tracing::info!(domain = rule.domain, list = rule.list.as_str(), editor = editor.0, "domain rule edited");
    }
    let stored_pages = services.store.sources_under(&rule.domain).await?;
    Ok((status, Json(Edited { domain: rule.domain, change, stored_pages })))
}

async fn remove(
    State(app): State<App>,
    ApiPath(domain): ApiPath,
    ApiQuery(query): ApiQuery<RemoveQuery>,
    editor: Actor,
) -> Result<Json<Edited>, Problem> {
    let domain = domain_of(&domain)?;
    let why = query_text("why", query.why, MOST_WHY)?;
    let services = &app.services;
    let now = services.clock.now();
    let change = services.store.remove_domain_rule(&domain, &editor.0, why.as_deref(), now, false).await?;
    let change = change.ok_or_else(|| no_rule(&domain))?;
    tracing::info!(domain, editor = editor.0, "domain rule removed");
    let stored_pages = services.store.sources_under(&domain).await?;
    Ok(Json(Edited { domain, change, stored_pages }))
}

async fn preview(
    State(app): State<App>,
    editor: Actor,
    ApiJson(request): ApiJson<PreviewRequest>,
) -> Result<Json<Edited>, Problem> {
    let (store, now) = (&app.services.store, app.services.clock.now());
    let (domain, change) = match planned(request)? {
        Planned::Put(rule) => {
            let change = store.put_domain_rule(&rule, &editor.0, now, true).await?;
            (rule.domain, change)
        }
        Planned::Remove(domain) => {
            let change = store.remove_domain_rule(&domain, &editor.0, None, now, true).await?;
            let change = change.ok_or_else(|| no_rule(&domain))?;
            (domain, change)
        }
    };
    let stored_pages = store.sources_under(&domain).await?;
    Ok(Json(Edited { domain, change, stored_pages }))
}

fn no_rule(domain: &str) -> Problem {
    Problem::not_found(format!("{domain} has no rule; GET /api/domains lists those there are"))
}

#[derive(Debug, PartialEq)]
enum Planned {
    Put(DomainRule),
    Remove(String),
}

fn planned(request: PreviewRequest) -> Result<Planned, Problem> {
    let PreviewRequest { domain, list, credibility, source_type, why, remove } = request;
    match (remove, list) {
        (true, None) => Ok(Planned::Remove(domain_of(&domain)?)),
        (false, Some(list)) => RuleRequest { domain, list, credibility, source_type, why }.check().map(Planned::Put),
        _ => Err(Problem::invalid("give the list (allow or deny) of the rule, or {\"remove\": true}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::http::openapi::assert_described;

    fn read(value: Value) -> Result<DomainRule, String> {
        serde_json::from_value::<RuleRequest>(value)
            .map_err(|error| error.to_string())?
            .check()
            .map_err(|problem| format!("{problem:?}"))
    }

    #[test]
    fn what_people_paste_becomes_a_rule() {
        let rule = read(json!({"domain": "https://www.Example.org/x", "list": "deny", "why": " spam "})).unwrap();
        assert_eq!(
            (rule.domain.as_str(), rule.list, rule.why.as_deref()),
            ("example.org", DomainList::Deny, Some("spam"))
        );
    }

    #[test]
    fn every_bad_rule_says_what_is_wrong() {
        let rows = [
            (json!({"domain": "localhost", "list": "deny"}), "is not a domain"),
            (json!({"domain": "a.org", "list": "maybe"}), "maybe"),
            (json!({"domain": "a.org"}), "list"),
            (json!({"domain": "a.org", "list": "deny", "credibility": 2}), "between 0 and 1"),
            (json!({"domain": "a.org", "list": "allow", "credibility": 0.2}), "at least 0.7"),
            (json!({"domain": "a.org", "list": "deny", "source_type": "friend"}), "friend"),
            (json!({"domain": "a.org", "list": "deny", "reason": "x"}), "reason"),
            (json!({"domain": "a.org", "list": "deny", "why": "a\u{0}b"}), "why"),
        ];
        for (body, words) in rows {
            let error = read(body.clone()).unwrap_err();
            assert!(error.contains(words), "{body}: {error}");
        }
    }

    #[test]
    fn a_preview_is_of_a_rule_or_of_a_removal() {
        let plan = |value| serde_json::from_value(value).map(planned).unwrap();
        assert_eq!(plan(json!({"domain": "*.gov", "remove": true})).unwrap(), Planned::Remove("*.gov".into()));
        assert!(matches!(plan(json!({"domain": "a.org", "list": "allow"})), Ok(Planned::Put(_))));
        assert!(plan(json!({"domain": "a.org"})).is_err());
        assert!(plan(json!({"domain": "a.org", "list": "allow", "remove": true})).is_err());
    }

    #[test]
    fn the_schema_names_what_is_sent() {
        let rule = read(json!({"domain": "a.org", "list": "deny"})).unwrap();
        let change = RuleChange {
            action: RuleChangeAction::Change,
            before: Some(rule.clone()),
            after: Some(rule),
            changed: vec!["why"],
        };
        assert_described(change_schema, &json!(Edited { domain: "a.org".into(), change, stored_pages: 3 }));
    }
}
