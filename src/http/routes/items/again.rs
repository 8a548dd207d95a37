//! Re-evaluation of a stored item, and its history.
//!
//! The API and the page share [`judged`].

use axum::Json;
use axum::extract::State;

use crate::domain::ItemResult;
use crate::http::App;
use crate::http::checking;
use crate::http::extract::ApiPath;
use crate::http::problem::Problem;
use crate::http::routes::List;
use crate::http::who::Actor;
use crate::store::EarlierVerdict;

/// Re-evaluates an item, even if it has a result.
pub(crate) async fn judged(app: &App, who: &Actor, id: &str) -> Result<ItemResult, Problem> {
    let stored = app.services.store.stored_run(id).await?.ok_or_else(super::unknown_item)?;
    who.did(app, "item.again", id, None).await;
    checking::again(app, stored.item, stored.sent_at).await
}

pub(super) async fn again(
    State(app): State<App>,
    who: Actor,
    ApiPath(id): ApiPath,
) -> Result<Json<ItemResult>, Problem> {
    judged(&app, &who, &id).await.map(Json)
}

pub(super) async fn history(
    State(app): State<App>,
    ApiPath(id): ApiPath,
) -> Result<Json<List<EarlierVerdict>>, Problem> {
    let earlier = app.services.store.verdict_history(&id).await?;
    if earlier.is_empty() {
        // An item that was judged once has an empty history; an unknown item is an error.
        super::stored(&app, &id).await?;
    }
    Ok(Json(List::whole(earlier)))
}
