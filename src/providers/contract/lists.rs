//! Lists that repeat, never end, or have foreign elements.

use serde_json::{Value, json};

use super::{TestedProvider, query};
use crate::outbound::test_server::json as reply;

/// Changes the first list of results (objects with a URL) at any depth.
fn change_list(value: &mut Value, change: &dyn Fn(&mut Vec<Value>)) -> bool {
    match value {
        Value::Array(rows) if rows.iter().any(is_result) => {
            change(rows);
            true
        }
        Value::Array(rows) => rows.iter_mut().any(|row| change_list(row, change)),
        Value::Object(fields) => fields.values_mut().any(|field| change_list(field, change)),
        _ => false,
    }
}

fn is_result(row: &Value) -> bool {
    ["url", "link"].iter().any(|name| row[*name].as_str().is_some_and(|address| address.starts_with("http")))
}

async fn is_read_as_before(tested: &TestedProvider, change: &(dyn Fn(&mut Vec<Value>) + Sync)) {
    let whole = tested.one(reply(tested.subject.success)).await.1.unwrap();
    let mut body: Value = serde_json::from_str(tested.subject.success).unwrap();
    assert!(change_list(&mut body, change), "the success holds a list of results");
    assert_eq!(tested.one(reply(&body.to_string())).await.1.unwrap(), whole);
}

pub(super) async fn a_result_listed_twice_is_one(tested: &TestedProvider) {
    is_read_as_before(tested, &|rows| {
        let again = rows.iter().find(|row| is_result(row)).cloned().unwrap();
        rows.insert(1, again.clone());
        rows.push(again);
    })
    .await;
}

pub(super) async fn rows_of_another_shape_are_left_out(tested: &TestedProvider) {
    is_read_as_before(tested, &|rows| {
        for odd in [Value::Null, json!(7), json!("text"), json!({}), json!([1]), json!({"url": 7, "link": {}})] {
            rows.insert(0, odd);
        }
    })
    .await;
}

pub(super) async fn a_list_that_never_ends_is_ended(tested: &TestedProvider) {
    let trial = tested.trial(reply(tested.habits.endless.unwrap())).await;
    // The setup checks that no query is sent more than three times.
    let found = trial.setup.ask(&super::Query { limit: 50, ..query() }).await.unwrap();
    let addresses = found.hits.iter().map(|hit| &hit.url).chain(found.reviews.iter().map(|review| &review.url));
    let mut addresses: Vec<&String> = addresses.collect();
    let all = addresses.len();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), all, "a page that is sent again adds nothing");
    assert!((1..=3).contains(&trial.asked()));
}
