//! Sessions of people at the pages. A test that moves times on takes a connection of its own.

use corroborate::store::{NewSession, NewToken, SessionOrigin, Store, StoredSession, StoredToken};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

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
    assert!(!session.is_due_for_rotation);
    assert!(!store.rotate_session([1; 32], [3; 32], Some(MAC)).await.unwrap(), "it is new");
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
async fn session_is_rotated_by_one_of_many_requests_and_its_earlier_secret_lasts_a_minute() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    store.begin_session(&of_server(1, "form")).await.unwrap();
    let earlier = "UPDATE http_sessions SET created_at = created_at - interval '2 hours', rotated_at = rotated_at - interval '2 hours',
         expires_at = expires_at - interval '2 hours'";
    connection.execute(earlier).await.unwrap();
    assert!(found(&store, 1).await.unwrap().is_due_for_rotation);
    let rotate = |digest: u8| store.rotate_session([1; 32], [digest; 32], Some([digest; 32]));
    let rotated = tokio::join!(rotate(2), rotate(3), rotate(4));
    let rotated = [rotated.0.unwrap(), rotated.1.unwrap(), rotated.2.unwrap()];
    assert_eq!(rotated.iter().filter(|one| **one).count(), 1, "{rotated:?}");
    let new = if rotated[0] {
        2
    } else if rotated[1] {
        3
    } else {
        4
    };
    let (old, next) = (found(&store, 1).await.unwrap(), found(&store, new).await.unwrap());
    assert_eq!((old.csrf_token, next.csrf_token), ("form".to_owned(), "form".to_owned()), "open forms stay valid");
    assert!(!old.is_due_for_rotation && !next.is_due_for_rotation);
    assert_eq!(next.server_token_mac, Some(vec![new; 32]));
    let lives = "SELECT extract(epoch FROM max(expires_at) - min(created_at))::float8 / 3600 AS whole,
         extract(epoch FROM min(expires_at) - now())::float8 AS earlier FROM http_sessions";
    let row = connection.fetch_one(lives).await.unwrap();
    let (whole, earlier): (f64, f64) = (row.get("whole"), row.get("earlier"));
    assert!((whole - 12.0).abs() < 0.01 && earlier > 0.0 && earlier <= 60.0, "{whole} hours, {earlier} seconds");

    connection.execute("UPDATE http_sessions SET expires_at = now() WHERE is_replaced").await.unwrap();
    assert_eq!((found(&store, 1).await, found(&store, new).await.is_some()), (None, true));
    assert_eq!(store.remove_expired_sessions().await.unwrap(), 1);
    store.end_session([new; 32]).await.unwrap();
    assert_eq!(found(&store, new).await, None);
}

#[tokio::test]
async fn signing_out_ends_a_session_under_all_its_secrets() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for by in [1, 2] {
        store.begin_session(&of_server(1, "form")).await.unwrap();
        connection.execute("UPDATE http_sessions SET rotated_at = rotated_at - interval '2 hours'").await.unwrap();
        assert!(store.rotate_session([1; 32], [2; 32], Some(MAC)).await.unwrap());
        store.end_session([by; 32]).await.unwrap();
        assert_eq!((found(&store, 1).await, found(&store, 2).await), (None, None), "by secret {by}");
    }
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
