//! What open event streams cost the items of the queue: the same work with and without them, in turn, by one daemon.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Arguments;
use crate::broker::Upstream;
use crate::daemon::{Daemon, Setup};
use crate::database::Scratch;
use crate::figures::{Figure, Figures, Target, percentile};
use crate::modes::{bodies, insist_on_evidence};
use crate::simulator::{EventWorld, Fault, Simulator, Target as Desk};

/// Items of one run where `--items` says nothing.
const ITEMS: u64 = 250;
const WARM_UP: u64 = 100;
/// Runs with streams, and as many without.
const PAIRS: u64 = 5;
const STREAMS: u64 = 50;
/// The claims of the streams hold this name, and questions with it are not answered while anything is measured.
const SLOW: &str = "Quillstadt";
const SLOWNESS: Duration = Duration::from_mins(30);
/// Until every stream has begun.
const OPENING: Duration = Duration::from_secs(20);

/// Between a run and the next.
const CLOSING: Duration = Duration::from_secs(1);

/// The streams wait for their provider; nothing of the daemon's own is to end them before.
const PATIENT: [&str; 2] = ["CORROBORATE_PROVIDERS_GOOGLE_TIMEOUT=10m", "ENRICHMENT_MAX_SECONDS=3000"];

/// Open streams; closed when dropped, which ends their checks.
struct Streams {
    told: Arc<AtomicU64>,
    ended: Arc<AtomicU64>,
    readers: JoinSet<()>,
}

impl Streams {
    /// Opens them with claims that nobody asked before, and waits until each has begun.
    async fn open(daemon: &Daemon, run: u64) -> anyhow::Result<Self> {
        let mut streams = Self { told: Arc::default(), ended: Arc::default(), readers: JoinSet::new() };
        let mut opened = Vec::new();
        for number in 0..STREAMS {
            let claim = format!("The mayor of {SLOW} opened bridge number {} in October 2026.", run * STREAMS + number);
            let body = serde_json::json!({ "claim": claim }).to_string();
            let headers = [("Content-Type", "application/json"), ("Accept", "text/event-stream")];
            opened.push(daemon.send("POST", "/api/verify", &headers, &body).await?);
        }
        for stream in opened {
            let stream = begun(stream).await?;
            let (told, ended) = (Arc::clone(&streams.told), Arc::clone(&streams.ended));
            streams.readers.spawn(async move {
                read(stream, &told).await;
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        Ok(streams)
    }

    /// Closes them; what they told. Fewer open ones would have cost less, so all of them have to be there still.
    fn close(self) -> anyhow::Result<u64> {
        let ended = self.ended.load(Ordering::Relaxed);
        ensure!(ended == 0, "{ended} of {STREAMS} streams ended during the run");
        Ok(self.told.load(Ordering::Relaxed))
    }
}

/// The stream with its head read.
async fn begun(mut stream: TcpStream) -> anyhow::Result<TcpStream> {
    let mut head = Vec::new();
    let reading = async {
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            ensure!(stream.read_buf(&mut head).await? > 0, "a stream was closed before its head was there");
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(OPENING, reading).await.context("a stream did not begin")??;
    let head = String::from_utf8_lossy(&head);
    ensure!(head.lines().next().is_some_and(|line| line.contains(" 200")), "a stream begins with {head}");
    Ok(stream)
}

/// Counts events and heartbeats, each of which ends with an empty line, until the daemon closes the stream.
async fn read(mut stream: TcpStream, told: &AtomicU64) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut bytes).await {
        let ends = bytes.get(..length).unwrap_or_default().windows(2).filter(|two| *two == b"\n\n").count();
        told.fetch_add(ends as u64, Ordering::Relaxed);
    }
}

pub(crate) async fn run(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    let items = arguments.items.unwrap_or(ITEMS);
    eprintln!("streams: {PAIRS} runs of {items} items with {STREAMS} open streams, and {PAIRS} without");
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    simulator.set_fault(Desk::GoogleFactCheck, Fault::slow(SLOWNESS).about(SLOW));
    let database = Scratch::create(&arguments.database, "streams").await?;
    let setup = Setup {
        name: "streams",
        amqp: Some(arguments.amqp.clone()),
        database: Some(database.url()),
        data_directory: None,
        concurrency: arguments.concurrency,
        environment: [PATIENT.map(str::to_owned).to_vec(), arguments.env.clone()].concat(),
    };
    let daemon = Daemon::start(&setup, &simulator).await?;
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    upstream.run(&bodies(world, 0..WARM_UP)).await.with_context(|| daemon.log_end())?;
    let (mut with, mut without, mut told) = (Vec::new(), Vec::new(), 0);
    for pair in 0..PAIRS {
        // Now the one first, now the other: the store grows, and a machine has its moods.
        for has_streams in [pair % 2 == 0, pair % 2 == 1] {
            let streams = if has_streams { Some(Streams::open(&daemon, pair).await?) } else { None };
            let first = WARM_UP + (pair * 2 + u64::from(has_streams)) * items;
            let batch = upstream.run(&bodies(world, first..first + items)).await.with_context(|| daemon.log_end())?;
            insist_on_evidence(&batch, items)?;
            told += streams.map_or(Ok(0), Streams::close)?;
            // The daemon notices, and drops their checks.
            tokio::time::sleep(CLOSING).await;
            let rates = if has_streams { &mut with } else { &mut without };
            rates.push(batch.rate());
            eprintln!("streams: {} open, {:.2} items/s", if has_streams { STREAMS } else { 0 }, batch.rate());
        }
    }
    let (_, highest) = daemon.memory();
    let held = simulator.calls(Desk::GoogleFactCheck) - simulator.served(Desk::GoogleFactCheck);
    ensure!(held > 0, "no question of a stream was held: their checks had ended");
    upstream.close().await?;
    daemon.stop().await?;
    database.drop().await?;
    let remarks =
        format!("{told} events and heartbeats; {held} questions held in {PAIRS} runs; memory {highest:.0} MB");
    show(figures, with, without, &remarks);
    Ok(())
}

fn show(figures: &mut Figures, mut with: Vec<f64>, mut without: Vec<f64>, remarks: &str) {
    let pairs: Vec<String> = with.iter().zip(&without).map(|(one, other)| format!("{:.2}", one / other)).collect();
    let [beside, alone] = [&mut with, &mut without].map(|rates| {
        rates.sort_by(f64::total_cmp);
        percentile(rates, 0.5)
    });
    let spread = |rates: &[f64]| {
        let [least, most] = [0.0, 1.0].map(|share| percentile(rates, share));
        format!("median of {}, {least:.2}–{most:.2}", rates.len())
    };
    let name = format!("every page new, {STREAMS} event streams open");
    figures.push(Figure::new(&name, beside, "items/s", Target::None).remark(format!("{}; {remarks}", spread(&with))));
    figures.push(Figure::new("every page new, none open", alone, "items/s", Target::None).remark(spread(&without)));
    figures.push(
        Figure::new("with streams, as a share of without", beside / alone, "", Target::None)
            .remark(format!("pair by pair {}", pairs.join(", "))),
    );
}
