//! What the broker refuses again and again. The test moves the moments on, which takes a connection of its own.

use corroborate::broker::PublishReport;
use corroborate::store::OutboxDraft;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use super::written::day;
use crate::support::database;

#[tokio::test]
async fn a_message_that_is_refused_for_half_a_day_is_parked_and_tried_once_a_day() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let draft = OutboxDraft {
        exchange: None,
        routing_key: "full".to_owned(),
        body: "{}".to_owned(),
        correlation_id: None,
        message_id: "m".into(),
    };
    store.write_outbox(&[draft], day(0)).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let (mut waited, mut parked) = (0.0, 0);
    while parked == 0 {
        connection.execute("UPDATE outbox SET next_try_at = now()").await.unwrap();
        let batch = store.take_outbox(10).await.unwrap().unwrap();
        let refused = vec![(batch.messages[0].id, "its queue is full".to_owned())];
        parked = batch.settle(&PublishReport { refused, ..PublishReport::default() }).await.unwrap();
        let row = "SELECT extract(epoch FROM next_try_at - now())::float8 AS pause, attempts, last_error FROM outbox";
        let row = connection.fetch_one(row).await.unwrap();
        let (pause, attempts): (f64, i32) = (row.get("pause"), row.get("attempts"));
        assert!(row.get::<&str, _>("last_error").contains("full"));
        assert!(attempts <= 100, "it is never parked");
        if parked == 0 {
            assert!(
                pause <= 1_801.0 && (attempts > 10 || pause <= f64::from(1 << (attempts - 1))),
                "{attempts}: {pause}"
            );
            waited += pause;
        } else {
            assert!(pause > 86_000.0, "{pause}");
        }
    }
    assert!((10.0..16.0).contains(&(waited / 3_600.0)), "parked after {waited} seconds");
    let state = store.outbox_state().await.unwrap();
    assert_eq!((state.pending, state.oldest, state.parked), (0, None, 1));
    connection.execute("UPDATE outbox SET next_try_at = now()").await.unwrap();
    let batch = store.take_outbox(10).await.unwrap().unwrap();
    batch.confirm(&[batch.messages[0].id]).await.unwrap();
    assert_eq!(store.outbox_state().await.unwrap().parked, 0);
}

#[tokio::test]
async fn what_was_never_refused_is_taken_first_then_what_is_due_again() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let drafts = ["due again", "put off", "new", "newer"].map(|name| OutboxDraft {
        exchange: None,
        routing_key: "q".to_owned(),
        body: "{}".to_owned(),
        correlation_id: None,
        message_id: name.into(),
    });
    store.write_outbox(&drafts, day(0)).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for (name, due) in [("due again", "-1 second"), ("put off", "1 hour")] {
        let put_off = "UPDATE outbox SET next_try_at = now() + $2::text::interval WHERE message_id = $1";
        sqlx::query(put_off).bind(name).bind(due).execute(&mut connection).await.unwrap();
    }
    let mut taken = Vec::new();
    // A batch that is dropped keeps its claim, so the next one holds others.
    while let Some(batch) = store.take_outbox(2).await.unwrap() {
        taken.push(batch.messages.into_iter().map(|message| message.message_id.to_string()).collect::<Vec<_>>());
    }
    assert_eq!(taken, [vec!["new", "newer"], vec!["due again"]]);
}

#[tokio::test]
async fn messages_beyond_the_first_ten_thousand_are_counted_by_their_numbers() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let wait = "INSERT INTO outbox (routing_key, body, message_id, created_at)
        SELECT 'full', '{}', 'm' || number, now() - make_interval(secs => number) FROM generate_series(1, 10100) AS number";
    connection.execute(wait).await.unwrap();
    let state = store.outbox_state().await.unwrap();
    assert_eq!((state.pending, state.parked), (10_100, 0));
    connection
        .execute("UPDATE outbox SET parked_at = now() WHERE id <= 5; DELETE FROM outbox WHERE id > 60")
        .await
        .unwrap();
    let state = store.outbox_state().await.unwrap();
    assert_eq!((state.pending, state.parked), (55, 5));
}
