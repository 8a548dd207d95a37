//! The page of the domain lists.
//!
//! Actions call `routes::domains`, as the API does.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::super::chrome::{OwnForm, Page};
use super::super::shown;
use crate::domain::rules::{DomainList, DomainRule};
use crate::domain::verdict::SourceType;
use crate::http::App;
use crate::http::auth::{Actor, Scope};
use crate::http::problem::Problem;
use crate::http::routes::domains::{self as routes, RuleRequest, domain_of};
use crate::judging::plain::plain;
use crate::store::RuleChange;

#[derive(Debug, Template)]
#[template(path = "domains.html")]
struct Domains {
    page: Page,
    rows: Vec<Row>,
    may_edit: bool,
    planned: Option<Plan>,
    imported: Option<ImportSummary>,
    types: Vec<&'static str>,
}

#[derive(Debug)]
struct ImportSummary {
    summary: String,
    refused: Vec<String>,
}

#[derive(Debug)]
struct Row {
    domain: String,
    list: &'static str,
    credibility: String,
    source_type: &'static str,
    why: String,
}

#[derive(Debug)]
struct Plan {
    form: RuleForm,
    before: String,
    after: String,
    pages: i64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TableForm {
    csv: String,
}

/// An edit; every field of a form is text.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RuleForm {
    domain: String,
    #[serde(default)]
    list: String,
    #[serde(default)]
    credibility: String,
    #[serde(default)]
    source_type: String,
    #[serde(default)]
    why: String,
    /// `preview`, `save` or `remove`.
    action: String,
}

pub(crate) async fn show(State(app): State<App>, page: Page) -> Result<Response, Problem> {
    whole(&app, page, None, None).await
}

async fn whole(
    app: &App,
    page: Page,
    planned: Option<Plan>,
    imported: Option<ImportSummary>,
) -> Result<Response, Problem> {
    let store = &app.services.store;
    let (rules, _version) = store.domain_rules().await?;
    shown(&Domains {
        rows: rules.iter().map(|rule| row(rule, &page)).collect(),
        may_edit: page.visitor.may(Scope::Admin),
        planned,
        imported,
        types: SourceType::ALL.iter().map(|one| one.as_str()).collect(),
        page,
    })
}

fn row(rule: &DomainRule, page: &Page) -> Row {
    Row {
        domain: rule.domain.clone(),
        list: page.t(if rule.list == DomainList::Allow { "domains.allow" } else { "domains.deny" }),
        credibility: rule.credibility.map(|figure| page.reader.figure(figure)).unwrap_or_default(),
        source_type: rule.source_type.map(SourceType::as_str).unwrap_or_default(),
        why: rule.why.as_deref().map(|why| plain(why).into_owned()).unwrap_or_default(),
    }
}

pub(crate) async fn change(
    State(app): State<App>,
    page: Page,
    who: Actor,
    OwnForm(form): OwnForm<RuleForm>,
) -> Result<Response, Problem> {
    let (store, now) = (&app.services.store, app.services.clock.now());
    if form.action == "remove" {
        let domain = domain_of(&form.domain)?;
        let why = Some(form.why.trim()).filter(|why| !why.is_empty());
        let change = store.remove_domain_rule(&domain, &who.0, why, now, false).await?;
        change.ok_or_else(|| Problem::not_found(format!("{domain} has no rule")))?;
        return Ok(Redirect::to("/domains").into_response());
    }
    let is_preview = form.action != "save";
    let rule = request(&form)?.check()?;
    let change = store.put_domain_rule(&rule, &who.0, now, is_preview).await?;
    if !is_preview {
        tracing::info!(domain = rule.domain, list = rule.list.as_str(), editor = who.0, "domain rule edited");
        return Ok(Redirect::to("/domains").into_response());
    }
    let pages = store.sources_under(&rule.domain).await?;
    let RuleChange { before, after, .. } = &change;
    let said = |rule: &Option<DomainRule>| rule.as_ref().map_or_else(|| "–".to_owned(), |rule| line(&row(rule, &page)));
    let plan = Plan { before: said(before), after: said(after), pages, form: RuleForm { domain: rule.domain, ..form } };
    whole(&app, page, Some(plan), None).await
}

pub(crate) async fn import(
    State(app): State<App>,
    page: Page,
    who: Actor,
    OwnForm(form): OwnForm<TableForm>,
) -> Result<Response, Problem> {
    let done = routes::imported(&app, &who, &form.csv, false).await?;
    let figures = [("{a}", done.added), ("{c}", done.changed), ("{u}", done.unchanged), ("{r}", done.refused_count)];
    let summary = figures
        .iter()
        .fold(page.t("domains.imported").to_owned(), |text, (place, figure)| text.replace(place, &figure.to_string()));
    let refused = done.refused.iter().map(|one| format!("{}: {}", one.line, plain(&one.error))).collect();
    whole(&app, page, None, Some(ImportSummary { summary, refused })).await
}

fn request(form: &RuleForm) -> Result<RuleRequest, Problem> {
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let list = match form.list.as_str() {
        "allow" => DomainList::Allow,
        "deny" => DomainList::Deny,
        other => return Err(Problem::invalid(format!("the list is allow or deny (got {other:?})"))),
    };
    let credibility = said(&form.credibility).map(|text| {
        let number = text.replace(',', ".").parse::<f64>();
        number.map_err(|_no_number| Problem::invalid(format!("credibility is a number between 0 and 1 (got {text:?})")))
    });
    let credibility = credibility.transpose()?;
    let source_type = said(&form.source_type).map(|word| {
        SourceType::parse(&word).ok_or_else(|| Problem::invalid(format!("unknown kind of source {word:?}")))
    });
    let (domain, why) = (form.domain.clone(), said(&form.why));
    Ok(RuleRequest { domain, list, credibility, source_type: source_type.transpose()?, why })
}

/// "example.org · allow · 0.80 · agency · known for years".
fn line(row: &Row) -> String {
    let parts = [row.domain.as_str(), row.list, &row.credibility, row.source_type, &row.why];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
