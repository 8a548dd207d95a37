//! How long the pages take over a store with many items, asked one at a time while nothing else is to do.

use std::time::Instant;

use anyhow::ensure;

use crate::Arguments;
use crate::daemon::{Daemon, Setup};
use crate::database::Scratch;
use crate::figures::{Figure, Figures, Target, percentile};
use crate::fill::{fill, frequent_words, id, own_words};
use crate::simulator::{EventWorld, Simulator};

/// Stored items where `--items` says nothing.
const ITEMS: u64 = 100_000;
/// Requests for each page; what is looked at first after a start, in as many starts.
const REQUESTS: u64 = 25;
/// The longest a page is to take, milliseconds.
const TARGET: f64 = 20.0;

/// A page that is asked for again and again.
struct Asked {
    name: &'static str,
    path: String,
    /// Links to items that it shows at least: an empty list would be quick and show nothing.
    items: usize,
    /// Another item each time.
    of_item: bool,
    millis: Vec<f64>,
}

impl Asked {
    fn list(name: &'static str, query: &[(&str, &str)], items: usize) -> Self {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        Self { items, ..Self::plain(name, &format!("/items?{query}")) }
    }

    fn plain(name: &'static str, path: &str) -> Self {
        Self { name, path: path.to_owned(), items: 0, of_item: false, millis: Vec::new() }
    }

    async fn ask(&mut self, daemon: &Daemon, round: u64) -> anyhow::Result<()> {
        let path = if self.of_item { format!("{}{}", self.path, id(1 + round * 37)) } else { self.path.clone() };
        let (millis, body) = timed(daemon, &path).await?;
        let links = body.matches("href=\"/evidence/").count();
        ensure!(links >= self.items, "{path} shows {links} items, {} are expected", self.items);
        self.millis.push(millis);
        Ok(())
    }
}

fn asked(items: u64) -> Vec<Asked> {
    let (frequent, oldest) = (frequent_words(), own_words(items));
    vec![
        Asked::plain("/healthz, for comparison", "/healthz"),
        Asked::list("/items", &[], 50),
        Asked::list("/items by verdict, one in ten", &[("verdict", "refuted")], 1),
        Asked::list("/items by verdict, one in a hundred", &[("verdict", "outdated")], 1),
        Asked::list("/items by channel, one in 400", &[("channel", "@channel7")], 1),
        Asked::list("/items degraded and Ukrainian", &[("degraded", "true"), ("language", "uk")], 1),
        Asked::list("/items with a contradiction, one in 50", &[("contradiction", "true")], 1),
        Asked::list("/items with words of one in fifty", &[("q", &frequent)], 1),
        Asked::list("/items with words of the oldest alone", &[("q", &oldest)], 1),
        Asked::list("/items with words of none", &[("q", "nobody wrote this")], 0),
        Asked { of_item: true, ..Asked::plain("an item's page", "/evidence/") },
        Asked::plain("/providers", "/providers"),
        Asked::plain("/domains", "/domains"),
        Asked::plain("/overview, again within a minute", "/overview"),
    ]
}

pub(crate) async fn run(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    let items = arguments.items.unwrap_or(ITEMS);
    eprintln!("pages: filling a store with {items} items of {} days", arguments.days);
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    let database = Scratch::create(&arguments.database, "pages").await?;
    let setup = Setup {
        name: "pages",
        amqp: Some(arguments.amqp.clone()),
        database: Some(database.url()),
        environment: arguments.env.clone(),
        ..Setup::default()
    };
    let begin = Instant::now();
    fill(&setup, &simulator, world, items, arguments.days).await?;
    eprintln!("pages: filled in {:.0} s; asking", begin.elapsed().as_secs_f64());
    let daemon = Daemon::start(&setup, &simulator).await?;
    let mut asked = asked(items);
    for round in 0..=REQUESTS {
        for page in &mut asked {
            page.ask(&daemon, round).await?;
        }
    }
    daemon.stop().await?;
    let mut first = Asked::plain("/overview, first after a start", "/overview");
    for _ in 0..REQUESTS {
        first.millis.push(first_overview(&setup, &simulator).await?);
    }
    for page in &mut asked {
        // Connections and statements are made in the first round.
        page.millis.remove(0);
    }
    figures.push(size(&database, items, arguments.days).await?);
    for page in asked.into_iter().chain([first]) {
        figures.push(figure(page));
    }
    database.drop().await
}

/// The figures of the day are kept for a minute, so each first look needs a process of its own, one with its connections made.
async fn first_overview(setup: &Setup, simulator: &Simulator) -> anyhow::Result<f64> {
    let daemon = Daemon::start(setup, simulator).await?;
    timed(&daemon, "/items").await?;
    let (millis, _) = timed(&daemon, "/overview").await?;
    daemon.stop().await?;
    Ok(millis)
}

/// From connecting to the last byte, in milliseconds, and the page.
async fn timed(daemon: &Daemon, path: &str) -> anyhow::Result<(f64, String)> {
    let begin = Instant::now();
    let (status, body) = daemon.request("GET", path, "").await?;
    let millis = begin.elapsed().as_secs_f64() * 1000.0;
    ensure!(status == 200, "{path} answers {status}");
    Ok((millis, body))
}

fn figure(mut page: Asked) -> Figure {
    page.millis.sort_by(f64::total_cmp);
    let at = |share| percentile(&page.millis, share);
    let remarks = format!("p50 {:.1} ms, worst {:.1} ms of {}", at(0.5), at(1.0), page.millis.len());
    Figure::new(&format!("{}, p95", page.name), at(0.95), "ms", Target::Below(TARGET)).remark(remarks)
}

/// What the pages were read from.
async fn size(database: &Scratch, items: u64, days: u32) -> anyhow::Result<Figure> {
    let pool = database.pool(1).await?;
    let (bytes, claims, day): (i64, i64, i64) = sqlx::query_as(
        "SELECT pg_total_relation_size('items'), (SELECT count(*) FROM claims),
             (SELECT count(*) FROM items WHERE enriched_at > now() - interval '1 day')",
    )
    .fetch_one(&pool)
    .await?;
    pool.close().await;
    let remarks =
        format!("of {days} days, {day} of the last one; {claims} claims; the table has {:.0} MB", bytes as f64 / 1e6);
    Ok(Figure::new("stored items", items as f64, "items", Target::None).remark(remarks))
}
