//! Does a store of millions cost an item more than an empty one, and what does clean-up cost beside the work?

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::Arguments;
use crate::broker::Upstream;
use crate::daemon::{Daemon, Setup};
use crate::database::Scratch;
use crate::figures::{Figure, Figures, Target, percentile};
use crate::fill;
use crate::modes::bodies;
use crate::simulator::{EventWorld, Simulator};

/// Sentences where `--sentences` says nothing.
const SENTENCES: u64 = 1_000_000;
/// A store has so many sentences to an item, up to as many items as `--items` says.
const PER_ITEM: u64 = 5;
const ITEMS: u64 = 1_000_000;
/// Items before the measurement. A server that has done a large store's items for a while has most of the vectors' indexes in memory.
const WARM_UP: u64 = 600;
/// Items one at a time, and then a queue of them.
const ALONE: u64 = 150;
const QUEUED: u64 = 300;
/// Filled at once: a statement's rows are held until it ends.
const PORTION: u64 = 500_000;
/// Of an empty store's p99, at the largest store.
const MOST_TIMES: f64 = 1.5;
/// Rows that an item may have read from start to end of a table; those of the small tables (domains, providers, settings) are.
const READ_THROUGH: f64 = 2_000.0;
/// So many pages and items expire for the measurement of clean-up at full speed beside the work: enough that it lasts.
const EXPIRED: i64 = 100_000;
/// And so many for that of the daemon's own, which rests and takes ten times as long.
const EXPIRED_OWN: i64 = 12_000;
/// Of 128 pages and items so many do at most.
const MOST_EXPIRED: i64 = 32;
/// So few items at a time while clean-up runs, so that enough of them end before it does.
const BESIDE: u64 = 40;
/// And so many times that many without it.
const PORTIONS_ALONE: u64 = 15;
/// A daemon that was started does so many first.
const BEFORE_PORTIONS: u64 = 200;

/// What is looked at at each size.
struct Seen {
    /// Milliseconds of single items, sorted.
    millis: Vec<f64>,
    /// Items a second.
    rate: f64,
}

/// What every look shares.
struct Bench<'a> {
    arguments: &'a Arguments,
    simulator: &'a Simulator,
    world: EventWorld,
    /// The number of the next item; no store has seen it.
    next: u64,
}

pub(crate) async fn run(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    let mut bench = Bench { arguments, simulator: &simulator, world, next: 0 };
    match &arguments.filled {
        Some(name) => bench.filled(name, figures).await,
        None => bench.fill(figures).await,
    }
}

impl Bench<'_> {
    /// Fills a store to one size after another.
    async fn fill(&mut self, figures: &mut Figures) -> anyhow::Result<()> {
        let mut sizes = self.arguments.sentences.clone();
        if sizes.is_empty() {
            sizes.push(SENTENCES);
        }
        ensure!(
            sizes.is_sorted(),
            "--sentences: the smallest store first, since each is filled on from the one before"
        );
        let database = Scratch::create(&self.arguments.database, "growth").await?;
        let setup = setup(self.arguments, &database);
        let pool = database.pool(2).await?;
        let at_empty = self.look_at_empty(&setup, figures).await?;
        let mut filled = (0, 0);
        for size in &sizes {
            let begin = Instant::now();
            let items = (size / PER_ITEM).min(self.arguments.items.unwrap_or(ITEMS));
            grow(&setup, filled, (*size, items)).await?;
            filled = (*size, items);
            eprintln!("growth: {size} sentences and {items} items in {:.0} s", begin.elapsed().as_secs_f64());
            self.measure(&setup, &pool, (&format!("{size} sentences, {items} items"), at_empty), figures).await?;
        }
        pool.close().await;
        if self.arguments.keep {
            eprintln!("growth: the store is kept; measure it again with --mode growth --filled {}", database.name());
            return Ok(());
        }
        database.drop().await
    }

    /// Looks at a store that an earlier run has filled, beside an empty one.
    async fn filled(&mut self, name: &str, figures: &mut Figures) -> anyhow::Result<()> {
        let database = Scratch::existing(&self.arguments.database, name)?;
        let pool = database.pool(2).await?;
        let (known, sentences, items): (i64, i64, i64) = sqlx::query_as(
            // Not their number: clean-up may have taken some.
            "SELECT (SELECT coalesce(max(split_part(item_id, ':', 3)::bigint) + 1, 0) FROM items WHERE item_id LIKE 'bench:%'),
                 (SELECT count(*) FROM evidence_claims), (SELECT count(*) FROM items)",
        )
        .fetch_one(&pool)
        .await
        .with_context(|| format!("looking into {name}"))?;
        self.next = known.unsigned_abs();
        let empty = Scratch::create(&self.arguments.database, "empty").await?;
        let at_empty = self.look_at_empty(&setup(self.arguments, &empty), figures).await?;
        empty.drop().await?;
        let size = format!("{sentences} sentences, {items} items");
        self.measure(&setup(self.arguments, &database), &pool, (&size, at_empty), figures).await?;
        pool.close().await;
        Ok(())
    }

    /// The p99 of one item alone, milliseconds.
    async fn look_at_empty(&mut self, setup: &Setup, figures: &mut Figures) -> anyhow::Result<f64> {
        let empty = self.look(setup).await?;
        figures.push(of(&empty, "empty", Target::None));
        Ok(percentile(&empty.millis, 0.99))
    }

    async fn measure(
        &mut self,
        setup: &Setup,
        pool: &PgPool,
        (name, at_empty): (&str, f64),
        figures: &mut Figures,
    ) -> anyhow::Result<()> {
        let before = read_through(pool).await?;
        let seen = self.look(setup).await?;
        let after = read_through(pool).await?;
        figures.push(of(&seen, name, Target::Below(at_empty * MOST_TIMES)));
        figures.push(of_reads(name, &before, &after));
        figures.push(of_disk(pool, name).await?);
        figures.push(self.clean_itself(setup, pool, name).await?);
        figures.push(vacuum(pool, name).await?);
        figures.push(self.clean(setup, pool, name).await?);
        Ok(())
    }

    fn take(&mut self, count: u64) -> Vec<(String, Vec<u8>)> {
        self.next += count;
        bodies(self.world, self.next - count..self.next)
    }

    /// Items one at a time, then as many at once as the daemon takes, each about what the store knows nothing of.
    async fn look(&mut self, setup: &Setup) -> anyhow::Result<Seen> {
        let daemon = Daemon::start(setup, self.simulator).await?;
        let mut upstream = Upstream::connect(&self.arguments.amqp).await?;
        // Connections and statements are made, and what is looked at again and again is read from the disk.
        upstream.run(&self.take(WARM_UP)).await.with_context(|| daemon.log_end())?;
        let mut millis = Vec::new();
        for _ in 0..ALONE {
            millis.extend(upstream.run(&self.take(1)).await.with_context(|| daemon.log_end())?.millis);
        }
        let batch = upstream.run(&self.take(QUEUED)).await.with_context(|| daemon.log_end())?;
        upstream.close().await?;
        daemon.stop().await?;
        millis.sort_by(f64::total_cmp);
        Ok(Seen { millis, rate: batch.rate() })
    }

    /// How many items a second are done while the daemon itself cleans up, as it does once a day, beside without.
    async fn clean_itself(&mut self, setup: &Setup, pool: &PgPool, name: &str) -> anyhow::Result<Figure> {
        let expired = expire_about(pool, EXPIRED_OWN, 1).await?;
        // No other process has its turn yet, so that the daemon begins with it.
        sqlx::query("DELETE FROM store_settings WHERE key = 'last_cleanup'").execute(pool).await?;
        let (daemon, mut upstream) = self.at_work(setup).await?;
        let begin = Instant::now();
        ensure!(daemon.clean_ups().await? < 1.0, "clean-up was done before the measurement: fill a larger store");
        let mut during = Vec::new();
        while daemon.clean_ups().await? < 1.0 {
            during.push(self.portion(&mut upstream).await?);
        }
        let took = begin.elapsed().as_secs_f64();
        // The last went on after it ended.
        during.pop();
        let mut without = Vec::new();
        for _ in 0..during.len().clamp(PORTIONS_ALONE as usize, 4 * PORTIONS_ALONE as usize) {
            without.push(self.portion(&mut upstream).await?);
        }
        upstream.close().await?;
        daemon.stop().await?;
        let remark = format!("{expired} items and pages had expired, cleaned in {took:.0} s and the daemon's start");
        of_cleaning(&format!("while the daemon cleans up, {name}"), &during, &without, Target::AtLeast(95.0), &remark)
    }

    /// The same while another process cleans up at full speed, which is for a quiet hour.
    async fn clean(&mut self, setup: &Setup, pool: &PgPool, name: &str) -> anyhow::Result<Figure> {
        let expired = expire_about(pool, EXPIRED, 2).await?;
        let (daemon, mut upstream) = self.at_work(setup).await?;
        let mut without = Vec::new();
        for _ in 0..PORTIONS_ALONE {
            without.push(self.portion(&mut upstream).await?);
        }
        let begin = Instant::now();
        let mut cleaning = start_cleaning(setup)?;
        let (mut during, mut took) = (Vec::new(), None);
        while took.is_none() {
            during.push(self.portion(&mut upstream).await?);
            if let Some(status) = cleaning.try_wait()? {
                ensure!(status.success(), "clean-up ended with {status}");
                took = Some(begin.elapsed().as_secs_f64());
            }
        }
        during.pop();
        upstream.close().await?;
        daemon.stop().await?;
        let took = took.unwrap_or_default();
        let remark = format!("{expired} items and pages had expired, cleaned in {took:.0} s");
        of_cleaning(&format!("beside corroborate cleanup, {name}"), &during, &without, Target::None, &remark)
    }

    /// A daemon that has done some items.
    async fn at_work(&mut self, setup: &Setup) -> anyhow::Result<(Daemon, Upstream)> {
        let daemon = Daemon::start(setup, self.simulator).await?;
        let mut upstream = Upstream::connect(&self.arguments.amqp).await?;
        upstream.run(&self.take(BEFORE_PORTIONS)).await.with_context(|| daemon.log_end())?;
        Ok((daemon, upstream))
    }

    /// Seconds that a few items take. Each portion has a beginning and an end at which not all of the daemon is at work, so that
    /// portions compare with portions alone.
    async fn portion(&mut self, upstream: &mut Upstream) -> anyhow::Result<f64> {
        Ok(upstream.run(&self.take(BESIDE)).await?.elapsed.as_secs_f64())
    }
}

/// How many items a second are done during clean-up, beside without; seconds of portions.
fn of_cleaning(name: &str, during: &[f64], without: &[f64], target: Target, remark: &str) -> anyhow::Result<Figure> {
    ensure!(!during.is_empty(), "clean-up was done within {BESIDE} items: fill a larger store");
    let [during, without] = [during, without].map(|of| (of.len() as u64 * BESIDE) as f64 / of.iter().sum::<f64>());
    let remark = format!("{during:.1} beside {without:.1} items/s; {remark}");
    Ok(Figure::new(&format!("items a second {name}"), 100.0 * during / without, "%", target).remark(remark))
}

fn setup(arguments: &Arguments, database: &Scratch) -> Setup {
    // Models take the same at every size, and would hide what the store takes.
    let models = ["INFERENCE_STANCE=rules", "INFERENCE_EMBEDDER=hashed", "INFERENCE_RERANKER=lexical"];
    Setup {
        name: "growth",
        amqp: Some(arguments.amqp.clone()),
        database: Some(database.url()),
        concurrency: arguments.concurrency,
        environment: [models.map(str::to_owned).to_vec(), arguments.env.clone()].concat(),
        ..Setup::default()
    }
}

/// Fills the store on, without its indexes of vectors, which are built behind it.
async fn grow(setup: &Setup, from: (u64, u64), to: (u64, u64)) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(setup.database.as_deref().context("a database is needed")?).await?;
    fill::sentences(&mut connection).await?;
    // An index of vectors takes 0.7 kB a row while it is built; what does not fit is many times slower.
    let megabytes = 2_000.max(to.0 / 1_000);
    let memory = format!("SET maintenance_work_mem = '{megabytes}MB'; SET jit = off");
    connection.execute(sqlx::raw_sql(AssertSqlSafe(memory))).await?;
    let indexes: Vec<(String, String)> =
        sqlx::query_as("SELECT indexname::text, indexdef FROM pg_indexes WHERE indexdef LIKE '% hnsw %'")
            .fetch_all(&mut connection)
            .await?;
    ensure!(indexes.len() == 2, "{} indexes of vectors", indexes.len());
    for (name, _) in &indexes {
        connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP INDEX {name}")))).await?;
    }
    let embedder: String = sqlx::query_scalar("SELECT embedder FROM items ORDER BY enriched_at DESC LIMIT 1")
        .fetch_one(&mut connection)
        .await?;
    let portions = (to.0 - from.0).div_ceil(PORTION).max(1);
    let part = |from: u64, to: u64, number: u64| i64::try_from(from + (to - from) * number / portions);
    for number in 0..portions {
        let [first, last] = [part(from.0, to.0, number)? + 1, part(from.0, to.0, number + 1)?];
        let [items_first, items_last] = [part(from.1, to.1, number)? + 1, part(from.1, to.1, number + 1)?];
        connection.execute("DROP TABLE IF EXISTS wanted").await?;
        sqlx::query(
            "CREATE TEMP TABLE wanted AS SELECT $1::bigint AS first, $2::bigint AS last, $3::bigint AS items_first,
                 $4::bigint AS items_last, $5::text AS embedder",
        )
        .bind(first)
        .bind(last)
        .bind(items_first)
        .bind(items_last)
        .bind(&embedder)
        .execute(&mut connection)
        .await?;
        connection.execute(include_str!("growth.sql")).await.context("filling the store")?;
        eprintln!("growth: {last} sentences, {items_last} items are there");
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

/// Rows that were read by going through whole tables, by table.
async fn read_through(pool: &PgPool) -> anyhow::Result<Vec<(String, i64)>> {
    // The server's counts follow after a moment.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    Ok(sqlx::query_as("SELECT relname::text, seq_tup_read FROM pg_stat_user_tables ORDER BY relname")
        .fetch_all(pool)
        .await?)
}

fn of_reads(name: &str, before: &[(String, i64)], after: &[(String, i64)]) -> Figure {
    let mut read: Vec<(&str, f64)> = after
        .iter()
        .filter_map(|(table, now)| {
            let then = before.iter().find(|(one, _)| one == table).map_or(0, |(_, then)| *then);
            (*now > then).then_some((table.as_str(), (now - then) as f64 / (WARM_UP + ALONE + QUEUED) as f64))
        })
        .collect();
    read.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = read.iter().map(|(_, rows)| rows).sum();
    let most: Vec<String> = read.iter().take(4).map(|(table, rows)| format!("{table} {rows:.0}")).collect();
    Figure::new(&format!("rows read through an item, {name}"), all, "rows", Target::Below(READ_THROUGH))
        .remark(format!("whole tables gone through, where no index is used: {}", most.join(", ")))
}

async fn of_disk(pool: &PgPool, name: &str) -> anyhow::Result<Figure> {
    let (all, vectors, sentences): (i64, i64, i64) = sqlx::query_as(
        "SELECT pg_database_size(current_database()),
             pg_relation_size('evidence_claims_embedding') + pg_relation_size('items_embedding'),
             (SELECT count(*) FROM evidence_claims)",
    )
    .fetch_one(pool)
    .await?;
    Ok(Figure::new(&format!("disk, {name}"), all as f64 / 1e9, "GB", Target::None).remark(format!(
        "of which the two indexes of vectors {:.2} GB; {sentences} sentences are there",
        vectors as f64 / 1e9
    )))
}

fn of(seen: &Seen, name: &str, target: Target) -> Figure {
    let at = |share| percentile(&seen.millis, share);
    let remarks =
        format!("p50 {:.1} ms of {} items one at a time; {:.1} items/s", at(0.5), seen.millis.len(), seen.rate);
    Figure::new(&format!("one item alone, p99, {name}"), at(0.99), "ms", target).remark(remarks)
}

/// Lets that many in 128 of the pages and the items expire, others for each draw, and says how many these are.
async fn expire(pool: &PgPool, share: i64, draw: i64) -> anyhow::Result<u64> {
    let mut expired = 0;
    for (table, key) in [("items", "item_id"), ("evidence_sources", "id")] {
        let statement = format!(
            "UPDATE {table} SET expires_at = now() - interval '1 hour' WHERE hashtextextended({key}, {draw}) & 127 < {share}"
        );
        expired += sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await?.rows_affected();
    }
    Ok(expired)
}

/// Lets about so many of them expire.
async fn expire_about(pool: &PgPool, count: i64, draw: i64) -> anyhow::Result<u64> {
    let there: i64 =
        sqlx::query_scalar("SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM evidence_sources)")
            .fetch_one(pool)
            .await?;
    let share = (count * 128).div_euclid(there.max(1)) + 1;
    expire(pool, share.min(MOST_EXPIRED), draw).await
}

fn start_cleaning(setup: &Setup) -> anyhow::Result<Child> {
    Command::new(env!("CARGO_BIN_EXE_corroborate"))
        .args(["cleanup", "--json"])
        .env_clear()
        .env("DATABASE_URL", setup.database.as_deref().unwrap_or_default())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .context("starting clean-up")
}

/// Vacuum of what clean-up left, nothing beside it: of the tables with vectors nearly all of it is the indexes', which the neighbours
/// of a deleted row are linked anew in. What expired was written anew before, so that it meets each of it twice.
async fn vacuum(pool: &PgPool, name: &str) -> anyhow::Result<Figure> {
    let mut took = Vec::new();
    for table in ["evidence_claims", "evidence_sources", "items", "item_evidence"] {
        let begin = Instant::now();
        sqlx::raw_sql(AssertSqlSafe(format!("VACUUM {table}"))).execute(pool).await?;
        took.push((begin.elapsed().as_secs_f64(), table));
    }
    let all: f64 = took.iter().map(|(seconds, _)| seconds).sum();
    let each: Vec<String> = took.iter().map(|(seconds, table)| format!("{table} {seconds:.0} s")).collect();
    Ok(Figure::new(&format!("vacuum behind that clean-up, {name}"), all, "s", Target::None).remark(each.join(", ")))
}
