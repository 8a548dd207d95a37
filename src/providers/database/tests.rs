use std::future::{Ready, ready};

use tokio::time::Instant;

use super::super::contract;
use super::super::contract_own::{OwnSubject, gate};
use super::super::{Answer, Provider as _};
use super::*;
use crate::outbound::{AskMeter, GateState};
use crate::store::ExternalSettings;

/// The server of the store tests; nothing is created there.
#[expect(clippy::disallowed_methods, reason = "the address comes from tests/run")]
pub(in crate::providers) fn server() -> Option<String> {
    let url = std::env::var("TEST_DATABASE_URL").ok();
    if url.is_none() {
        // As in the integration tests: if services are required, a skipped test is a failure.
        assert!(std::env::var_os("CORROBORATE_TEST_REQUIRE_SERVICES").is_none(), "TEST_DATABASE_URL is not set");
        eprintln!("skipped: TEST_DATABASE_URL is not set");
    }
    url
}

const TABLE: &str = "(VALUES ('Vizhinjam', 'approved', 41.50, '2026-06-01 10:00:00+03'::timestamptz),
    ('Odesa', 'closed', 7, '2026-05-01'::timestamptz)) AS ports(port, state, tons, updated)";

fn query(sql: &str) -> DatabaseQuery {
    DatabaseQuery {
        name: "ports".to_owned(),
        sql: sql.to_owned(),
        statement: "The seaport of {port} is {state}, with {tons} tons.".to_owned(),
        parameter: QueryParameter::Claim,
        keywords: Vec::new(),
        limit: 5,
        date_column: Some("updated".to_owned()),
        credibility: 0.8,
    }
}

fn ports() -> DatabaseQuery {
    query(&format!("SELECT * FROM {TABLE} WHERE $1 LIKE '%' || port || '%'; -- the ports a claim names"))
}

fn over(url: &str, queries: Vec<DatabaseQuery>, timeout: Duration) -> Database {
    let settings = ExternalSettings { pool_size: 2, timeout, max_bytes: 4096 };
    let database = ExternalDatabase::new(&url.to_owned().into(), settings).unwrap();
    new("harbours", queries, &database, gate(gate_settings(Duration::from_mins(10)))).unwrap()
}

fn at(url: &str, query: DatabaseQuery) -> Database {
    over(url, vec![query], Duration::from_secs(3))
}

async fn ask(database: &Database, query: &Query) -> Result<Answer, AskError> {
    let asker = Asker { until: Instant::now() + Duration::from_secs(20), meter: &AskMeter::default() };
    database.ask(query, asker).await
}

fn claim(text: &str) -> Query {
    Query { text: text.to_owned(), ..contract::query() }
}

pub(in crate::providers) fn own_subject() -> Ready<Option<OwnSubject>> {
    let Some(url) = server() else { return ready(None) };
    let slow = query(&format!("SELECT ports.*, pg_sleep(6) FROM {TABLE}"));
    ready(Some(OwnSubject {
        kind: ProviderKind::Own,
        query: contract::query(),
        full: Box::new(at(&url, ports())),
        empty: Box::new(at(&url, query(&format!("SELECT * FROM {TABLE} WHERE port = 'none'")))),
        broken: Box::new(at("postgres://nobody:nothing@127.0.0.1:9/none", ports())),
        slow: Box::new(over(&url, vec![slow], Duration::from_secs(10))),
        content: Some(Origin::Database),
        clear: Box::pin(async {}),
    }))
}

#[tokio::test]
async fn rows_become_sentences_with_their_date() {
    let Some(url) = server() else { return };
    let hits = ask(&at(&url, ports()), &claim("Vizhinjam and Odesa are open")).await.unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].url, "database://harbours/ports");
    assert_eq!(hits[0].published_at.unwrap().to_rfc3339(), "2026-06-01T07:00:00+00:00");
    let content = hits[0].content.as_ref().unwrap();
    assert_eq!(
        content.text,
        "The seaport of Vizhinjam is approved, with 41.5 tons.\n\nThe seaport of Odesa is closed, with 7 tons."
    );
    assert_eq!((content.publisher.as_deref(), content.credibility), (Some("harbours"), Some(0.8)));
    let one = DatabaseQuery { limit: 1, ..ports() };
    let hits = ask(&at(&url, one), &claim("Vizhinjam and Odesa are open")).await.unwrap().hits;
    assert!(!hits[0].content.as_ref().unwrap().text.contains("Odesa"), "no more rows than allowed");
}

#[tokio::test]
async fn answer_names_failed_query_when_others_have_rows() {
    let Some(url) = server() else { return };
    let broken = DatabaseQuery { name: "budget".to_owned(), ..query("SELECT * FROM no_such_table") };
    let answer = ask(&over(&url, vec![broken, ports()], Duration::from_secs(3)), &contract::query()).await.unwrap();
    assert_eq!((answer.hits.len(), answer.failed.as_slice()), (1, ["budget".to_owned()].as_slice()));
}

#[tokio::test]
async fn a_claim_is_a_value_and_never_a_part_of_the_query() {
    let Some(url) = server() else { return };
    let database = at(&url, ports());
    for text in ["'; DROP TABLE items; --", "$1 $2 ') OR 1=1 --", "a\u{0}b", "Ünïcode “quotes” \\"] {
        assert_eq!(ask(&database, &claim(text)).await, Ok(Answer::default()), "{text}");
    }
    assert_eq!(database.status().errors_today, 0);
}

#[tokio::test]
async fn what_writes_is_refused_by_the_server_too() {
    let Some(url) = server() else { return };
    for sql in [
        "SELECT lo_create(0) AS port, 1 AS state, 2 AS tons",
        "SELECT set_config('transaction_read_only', 'off', true) AS port, 1 AS state, 2 AS tons",
        "SELECT txid_current() AS port, missing AS state, 2 AS tons",
        "WITH gone AS (DELETE FROM pg_class RETURNING relname) SELECT relname AS port, 1 AS state, 2 AS tons FROM gone",
        "SELECT relname AS port, 1 AS state, 2 AS tons INTO copy FROM pg_class",
        "SELECT relname AS port, 1 AS state, 2 AS tons FROM pg_class FOR UPDATE",
        "SELECT 1 AS port, 1 AS state, 2 AS tons) AS asked LIMIT 1) AS rows; DROP TABLE no_such_table; SELECT (1",
        "SELECT 1 AS port, $2 AS state, 2 AS tons",
        "SELECT 'open",
    ] {
        let database = at(&url, query(sql));
        let error = ask(&database, &contract::query()).await.unwrap_err();
        assert!(matches!(&error, AskError::Refused { detail } if detail.contains("query ports")), "{sql}: {error}");
        assert_eq!(database.status().state, GateState::Ready, "another query may be asked");
    }
}

/// A pooler refuses unknown parameters at connection start.
#[tokio::test]
async fn limits_are_set_in_the_transaction_and_not_when_connecting() {
    let Some(url) = server() else { return };
    let settings =
        "SELECT string_agg(name || ' ' || setting || ' ' || source, ', ' ORDER BY name) AS listed FROM pg_settings
        WHERE name IN ('statement_timeout', 'transaction_read_only', 'extra_float_digits') AND ($1 <> '')";
    let asked = DatabaseQuery { statement: "{listed}".into(), date_column: None, ..query(settings) };
    let hits = ask(&over(&url, vec![asked], Duration::from_secs(3)), &contract::query()).await.unwrap().hits;
    let text = &hits[0].content.as_ref().unwrap().text;
    assert!(text.contains("statement_timeout 3000 session") && text.contains("transaction_read_only on"), "{text}");
    assert!(text.contains("extra_float_digits 1 default"), "{text}");
}

#[tokio::test]
async fn a_slow_query_is_ended_by_the_server() {
    let Some(url) = server() else { return };
    let slow = query(&format!("SELECT ports.*, pg_sleep(30) FROM {TABLE}"));
    let started = Instant::now();
    let error = ask(&over(&url, vec![slow], Duration::from_millis(1_500)), &contract::query()).await.unwrap_err();
    assert_eq!(error, AskError::Timeout);
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[tokio::test]
async fn rows_beyond_the_limit_of_bytes_are_left_out() {
    let Some(url) = server() else { return };
    let wide = query(
        "SELECT port, repeat('x', wide) AS state, 1 AS tons FROM (VALUES ('a', 3000), ('b', 30000), ('c', 30)) AS t(port, wide)",
    );
    let hits = ask(&at(&url, wide), &contract::query()).await.unwrap().hits;
    let text = &hits[0].content.as_ref().unwrap().text;
    assert!(text.contains("seaport of a") && text.contains("seaport of c") && !text.contains("seaport of b"));
}

#[tokio::test]
async fn a_query_is_asked_only_for_claims_with_its_words_and_names() {
    let Some(url) = server() else { return };
    let database = at(&url, DatabaseQuery { keywords: vec!["порт".into(), "seaport".into()], ..ports() });
    assert!(ask(&database, &Query { terms: vec![], ..claim("A bridge in Odesa opened") }).await.unwrap().is_empty());
    assert_eq!(database.status().calls_today, 0, "nothing to ask is no call");
    assert_eq!(ask(&database, &Query { terms: vec![], ..claim("Odesa: морські порти") }).await.unwrap().hits.len(), 1);
    let by_name = at(&url, DatabaseQuery { parameter: QueryParameter::Entity, ..ports() });
    assert_eq!(ask(&by_name, &contract::query()).await.unwrap().hits.len(), 1);
    assert_eq!(ask(&by_name, &Query { terms: vec![], ..contract::query() }).await, Ok(Answer::default()));
    let other = Query { text: "The same name in other words".into(), ..contract::query() };
    assert_eq!(by_name.cache_key(&other), by_name.cache_key(&contract::query()));
}

#[tokio::test]
async fn query_fails_when_statement_names_no_column() {
    let Some(url) = server() else { return };
    let wrong = DatabaseQuery { statement: "It is {price}.".into(), ..ports() };
    let error = ask(&at(&url, wrong), &contract::query()).await.unwrap_err();
    assert!(error.to_string().contains("no column price"), "{error}");
}

#[tokio::test]
async fn error_names_fix_when_query_cannot_work() {
    let settings = ExternalSettings { pool_size: 1, timeout: Duration::from_secs(1), max_bytes: 4096 };
    let database = ExternalDatabase::new(&"postgres://127.0.0.1:9/none".to_owned().into(), settings).unwrap();
    let error = |query: DatabaseQuery| {
        let gate = gate(gate_settings(Duration::from_mins(10)));
        new("harbours", vec![query], &database, gate).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(error(ports()), "");
    assert!(error(query("DELETE FROM ports")).contains("query ports: sql is no statement that reads; begin it"));
    assert!(error(DatabaseQuery { statement: "plain".into(), ..ports() }).contains("names no column"));
}
