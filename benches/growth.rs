//! Does a store of millions cost an item more than an empty one, how long do the web pages take over it, and how much does
//! clean-up slow the daemon down?

use std::time::Instant;

use anyhow::{Context as _, ensure};
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::Arguments;
use crate::bed::{Bed, process};
use crate::process::{Daemon, RULES};
use crate::report::{Report, Target, percentile};
use crate::throughput::NEW;
use crate::upstream::{Item, Upstream, items};

const SENTENCES: u64 = 1_000_000;
/// Sentences per item, up to this many items.
const PER_ITEM: u64 = 5;
const MAX_ITEMS: u64 = 1_000_000;
/// Items before the measurement: a busy server has most of the vector indexes in memory.
const WARM_UP: u64 = 600;
/// Items one at a time, and then a queue of them.
const ALONE: u64 = 150;
const QUEUED: u64 = 300;
/// Rows of one statement, which are held until it ends.
const PORTION: u64 = 500_000;
/// Of an empty store's p99.
const MAX_TIMES: f64 = 1.5;
/// Expired pages and items of the clean-up measurement; at most a quarter of the store.
const EXPIRED: i64 = 12_000;
/// Requests of each page, and its target in milliseconds.
const REQUESTS: u64 = 25;
const PAGE_TARGET: f64 = 20.0;
/// Items of one portion during clean-up: so few that many portions end before it does.
const PORTION_ITEMS: u64 = 40;
/// The fewest portions that are measured without clean-up.
const MIN_PORTIONS: usize = 15;

/// A bed, and the number of the next item that no store has seen.
struct Growth<'a> {
    bed: Bed<'a>,
    next: u64,
}

/// Times of single items in milliseconds, sorted, and items a second.
struct Times {
    millis: Vec<f64>,
    rate: f64,
}

pub(crate) async fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let sentences = arguments.sentences.unwrap_or(SENTENCES);
    let count = (sentences / PER_ITEM).min(arguments.items.unwrap_or(MAX_ITEMS));
    let bed = Bed::new(arguments, "growth", NEW, &RULES).await?;
    let pool = bed.pool(2).await?;
    let mut growth = Growth { bed, next: 0 };
    let empty = growth.measure().await?;
    report_times(&empty, "empty", Target::None, report);

    let begin = Instant::now();
    fill(&growth.bed.url(), sentences, count).await?;
    eprintln!("growth: {sentences} sentences and {count} items in {:.0} s", begin.elapsed().as_secs_f64());
    let filled = growth.measure().await?;
    let target = Target::Below(percentile(&empty.millis, 0.99) * MAX_TIMES);
    report_times(&filled, "filled", target, report);
    report_disk(&pool, report).await?;
    growth.measure_pages(report).await?;
    growth.measure_cleanup(&pool, report).await?;
    pool.close().await;
    growth.bed.close().await
}

impl Growth<'_> {
    fn take(&mut self, count: u64) -> Vec<Item> {
        self.next += count;
        items(NEW, self.next - count..self.next)
    }

    /// A daemon that has processed some items.
    async fn warm(&mut self, count: u64) -> anyhow::Result<(Daemon, Upstream)> {
        let (daemon, mut upstream) = self.bed.daemon_and_upstream().await?;
        process(&daemon, &mut upstream, &self.take(count)).await?;
        Ok((daemon, upstream))
    }

    /// Items one at a time, then a queue, each without stored evidence.
    async fn measure(&mut self) -> anyhow::Result<Times> {
        let (mut daemon, mut upstream) = self.warm(WARM_UP).await?;
        let mut millis = Vec::new();
        for _ in 0..ALONE {
            millis.extend(process(&daemon, &mut upstream, &self.take(1)).await?.millis);
        }
        let batch = process(&daemon, &mut upstream, &self.take(QUEUED)).await?;
        upstream.close().await?;
        daemon.stop().await?;
        millis.sort_by(f64::total_cmp);
        Ok(Times { millis, rate: batch.rate() })
    }

    /// Milliseconds of each page, from connecting to the last byte, requested one at a time with no other work.
    async fn measure_pages(&self, report: &mut Report) -> anyhow::Result<()> {
        let mut daemon = self.bed.daemon().await?;
        let paths = [
            "/healthz",
            "/items",
            "/items?channel=@channel7",
            "/items?q=Case+17",
            "/items?q=no+such+words",
            "/evidence/grown-17",
            "/providers",
            "/domains",
            "/overview",
        ];
        for path in paths {
            let mut millis = Vec::new();
            // The first request also prepares statements.
            for _ in 0..=REQUESTS {
                let begin = Instant::now();
                let (status, _) = daemon.request("GET", path, "").await?;
                millis.push(begin.elapsed().as_secs_f64() * 1000.0);
                ensure!(status == 200, "{path} returns {status}");
            }
            let first = millis.remove(0);
            millis.sort_by(f64::total_cmp);
            let [median, high] = [0.5, 0.95].map(|share| percentile(&millis, share));
            let remarks = format!("p50 {median:.1} ms of {REQUESTS}; the first request {first:.1} ms");
            report.measure(&format!("{path}, p95"), high, "ms", Target::Below(PAGE_TARGET), remarks);
        }
        daemon.stop().await
    }

    /// Items a second while the daemon cleans up, as it does once a day, and without. Each portion has a start and an end
    /// at which the daemon is not fully busy, so portions are compared with portions.
    async fn measure_cleanup(&mut self, pool: &PgPool, report: &mut Report) -> anyhow::Result<()> {
        let expired = expire(pool).await?;
        // The daemon begins with clean-up if no process has done it yet.
        sqlx::query("DELETE FROM store_settings WHERE key = 'last_cleanup'").execute(pool).await?;
        let (mut daemon, mut upstream) = self.warm(200).await?;
        let begin = Instant::now();
        let (mut during, mut without) = (Vec::new(), Vec::new());
        while cleanups(&daemon).await? < 1.0 {
            during.push(process(&daemon, &mut upstream, &self.take(PORTION_ITEMS)).await?.elapsed.as_secs_f64());
        }
        let took = begin.elapsed().as_secs_f64();
        // The last portion ended after the clean-up.
        during.pop();
        ensure!(!during.is_empty(), "clean-up ended within {PORTION_ITEMS} items: fill a larger store");
        for _ in 0..during.len().clamp(MIN_PORTIONS, 4 * MIN_PORTIONS) {
            without.push(process(&daemon, &mut upstream, &self.take(PORTION_ITEMS)).await?.elapsed.as_secs_f64());
        }
        upstream.close().await?;
        daemon.stop().await?;
        let [during, without] =
            [during, without].map(|of| (of.len() as u64 * PORTION_ITEMS) as f64 / of.iter().sum::<f64>());
        let remarks = format!(
            "{during:.1} and {without:.1} items/s; {expired} expired items and pages were deleted in {took:.0} s"
        );
        let share = 100.0 * during / without;
        report.measure("throughput during clean-up", share, "%", Target::AtLeast(95.0), remarks);
        Ok(())
    }
}

async fn cleanups(daemon: &Daemon) -> anyhow::Result<f64> {
    daemon.metric("job_runs_total{job=\"cleanup\",outcome=\"ok\"").await
}

/// Fills the store, and builds the vector indexes at the end.
async fn fill(url: &str, sentences: u64, count: u64) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    // Real sentences, so that words have a natural frequency.
    connection.execute("CREATE TEMP TABLE sentence (place bigint, words text)").await?;
    let words: Vec<&str> = include_str!("../tests/data/lingua_langid/en/sentences.txt").lines().collect();
    sqlx::query(
        "INSERT INTO sentence SELECT place - 1, words FROM unnest($1::text[]) WITH ORDINALITY AS s(words, place)",
    )
    .bind(words)
    .execute(&mut connection)
    .await?;
    // A vector index needs 0.7 kB a row while it is built; a build that does not fit is many times slower.
    let megabytes = 2_000.max(sentences / 1_000);
    let memory = format!("SET maintenance_work_mem = '{megabytes}MB'; SET jit = off");
    connection.execute(sqlx::raw_sql(AssertSqlSafe(memory))).await?;
    let indexes: Vec<(String, String)> =
        sqlx::query_as("SELECT indexname::text, indexdef FROM pg_indexes WHERE indexdef LIKE '% hnsw %'")
            .fetch_all(&mut connection)
            .await?;
    ensure!(indexes.len() == 2, "{} vector indexes", indexes.len());
    for (name, _) in &indexes {
        connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP INDEX {name}")))).await?;
    }
    let embedder: String = sqlx::query_scalar("SELECT embedder FROM items ORDER BY enriched_at DESC LIMIT 1")
        .fetch_one(&mut connection)
        .await?;
    let portions = sentences.div_ceil(PORTION).max(1);
    let up_to = |total: u64, number: u64| i64::try_from(total * number / portions);
    for number in 0..portions {
        connection.execute("DROP TABLE IF EXISTS wanted").await?;
        sqlx::query(
            "CREATE TEMP TABLE wanted AS SELECT $1::bigint AS first, $2::bigint AS last, $3::bigint AS items_first,
                 $4::bigint AS items_last, $5::text AS embedder",
        )
        .bind(up_to(sentences, number)? + 1)
        .bind(up_to(sentences, number + 1)?)
        .bind(up_to(count, number)? + 1)
        .bind(up_to(count, number + 1)?)
        .bind(&embedder)
        .execute(&mut connection)
        .await?;
        connection.execute(include_str!("growth.sql")).await.context("filling the store")?;
        eprintln!("growth: portion {} of {portions} inserted", number + 1);
    }
    for (name, definition) in &indexes {
        let begin = Instant::now();
        connection.execute(sqlx::raw_sql(AssertSqlSafe(definition.clone()))).await?;
        eprintln!("growth: {name} built in {:.0} s", begin.elapsed().as_secs_f64());
    }
    for table in ["evidence_sources", "evidence_claims", "items", "claims", "item_evidence"] {
        connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("VACUUM (ANALYZE) {table}")))).await?;
    }
    Ok(connection.close().await?)
}

fn report_times(times: &Times, name: &str, target: Target, report: &mut Report) {
    let [median, high] = [0.5, 0.99].map(|share| percentile(&times.millis, share));
    let remarks = format!("p50 {median:.1} ms of {} items; {:.1} items/s", times.millis.len(), times.rate);
    report.measure(&format!("one item alone, p99, {name} store"), high, "ms", target, remarks);
}

async fn report_disk(pool: &PgPool, report: &mut Report) -> anyhow::Result<()> {
    let (all, vectors, sentences): (i64, i64, i64) = sqlx::query_as(
        "SELECT pg_database_size(current_database()),
             pg_relation_size('evidence_claims_embedding') + pg_relation_size('items_embedding'),
             (SELECT count(*) FROM evidence_claims)",
    )
    .fetch_one(pool)
    .await?;
    let remarks = format!("{:.2} GB in the vector indexes; {sentences} sentences", vectors as f64 / 1e9);
    report.measure("disk", all as f64 / 1e9, "GB", Target::None, remarks);
    Ok(())
}

/// Expires about [`EXPIRED`] pages and items, and returns their number.
async fn expire(pool: &PgPool) -> anyhow::Result<u64> {
    let stored: i64 =
        sqlx::query_scalar("SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM evidence_sources)")
            .fetch_one(pool)
            .await?;
    let share = (EXPIRED * 128 / stored.max(1) + 1).min(32);
    let mut expired = 0;
    for (table, key) in [("items", "item_id"), ("evidence_sources", "id")] {
        let statement = format!(
            "UPDATE {table} SET expires_at = now() - interval '1 hour' WHERE hashtextextended({key}, 1) & 127 < {share}"
        );
        expired += sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await?.rows_affected();
    }
    Ok(expired)
}
