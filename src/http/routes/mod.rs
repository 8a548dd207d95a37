//! What can be asked, one file per resource. Each file holds its handlers and a table of its routes; the router and
//! `/openapi.json` are both built from these tables, so neither can know a route the other does not.

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

/// One method of one path: all there is to know of it.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) verb: Verb,
    /// In the router's notation, which `OpenAPI` shares: `/api/items/{id}`.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) patience: Patience,
    /// Unique; what generated clients call it.
    pub(crate) operation: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Option<Content>,
    pub(crate) answer: Answer,
    /// Puts the handler under the method.
    pub(crate) mount: fn(MethodFilter) -> MethodRouter<App>,
}

/// The methods in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    /// As `OpenAPI` writes it.
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
pub(crate) enum Patience {
    /// A look into the store.
    Short,
    /// As long as a check, or a large upload.
    Check,
    /// Removing many rows, or moving many dead letters.
    Long,
}

/// A parameter of the path or the query. All are text; `schema` narrows it.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) about: &'static str,
    pub(crate) schema: fn() -> Schema,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
}

/// The schema of a body or an answer.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A document with its media type.
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

/// What a success looks like.
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

/// A list as every endpoint gives it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct List<T> {
    pub(crate) items: Vec<T>,
    /// Give it back as `cursor` for the next page; null on the last.
    pub(crate) next: Option<String>,
}

impl<T> List<T> {
    /// A list without further pages.
    pub(crate) fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// A parameter that is true or false.
pub(crate) fn flag() -> Schema {
    schemars::json_schema!({"type": "boolean"})
}

/// A parameter of free text.
pub(crate) fn text() -> Schema {
    schemars::json_schema!({"type": "string"})
}

/// A parameter that counts.
pub(crate) fn count() -> Schema {
    schemars::json_schema!({"type": "integer", "minimum": 1, "maximum": 200})
}

/// Every route there is.
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
