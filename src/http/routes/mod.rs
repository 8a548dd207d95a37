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
use serde::{Deserialize, Serialize};

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
    /// JSON.
    pub(crate) body: Option<SchemaOf>,
    pub(crate) answer: Answer,
    /// Attaches the handler to the method.
    pub(crate) mount: Mount,
}

pub(crate) type Mount = fn(MethodFilter) -> MethodRouter<App>;

/// A short request without parameters and body that returns a JSON object, unless a method says otherwise.
impl Route {
    pub(crate) const fn get(path: &'static str, access: Access, operation: &'static str, mount: Mount) -> Self {
        Self::new(Verb::Get, path, access, operation, mount)
    }

    pub(crate) const fn post(path: &'static str, access: Access, operation: &'static str, mount: Mount) -> Self {
        Self::new(Verb::Post, path, access, operation, mount)
    }

    pub(crate) const fn delete(path: &'static str, access: Access, operation: &'static str, mount: Mount) -> Self {
        Self::new(Verb::Delete, path, access, operation, mount)
    }

    const fn new(verb: Verb, path: &'static str, access: Access, operation: &'static str, mount: Mount) -> Self {
        Self {
            verb,
            path,
            access,
            patience: TimeoutClass::Short,
            operation,
            summary: "",
            parameters: &[],
            body: None,
            answer: Answer { status: 200, about: "", media: "application/json", schema: object },
            mount,
        }
    }

    pub(crate) const fn about(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    pub(crate) const fn parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    pub(crate) const fn body<T: JsonSchema>(self) -> Self {
        self.body_of(SchemaGenerator::subschema_for::<T>)
    }

    pub(crate) const fn body_of(self, schema: SchemaOf) -> Self {
        Self { body: Some(schema), ..self }
    }

    pub(crate) const fn answer<T: JsonSchema>(self, about: &'static str) -> Self {
        self.answer_of(about, SchemaGenerator::subschema_for::<T>)
    }

    pub(crate) const fn answer_of(self, about: &'static str, schema: SchemaOf) -> Self {
        Self { answer: Answer { about, schema, ..self.answer }, ..self }
    }

    /// The status of a success, if it is not 200.
    pub(crate) const fn status(self, status: u16) -> Self {
        Self { answer: Answer { status, ..self.answer }, ..self }
    }

    /// The media type of the answer, if it is not JSON.
    pub(crate) const fn media(self, media: &'static str) -> Self {
        Self { answer: Answer { media, ..self.answer }, ..self }
    }

    pub(crate) const fn timeout(self, patience: TimeoutClass) -> Self {
        Self { patience, ..self }
    }
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

impl Parameter {
    pub(crate) const fn path(name: &'static str, about: &'static str, schema: fn() -> Schema) -> Self {
        Self { name, place: Place::Path, about, schema }
    }

    pub(crate) const fn query(name: &'static str, about: &'static str, schema: fn() -> Schema) -> Self {
        Self { name, place: Place::Query, about, schema }
    }
}

/// Rows of a list; [`LimitQuery`] reads it.
pub(crate) const LIMIT: Parameter = Parameter::query("limit", "maximum number; 50 when absent", count);

/// The query of a list without further parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitQuery {
    pub(crate) limit: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
}

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    pub(crate) media: &'static str,
    pub(crate) schema: SchemaOf,
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

fn plain_text(_generator: &mut SchemaGenerator) -> Schema {
    text()
}

fn object(_generator: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"type": "object"})
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
