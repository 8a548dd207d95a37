//! The routes of the API, one file per resource.
//!
//! The router and `/openapi.json` are built from the same tables, so they cannot differ. To add a resource, add its
//! table to [`all`].

pub(crate) mod audit;
pub(crate) mod cleanup;
pub(crate) mod dead;
pub(crate) mod domains;
pub(crate) mod health;
pub(crate) mod items;
pub(crate) mod overview;
pub(crate) mod providers;
pub(crate) mod tokens;
pub(crate) mod verify;
pub(crate) mod webhooks;

use axum::routing::{MethodFilter, MethodRouter};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::App;
use super::auth::Access;

/// One method of one path.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) verb: Verb,
    /// As in `OpenAPI`: `/api/items/{id}`.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) patience: TimeoutClass,
    /// Unique name in generated clients.
    pub(crate) operation: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Option<Content>,
    pub(crate) answer: Answer,
    /// Attaches the handler to the method.
    pub(crate) mount: fn(MethodFilter) -> MethodRouter<App>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }

    pub(crate) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeoutClass {
    /// A store query.
    Short,
    /// A check, or a large upload.
    Check,
    /// Many rows or dead letters.
    Long,
}

/// A parameter. All are text; `schema` restricts the values.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) about: &'static str,
    pub(crate) schema: fn() -> Schema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
}

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) media: &'static str,
    pub(crate) schema: SchemaOf,
}

impl Content {
    pub(crate) const fn json(schema: SchemaOf) -> Self {
        Self { media: "application/json", schema }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    pub(crate) content: Content,
}

impl Answer {
    pub(crate) const fn json(about: &'static str, schema: SchemaOf) -> Self {
        Self { status: 200, about, content: Content::json(schema) }
    }
}

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct List<T> {
    pub(crate) items: Vec<T>,
    /// Send it as `cursor`; null on the last page.
    pub(crate) next: Option<String>,
}

impl<T> List<T> {
    /// A list without further pages.
    pub(crate) fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

pub(crate) fn flag() -> Schema {
    schemars::json_schema!({"type": "boolean"})
}

pub(crate) fn text() -> Schema {
    schemars::json_schema!({"type": "string"})
}

/// A number of rows, 1 to 200.
pub(crate) fn count() -> Schema {
    schemars::json_schema!({"type": "integer", "minimum": 1, "maximum": 200})
}

pub(crate) fn all() -> impl Iterator<Item = &'static Route> {
    [
        health::ROUTES,
        verify::ROUTES,
        items::ROUTES,
        domains::ROUTES,
        providers::ROUTES,
        overview::ROUTES,
        dead::ROUTES,
        cleanup::ROUTES,
        tokens::ROUTES,
        webhooks::ROUTES,
        audit::ROUTES,
    ]
    .into_iter()
    .flatten()
}
