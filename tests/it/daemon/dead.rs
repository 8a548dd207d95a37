//! Dead letters in great number.

use serde_json::json;

use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, until};
use crate::support::stories;

const LETTERS: u32 = 1_500;

/// Bytes of one letter; all of them together are 150 MB.
const BYTES: usize = 100_000;

/// More than a window of letters on their way takes, and far less than all letters.
const MARGIN: u64 = 60_000_000;

fn letter(number: u32) -> Vec<u8> {
    let mut text = format!(r#"{{"schema":1,"item_id":"letter-{number}","text":""#);
    text.push_str(&"grain ".repeat((BYTES - text.len()) / 6));
    text.push_str("\"}");
    text.into_bytes()
}

async fn move_all(daemon: &Daemon) {
    let peak = daemon.peak_memory();
    let list = daemon.get("/api/dead?limit=100").await;
    assert_eq!(list.status, 200, "{}", list.body);
    assert_eq!(daemon.get("/queue").await.status, 200);
    let moved = daemon.post("/api/dead/requeue", &json!({ "reason": "store_statement" })).await;
    assert_eq!((moved.status, &moved.json()["count"]), (200, &json!(LETTERS)), "{}", moved.body);
    let grown = daemon.peak_memory().saturating_sub(peak);
    println!("{grown} bytes more at the peak");
    assert!(grown < MARGIN, "{grown} bytes more at the peak");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requeue_of_a_reason_needs_little_memory_when_the_letters_are_at_the_broker() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    // Without a worker what goes back stays in its queue.
    let daemon = app.start_with(&["--no-worker"]).await;
    app.upstream.bury("store_statement", (0..LETTERS).map(letter)).await;
    app.upstream.bury("not_json", (0..3).map(|_| b"{".to_vec())).await;
    move_all(&daemon).await;
    until("all are back", async || app.upstream.waiting("enrichment_queue").await == LETTERS).await;
    until("the others stay", async || app.upstream.waiting("dead").await == 3).await;
    daemon.stop().await;
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requeue_of_a_reason_needs_little_memory_when_the_letters_are_in_the_table() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.unset("AMQP_URL");
    let bury = "INSERT INTO dead_messages (queue, body, attempts, error_label, error, enqueued_at, failed_at)
        SELECT 'enrichment_queue', convert_to('{\"item_id\":\"' || n || '\",\"text\":\"' || repeat(md5(n::text), $2) || '\"}', 'UTF8'),
            1, 'store_statement', 'a statement failed', now(), now() FROM generate_series(1, $1) n";
    let (letters, words) = (i32::try_from(LETTERS).unwrap(), i32::try_from(BYTES / 32).unwrap());
    sqlx::query(bury).bind(letters).bind(words).execute(&app.database).await.unwrap();
    let daemon = app.start_with(&["--no-worker"]).await;
    move_all(&daemon).await;
    assert_eq!(app.count("queue_messages").await, i64::from(LETTERS));
    assert_eq!(app.count("dead_messages").await, 0);
    daemon.stop().await;
    app.clear().await;
}
