//! Messages that can never be items.

use crate::support::app::TestApp;
use crate::support::stories::{self, item};

const TOO_LONG: usize = 1024 * 1024 + 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_message_goes_to_the_dead_letters_with_its_reason_and_blocks_nothing() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let oversized = item("oversized", &"grain ".repeat(TOO_LONG / 6 + 1)).to_string();
    let bad: Vec<(&str, Vec<u8>)> = vec![
        ("not JSON", b"{\"schema\": 1, \"item_id\":".to_vec()),
        ("no bytes", Vec::new()),
        ("not UTF-8", b"{\"schema\": 1, \"item_id\": \"latin\", \"text\": \"caf\xe9\"}".to_vec()),
        ("no object", b"[1, 2]".to_vec()),
        ("another schema", br#"{"schema": 2, "item_id": "future", "text": "A text of the future."}"#.to_vec()),
        ("no schema", br#"{"item_id": "bare", "text": "A text."}"#.to_vec()),
        ("no id", br#"{"schema": 1, "text": "A text."}"#.to_vec()),
        ("no text", br#"{"schema": 1, "item_id": "silent"}"#.to_vec()),
        ("empty text", br#"{"schema": 1, "item_id": "blank", "text": "  \n "}"#.to_vec()),
        ("a text of another type", br#"{"schema": 1, "item_id": "typed", "text": 7}"#.to_vec()),
        ("too long", oversized.into_bytes()),
    ];
    for (_, body) in &bad {
        app.upstream.publish_bytes("item.new", body).await;
    }
    app.upstream.publish("item.new", &item("good", stories::TOLD)).await;
    assert_eq!(app.upstream.result("good", 1).await["status"], "complete");

    let failed = app.upstream.hear("notices", bad.len(), |heard| heard.key == "item.failed").await;
    assert_eq!(failed.len(), bad.len());
    for notice in &failed {
        assert_eq!(notice.body["status"], "failed");
        assert!(notice.body["explanation"].as_str().is_some_and(|reason| reason.len() > 10), "{}", notice.body);
    }
    for id in ["future", "silent", "blank", "typed"] {
        assert!(failed.iter().any(|notice| notice.body["item_id"] == id), "nobody hears of {id}");
    }
    let schema = app.run(&["schema", "result"]).await.json();
    assert_eq!(crate::support::schema::faults(&schema, &failed[0].body), Vec::<String>::new());

    let mut left: Vec<&(&str, Vec<u8>)> = bad.iter().collect();
    for _ in &bad {
        let (headers, body) = app.upstream.dead().await;
        // Of what is too long an excerpt is kept.
        let is_of = |sent: &[u8]| if sent.len() < TOO_LONG { sent == body } else { sent.starts_with(&body) };
        let place = left.iter().position(|(_, sent)| is_of(sent) && (sent.is_empty() || !body.is_empty()));
        let place = place.expect("the body as it was sent");
        let (name, _) = left.remove(place);
        let header = |wanted: &str| {
            let found = headers.iter().find(|(header, _)| header == wanted);
            found.unwrap_or_else(|| panic!("{name}: no {wanted} in {headers:?}")).1.clone()
        };
        assert!(header("x-error").len() > 10, "{name}: {headers:?}");
        assert!(!header("x-error-label").is_empty());
        assert!(header("x-origin-queue").ends_with("enrichment_queue"));
        header("x-attempts");
        header("x-failed-at");
        if *name == "too long" {
            assert!(body.len() < 20_000, "{} bytes", body.len());
            header("x-original-bytes");
        }
    }
    assert_eq!(app.count("items").await, 1);
    assert!(daemon.metric("corroborate_items_dead_total", "").await >= bad.len() as f64);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asked_to_be_answered_hears_of_the_refusal() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let to = app.upstream.reply_to().to_owned();
    app.upstream
        .publish_as("item.new", br#"{"schema": 1, "item_id": "silent"}"#, |properties| {
            properties.with_reply_to(to.as_str().into()).with_correlation_id("why".into())
        })
        .await;
    let reply = app.upstream.reply().await;
    assert_eq!(reply.correlation_id.as_deref(), Some("why"));
    assert_eq!(reply.body["status"], "failed");
    app.upstream.dead().await;
    app.finish(daemon).await;
}
