//! Sessions of people at the pages. A test that moves times on takes a connection of its own.

use corroborate::store::{NewSession, NewToken, SessionOrigin, Store, StoredSession, StoredToken};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::support::database;

const MAC: [u8; 32] = [9; 32];

fn of_server(digest: u8, csrf_token: &str) -> NewSession<'_> {
    let origin = SessionOrigin::ServerToken(MAC);
    NewSession { digest: [digest; 32], csrf_token, scope: "admin", origin }
}

async fn token(store: &Store, name: &str, days: Option<u32>) -> StoredToken {
    let digest = rand::random();
    let new = NewToken { name, digest, scope: "check", requests_per_minute: Some(7), created_by: "a test", days };
    let stored = store.add_token(&new).await.unwrap().unwrap();
    assert_eq!(store.token_of(digest).await.unwrap().map(|found| found.id), Some(stored.id));
    stored
}

async fn found(store: &Store, digest: u8) -> Option<StoredSession> {
    store.session([digest; 32]).await.unwrap()
}

pub(super) async fn sessions_end_when_they_are_signed_out_or_their_token_is_revoked(store: &Store) {
    assert_eq!(found(store, 1).await, None);
    store.begin_session(&of_server(1, "form 1")).await.unwrap();
    store.begin_session(&of_server(2, "form 2")).await.unwrap();
    let session = found(store, 1).await.unwrap();
    assert_eq!((session.csrf_token.as_str(), session.scope.as_str()), ("form 1", "admin"));
    assert_eq!((session.token, session.server_token_mac.as_deref()), (None, Some(&MAC[..])));
    assert!(store.begin_session(&of_server(1, "form 3")).await.is_err(), "a secret belongs to one session");
    store.end_session([1; 32]).await.unwrap();
    assert_eq!((found(store, 1).await, found(store, 2).await.is_some()), (None, true));
    store.end_session([1; 32]).await.unwrap();

    let desk = token(store, "desk of sessions", Some(1)).await;
    let of_desk = NewSession { origin: SessionOrigin::Token(desk.id), scope: "check", ..of_server(4, "form 4") };
    store.begin_session(&of_desk).await.unwrap();
    let named = found(store, 4).await.unwrap().token.unwrap();
    assert_eq!((named.id, named.name.as_str(), named.requests_per_minute), (desk.id, "desk of sessions", Some(7)));
    store.revoke_token("desk of sessions").await.unwrap().unwrap();
    assert_eq!(found(store, 4).await, None);
    assert_eq!(store.remove_expired_sessions().await.unwrap(), 1, "what its token ended");
    store.end_session([2; 32]).await.unwrap();
    assert_eq!(store.remove_expired_sessions().await.unwrap(), 0);
}

#[tokio::test]
async fn session_ends_after_twelve_hours_or_with_its_token() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    store.begin_session(&of_server(1, "form")).await.unwrap();
    let move_on = |hours: u32| format!("UPDATE http_sessions SET expires_at = expires_at - interval '{hours} hours'");
    connection.execute(sqlx::AssertSqlSafe(move_on(11))).await.unwrap();
    assert!(found(&store, 1).await.is_some());
    connection.execute(sqlx::AssertSqlSafe(move_on(1))).await.unwrap();
    assert_eq!(found(&store, 1).await, None);
    assert_eq!(store.remove_expired_sessions().await.unwrap(), 1);
    let tokens = [token(&store, "revoked", None).await, token(&store, "expired", Some(1)).await];
    for (digest, of) in [(5, &tokens[0]), (6, &tokens[1])] {
        let origin = SessionOrigin::Token(of.id);
        store.begin_session(&NewSession { origin, ..of_server(digest, &of.name) }).await.unwrap();
    }
    store.revoke_token("revoked").await.unwrap();
    connection.execute("UPDATE access_tokens SET expires_at = now() WHERE name = 'expired'").await.unwrap();
    assert_eq!((found(&store, 5).await, found(&store, 6).await), (None, None));
    connection.execute("DELETE FROM access_tokens").await.unwrap();
    assert_eq!(store.remove_expired_sessions().await.unwrap(), 0, "sessions go with their tokens");
}
