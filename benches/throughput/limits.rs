//! What the broker and the database reach by themselves with the same messages and the same rows.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
    QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel};
use sqlx::{AssertSqlSafe, PgPool, Row as _};

use crate::broker;

/// Deliveries handled at once; as many as the daemon would.
const IN_FLIGHT: u16 = 64;
/// Connections that insert at once: more than the cores serve only wait for each other.
const INSERTERS: u32 = 8;

/// Items a second through a quorum queue: publish confirmed, consume, publish the result confirmed, acknowledge.
pub(crate) async fn broker(url: &str, items: &[(String, Vec<u8>)], results: &[Vec<u8>]) -> anyhow::Result<f64> {
    let connection = broker::connect(url).await?;
    let publisher = connection.create_channel().await?;
    publisher.confirm_select(ConfirmSelectOptions::default()).await?;
    let consuming = connection.create_channel().await?;
    consuming.confirm_select(ConfirmSelectOptions::default()).await?;
    consuming.basic_qos(IN_FLIGHT, BasicQosOptions::default()).await?;
    let names = ["corroborate_bench.items", "corroborate_bench.results"];
    for name in names {
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        publisher.queue_declare(name.into(), QueueDeclareOptions::durable(), arguments).await?;
    }
    let options = BasicConsumeOptions::default();
    let consumer = consuming.basic_consume(names[0].into(), "".into(), options, FieldTable::default()).await?;

    let begin = Instant::now();
    let publishing = broker::publish_all(&publisher, "", names[0], items.iter().map(|(_, body)| body.as_slice()));
    let answering = consumer
        .take(items.len())
        .enumerate()
        .map(|(number, delivery)| delivery.map(|delivery| (number, delivery)).map_err(anyhow::Error::from))
        .try_for_each_concurrent(usize::from(IN_FLIGHT), |(number, delivery)| {
            let body = results.get(number % results.len().max(1)).map_or(delivery.data.clone(), Clone::clone);
            let channel = &consuming;
            async move {
                answer(channel, names[1], &body).await?;
                delivery.ack(BasicAckOptions::default()).await.context("acknowledging")?;
                Ok(())
            }
        });
    futures::future::try_join(publishing, answering).await?;
    let rate = items.len() as f64 / begin.elapsed().as_secs_f64();

    for name in names {
        publisher.queue_delete(name.into(), QueueDeleteOptions::default()).await?;
    }
    connection.close(200, "done".into()).await?;
    Ok(rate)
}

async fn answer(channel: &Channel, queue: &str, body: &[u8]) -> anyhow::Result<()> {
    let properties = BasicProperties::default().with_delivery_mode(2);
    channel.basic_publish("".into(), queue.into(), BasicPublishOptions::default(), body, properties).await?.await?;
    Ok(())
}

/// The rows of one item: a JSON array of rows by table.
type ItemRows = BTreeMap<&'static str, Vec<serde_json::Value>>;

/// Tables whose rows belong to an item by its id.
const ITEM_TABLES: [&str; 4] = ["items", "claims", "item_fact_checks", "item_evidence"];
/// The schema the rows are inserted into.
const COPY: &str = "corroborate_bench";

/// Items a second when the rows the daemon stored are inserted again, into tables with the same columns, checks and
/// indexes: one transaction an item, one multi-row statement a table. None where the database holds no items.
pub(crate) async fn inserts(pool: &PgPool) -> anyhow::Result<Option<f64>> {
    let items = stored_rows(pool).await.context("reading the stored rows")?;
    let tables: Vec<&'static str> = all_tables(pool).await?;
    if items.is_empty() {
        return Ok(None);
    }
    let mut setup = format!("DROP SCHEMA IF EXISTS {COPY} CASCADE; CREATE SCHEMA {COPY};");
    for table in &tables {
        // Without identities and generated columns: the rows bring their values.
        let like = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES INCLUDING STORAGE";
        write!(setup, "CREATE TABLE {COPY}.{table} (LIKE public.{table} {like});")?;
    }
    sqlx::raw_sql(AssertSqlSafe(setup)).execute(pool).await.context("copying the tables' definitions")?;
    let statements: HashMap<&str, String> = tables
        .iter()
        .map(|table| {
            (
                *table,
                format!(
                    "INSERT INTO {COPY}.{table} SELECT * FROM json_populate_recordset(NULL::{COPY}.{table}, $1::json)"
                ),
            )
        })
        .collect();
    // Serialised before the clock starts: that is the client's work, not the database's.
    let prepared: Vec<Vec<(&str, String)>> = items
        .iter()
        .map(|rows| {
            rows.iter().map(|(table, rows)| (*table, serde_json::Value::from(rows.clone()).to_string())).collect()
        })
        .collect();

    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    stream::iter((0..INSERTERS).map(anyhow::Ok))
        .try_for_each_concurrent(None, |_| async {
            while let Some(item) = prepared.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut transaction = pool.begin().await?;
                for (table, rows) in item {
                    let statement = statements.get(table).context("a table without a statement")?;
                    sqlx::query(AssertSqlSafe(statement.clone()))
                        .bind(rows)
                        .execute(&mut *transaction)
                        .await
                        .with_context(|| format!("inserting into {table}"))?;
                }
                transaction.commit().await?;
            }
            Ok(())
        })
        .await?;
    let rate = items.len() as f64 / begin.elapsed().as_secs_f64();
    sqlx::raw_sql(AssertSqlSafe(format!("DROP SCHEMA {COPY} CASCADE"))).execute(pool).await?;
    Ok(Some(rate))
}

/// The tables there are, those others refer to first.
async fn all_tables(pool: &PgPool) -> anyhow::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for table in ["items", "evidence_sources", "evidence_claims", "claims", "item_fact_checks", "item_evidence"] {
        let exists: bool =
            sqlx::query_scalar("SELECT to_regclass('public.' || $1) IS NOT NULL").bind(table).fetch_one(pool).await?;
        if exists {
            found.push(table);
        }
    }
    Ok(found)
}

/// Every stored row, item by item. A page that several items use goes to the first of them, as it did when it was
/// stored; a row nobody refers to goes to some item, so that none is left out.
async fn stored_rows(pool: &PgPool) -> anyhow::Result<Vec<ItemRows>> {
    let tables = all_tables(pool).await?;
    let mut items: Vec<ItemRows> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut owners: HashMap<String, usize> = HashMap::new();
    for table in ITEM_TABLES {
        if !tables.contains(&table) {
            continue;
        }
        for (row, json) in rows_of(pool, table, "t.item_id::text").await? {
            let place = *places.entry(row).or_insert_with(|| {
                items.push(ItemRows::new());
                items.len() - 1
            });
            if let Some(evidence) = json.get("evidence_id").map(key_of) {
                owners.entry(evidence).or_insert(place);
            }
            items[place].entry(table).or_default().push(json);
        }
    }
    if items.is_empty() {
        return Ok(items);
    }
    let mut unowned = 0;
    for (table, key) in [("evidence_sources", "id"), ("evidence_claims", "evidence_id")] {
        if !tables.contains(&table) {
            continue;
        }
        for (row, json) in rows_of(pool, table, &format!("t.{key}::text")).await? {
            let place = owners.get(&row).copied().unwrap_or_else(|| {
                unowned += 1;
                unowned % items.len()
            });
            owners.entry(row).or_insert(place);
            items[place].entry(table).or_default().push(json);
        }
    }
    Ok(items)
}

fn key_of(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// All rows of a table as JSON, with a key.
async fn rows_of(pool: &PgPool, table: &str, key: &str) -> anyhow::Result<Vec<(String, serde_json::Value)>> {
    let statement = format!("SELECT {key} AS key, to_json(t) AS row FROM public.{table} t");
    let rows = sqlx::query(AssertSqlSafe(statement)).fetch_all(pool).await?;
    rows.into_iter().map(|row| Ok((row.try_get("key")?, row.try_get("row")?))).collect()
}
