//! Dead letters.

use corroborate::broker::{
    AmqpQueue, AmqpSettings, DeadBody, DeadSelection, EXCERPT_BYTES, Queue, QueueName, Settlement,
};

use super::bed::Bed;

async fn bury(bed: &Bed, queue: &AmqpQueue, key: &str, body: &str) {
    bed.publish_as(key, body.as_bytes(), |properties| properties.with_message_id(body.into())).await;
    let delivery = bed.receive(queue).await;
    let how =
        Settlement::Dead { label: "not_json".to_owned(), error: format!("{body} is wrong"), body: DeadBody::Whole };
    queue.settle(&delivery, how).await.unwrap();
}

async fn bodies(queue: &AmqpQueue) -> Vec<String> {
    let letters = queue.dead_list(100).await.unwrap();
    letters.into_iter().map(|letter| String::from_utf8(letter.excerpt).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_listed_shown_given_back_and_dropped() {
    let Some(bed) = Bed::new("dead").await else { return };
    let queue = bed.connect().await;
    assert_eq!(queue.dead_list(10).await.unwrap(), []);
    for (key, body) in [("item.a", "one"), ("factcheck.a", "two"), ("item.a", "three"), ("item.a", "four")] {
        bury(&bed, &queue, key, body).await;
    }
    // Looking takes nothing away and changes no order.
    for _ in 0..3 {
        assert_eq!(bodies(&queue).await, ["one", "two", "three", "four"]);
    }
    assert_eq!(queue.dead_list(2).await.unwrap().len(), 2);
    bed.until("all four lie there", async || queue.depth().await.unwrap().dead == 4).await;

    let letters = queue.dead_list(10).await.unwrap();
    let opened = queue.dead_get(&letters[1].id).await.unwrap().unwrap();
    assert_eq!((&opened.letter, opened.body.as_slice()), (&letters[1], b"two".as_slice()));
    let second = opened.letter;
    assert_eq!(second.origin, Some(QueueName::Factcheck));
    assert_eq!((second.label.as_deref(), second.error.as_deref()), (Some("not_json"), Some("two is wrong")));
    assert_eq!((second.attempts, second.message_id.as_deref()), (Some(1), Some("two")));
    assert!(second.failed_at.is_some());
    assert_eq!(queue.dead_get("dl_unknown").await.unwrap(), None);

    let chosen = [letters[1].id.clone(), "dl_unknown".to_owned()];
    assert_eq!(queue.dead_requeue(DeadSelection::Ids(&chosen)).await.unwrap(), 1);
    let back = bed.receive(&queue).await;
    assert_eq!((back.queue, back.attempts, back.body.as_slice()), (QueueName::Factcheck, 0, b"two".as_slice()));
    queue.settle(&back, Settlement::Ack).await.unwrap();

    // The last one looked at is taken away, those before it stay.
    assert_eq!(queue.dead_drop(DeadSelection::Ids(&[letters[3].id.clone()])).await.unwrap(), 1);
    assert_eq!(bodies(&queue).await, ["one", "three"]);
    assert_eq!(queue.dead_requeue(DeadSelection::All).await.unwrap(), 2);
    assert_eq!(bodies(&queue).await, [] as [&str; 0]);
    bury(&bed, &queue, "factcheck.b", "five").await;
    assert_eq!(queue.dead_drop(DeadSelection::All).await.unwrap(), 1);
    bed.until("none is left", async || queue.depth().await.unwrap().dead == 0).await;
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_never_settled_is_given_up_by_the_broker_in_the_end() {
    let Some(bed) = Bed::new("limit").await else { return };
    let queue = bed.connect().await;
    bed.publish("item.a", b"kills the process").await;
    // The delivery limit is 20: handed back so often and once more, the broker keeps it from us.
    for _ in 0..=20 {
        let delivery = bed.receive(&queue).await;
        queue.settle(&delivery, Settlement::Requeue).await.unwrap();
    }
    bed.until("the broker gives it up", async || queue.depth().await.unwrap().dead == 1).await;
    let letter = &queue.dead_list(1).await.unwrap()[0];
    assert_eq!(letter.excerpt, b"kills the process");
    assert_eq!((letter.label.as_deref(), letter.error.as_deref(), letter.attempts), (None, None, None));
    assert_eq!(letter.origin, Some(QueueName::Enrichment));
    assert!(letter.failed_at.is_some());
    assert_eq!(queue.dead_requeue(DeadSelection::All).await.unwrap(), 1);
    assert_eq!(bed.receive(&queue).await.body, b"kills the process");
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_letters_go_back_in_several_windows_each_to_its_queue_and_once() {
    let Some(bed) = Bed::new("many").await else { return };
    let queue = bed.try_connect(AmqpSettings { consume: false, ..bed.settings() }).await.unwrap();
    bed.put_dead(&bed.names.enrichment_queue, 150).await;
    bed.put_dead(&bed.names.factcheck_queue, 70).await;
    bed.put_dead("somebody.elses", 3).await;
    bed.until("all lie there", async || queue.depth().await.unwrap().dead == 223).await;
    assert_eq!(queue.dead_requeue(DeadSelection::All).await.unwrap(), 220);
    bed.until("each is in its queue, and those of unknown origin stay", async || {
        let depth = queue.depth().await.unwrap();
        (depth.enrichment, depth.factcheck, depth.dead) == (150, 70, 3)
    })
    .await;
    assert_eq!(queue.dead_drop(DeadSelection::All).await.unwrap(), 3);
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_of_a_reason_go_back_and_cut_ones_stay() {
    let Some(bed) = Bed::new("reason").await else { return };
    let queue = bed.connect().await;
    let huge = format!(r#"{{"item_id":"huge","text":"{}"}}"#, "x".repeat(2 * EXCERPT_BYTES));
    bed.publish("item.a", huge.as_bytes()).await;
    let delivery = bed.receive(&queue).await;
    let how = Settlement::Dead { label: "not_json".to_owned(), error: "too long".to_owned(), body: DeadBody::Excerpt };
    queue.settle(&delivery, how).await.unwrap();
    for body in ["one", "two"] {
        bury(&bed, &queue, "item.a", body).await;
    }
    bed.until("all three are dead", async || queue.depth().await.unwrap().dead == 3).await;
    let letters = queue.dead_list(10).await.unwrap();
    let cut = letters.iter().find(|letter| letter.is_cut).unwrap();
    assert_eq!((cut.bytes, cut.excerpt.len()), (huge.len(), EXCERPT_BYTES));
    assert_eq!(queue.dead_get(&cut.id).await.unwrap().unwrap().body.len(), EXCERPT_BYTES);
    assert_eq!(queue.dead_requeue(DeadSelection::Reason("store_statement")).await.unwrap(), 0);
    assert_eq!(queue.dead_requeue(DeadSelection::Reason("not_json")).await.unwrap(), 2);
    for _ in 0..2 {
        let back = bed.receive(&queue).await;
        queue.settle(&back, Settlement::Ack).await.unwrap();
    }
    assert_eq!(queue.dead_drop(DeadSelection::Reason("not_json")).await.unwrap(), 1);
    bed.clear().await;
}
