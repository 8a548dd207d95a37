//! Tokens with names and scopes, managed by admins.
//!
//! A token is shown once; the store has only its digest.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::on;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{List, Parameter, Route, text};
use crate::http::App;
use crate::http::auth::{Access, Actor, Scope};
use crate::http::extract::{ApiJson, ApiPath, maybe_whole};
use crate::http::problem::Problem;
use crate::http::session::hex;
use crate::judging::plain::plain;
use crate::store::{NewToken, Store, StoredToken};

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/api/tokens", Access::Admin, "listTokens", |method| on(method, list))
        .about("List tokens without their secrets, valid ones first")
        .answer::<List<StoredToken>>("The tokens"),
    Route::post("/api/tokens", Access::Admin, "addToken", |method| on(method, add))
        .about("Create a token; the secret is in this response only")
        .body::<TokenRequest>()
        .answer::<MadeToken>("The token")
        .status(201),
    Route::delete("/api/tokens/{name}", Access::Admin, "revokeToken", |method| on(method, revoke))
        .about("Revoke a token and its sessions within seconds")
        .parameters(&[Parameter::path("name", "the token's name", text)])
        .answer::<StoredToken>("The token that ended"),
];

/// Makes a leaked token recognisable.
const PREFIX: &str = "cor_";
/// Maximum name, characters.
const MOST_NAME: usize = 80;
/// Maximum lifetime, days.
const MOST_DAYS: u32 = 3_650;
/// Maximum requests a minute.
const MOST_RATE: u32 = 100_000;

/// A token to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenRequest {
    /// The person or program that uses it.
    #[schemars(length(min = 1, max = 80), extend("pattern" = r"\S"))]
    pub(crate) name: String,
    /// `read`: read stored data; `check`: also check claims; `admin`: everything.
    #[schemars(extend("enum" = ["read", "check", "admin"]))]
    pub(crate) scope: String,
    /// Requests a minute, of all its bearers together; the limit per client address if absent.
    #[serde(default, deserialize_with = "maybe_whole")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) requests_per_minute: Option<u32>,
    /// Days until it expires; never if absent.
    #[serde(default, deserialize_with = "maybe_whole")]
    #[schemars(range(min = 1, max = 3_650))]
    pub(crate) days: Option<u32>,
}

/// A new token.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MadeToken {
    /// Shown only once.
    pub(crate) token: String,
    #[serde(flatten)]
    pub(crate) stored: StoredToken,
}

/// A random token of 256 bits.
pub fn random_token() -> String {
    format!("{PREFIX}{}", hex(&rand::random::<[u8; 32]>()))
}

async fn make(store: &Store, request: &TokenRequest, by: &str) -> Result<MadeToken, TokenError> {
    let name = plain(&request.name);
    let name = name.trim();
    if request.name.trim().is_empty() || name.is_empty() || name.chars().count() > MOST_NAME {
        return Err(TokenError::Name);
    }
    let scope = Scope::parse(&request.scope).ok_or(TokenError::Scope)?;
    let is_rate = |rate: u32| (1..=MOST_RATE).contains(&rate);
    if !request.requests_per_minute.is_none_or(is_rate)
        || request.days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days))
    {
        return Err(TokenError::Limits);
    }
    let token = random_token();
    let new = NewToken {
        name,
        digest: Sha256::digest(token.as_bytes()).into(),
        scope: scope.as_str(),
        requests_per_minute: request.requests_per_minute,
        created_by: by,
        days: request.days,
    };
    let stored = store.add_token(&new).await.map_err(TokenError::Store)?;
    stored.map(|stored| MadeToken { token, stored }).ok_or(TokenError::Taken)
}

/// Why no token was created.
#[derive(Debug, thiserror::Error)]
enum TokenError {
    #[error("a name has 1 to {MOST_NAME} characters")]
    Name,
    #[error("the scope is read, check or admin")]
    Scope,
    #[error("requests_per_minute is 1 to {MOST_RATE}, days 1 to {MOST_DAYS}")]
    Limits,
    #[error("a valid token has this name; revoke it first, or use another name")]
    Taken,
    #[error(transparent)]
    Store(crate::store::StoreError),
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Store(error) => error.into(),
            TokenError::Taken => Self::new(StatusCode::CONFLICT, "taken", error.to_string()),
            _ => Self::invalid(error.to_string()),
        }
    }
}

pub(crate) async fn end(app: &App, who: &Actor, name: &str) -> Result<StoredToken, Problem> {
    let ended = app.services.store.revoke_token(name).await?;
    let ended = ended.ok_or_else(|| Problem::not_found("no valid token has that name; GET /api/tokens lists them"))?;
    who.did(app, "token.revoke", name, None).await;
    Ok(ended)
}

pub(crate) async fn give(app: &App, who: &Actor, request: &TokenRequest) -> Result<MadeToken, Problem> {
    let made = make(&app.services.store, request, &who.0).await?;
    let detail = json!({"scope": made.stored.scope, "expires_at": made.stored.expires_at});
    who.did(app, "token.add", &made.stored.name, Some(detail)).await;
    Ok(made)
}

async fn list(State(app): State<App>) -> Result<Json<List<StoredToken>>, Problem> {
    Ok(Json(List::whole(app.services.store.tokens().await?)))
}

async fn add(
    State(app): State<App>,
    who: Actor,
    ApiJson(request): ApiJson<TokenRequest>,
) -> Result<(StatusCode, Json<MadeToken>), Problem> {
    Ok((StatusCode::CREATED, Json(give(&app, &who, &request).await?)))
}

async fn revoke(State(app): State<App>, who: Actor, ApiPath(name): ApiPath) -> Result<Json<StoredToken>, Problem> {
    end(&app, &who, &name).await.map(Json)
}
