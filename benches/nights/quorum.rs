//! Three nodes of the broker on one machine, and the one that leads the queue killed under load.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::Options;
use crate::line::Line;
use crate::stage::{Stage, Wanted};
use crate::traffic;

const ITEMS: u64 = 5000;
const MINUTES: u64 = 3;
const QUEUE: &str = "enrichment_queue";
const NODES: usize = 3;
/// A queue has another leader within this, or never.
const ELECTION: Duration = Duration::from_mins(1);

/// The node that leads the queue, and how many carry it, as one of the nodes sees it.
async fn leader(stage: &Stage, asked: usize) -> anyhow::Result<(usize, usize)> {
    let table =
        stage.rabbits[asked].ctl(&["-q", "list_queues", "--no-table-headers", "name", "leader", "members"]).await?;
    let row = table.lines().find(|line| line.split('\t').next() == Some(QUEUE));
    let row = row.with_context(|| format!("{QUEUE} is not listed: {table}"))?;
    let mut cells = row.split('\t').skip(1);
    let (leader, members) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    let place = stage.rabbits.iter().position(|node| leader.contains(&format!("-{}@", node.port)));
    Ok((place.with_context(|| format!("no node of ours leads: {row}"))?, members.matches('@').count()))
}

/// Says whether this is a version 4, and if not why none is tried beside it.
async fn version(stage: &Stage, line: &mut Line) -> anyhow::Result<()> {
    let version = stage.rabbits[0].ctl(&["-q", "version"]).await?;
    line.figure("RabbitMQ", version.clone());
    if version.starts_with("3.") {
        line.skips("RabbitMQ 4, which --rabbitmq 4 takes".to_owned());
    }
    Ok(())
}

async fn kill_the_leader(stage: &mut Stage, span: Duration, line: &mut Line) -> anyhow::Result<()> {
    tokio::time::sleep(span.mul_f64(0.3)).await;
    let (led, members) = leader(stage, 0).await?;
    line.figure("nodes carry the queue", members);
    ensure!(members == NODES, "{members} of {NODES} nodes carry {QUEUE}");
    eprintln!("node {} leads {QUEUE} and is killed, {} published", led + 1, stage.publish_count());
    let killed = Instant::now();
    stage.rabbits[led].kill().await?;
    let other = (led + 1) % NODES;
    let took = loop {
        if let Ok((now, _)) = leader(stage, other).await
            && now != led
        {
            eprintln!("node {} leads now", now + 1);
            break killed.elapsed();
        }
        ensure!(killed.elapsed() < ELECTION, "no other node leads {QUEUE} after {ELECTION:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    line.figure("s until another leader was seen", took.as_secs());
    tokio::time::sleep(span.mul_f64(0.4)).await;
    let published = stage.publish_count();
    stage.rabbits[led].again().await?;
    eprintln!("the node is back, {published} published meanwhile");
    line.figure("s without the node", killed.elapsed().as_secs());
    Ok(())
}

pub(crate) async fn run(options: &Options, line: &mut Line) -> anyhow::Result<()> {
    let items = options.items.unwrap_or(ITEMS);
    let span = Duration::from_mins(options.minutes.unwrap_or(MINUTES));
    let mut stage = Stage::set(options, Wanted { nodes: NODES, ..Wanted::default() }, line).await?;
    version(&stage, line).await?;
    stage.prepare().await?;
    stage.fleet.start().await?;
    let messages = traffic::messages(0, items);
    eprintln!("quorum: {} messages of {items} items over {} s", messages.len(), span.as_secs());
    line.figure("nodes", NODES);
    line.figure("processes", stage.fleet.len());
    stage.play(&messages, &[], span, line, async |stage, line| kill_the_leader(stage, span, line).await).await
}
