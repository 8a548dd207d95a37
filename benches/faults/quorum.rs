//! Three nodes of the broker on one machine; the leader of the queue is killed under load.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::{Servers, Stage, traffic};
use crate::Arguments;
use crate::report::Report;

const ITEMS: u64 = 5000;
const MINUTES: u64 = 3;
const QUEUE: &str = "enrichment_queue";
const NODES: usize = 3;
/// A queue has another leader within this time, or never.
const ELECTION_TIMEOUT: Duration = Duration::from_mins(1);

/// The number of the node that leads the queue, and how many nodes carry it, according to one of the nodes.
async fn leader(stage: &Stage, node: usize) -> anyhow::Result<(usize, usize)> {
    let arguments = ["-q", "list_queues", "--no-table-headers", "name", "leader", "members"];
    let table = stage.rabbits[node].ctl(&arguments).await?;
    let row = table.lines().find(|line| line.split('\t').next() == Some(QUEUE));
    let row = row.with_context(|| format!("{QUEUE} is not listed: {table}"))?;
    let mut cells = row.split('\t').skip(1);
    let (leader, members) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    let place = stage.rabbits.iter().position(|node| leader.contains(&format!("-{}@", node.port)));
    Ok((place.with_context(|| format!("no node of ours leads: {row}"))?, members.matches('@').count()))
}

async fn kill_leader(stage: &mut Stage, span: Duration, report: &mut Report) -> anyhow::Result<()> {
    tokio::time::sleep(span.mul_f64(0.3)).await;
    let (killed_node, members) = leader(stage, 0).await?;
    ensure!(members == NODES, "{members} of {NODES} nodes carry {QUEUE}");
    eprintln!("node {} leads {QUEUE} and is killed, {} published", killed_node + 1, stage.publish_count());
    let killed = Instant::now();
    stage.rabbits[killed_node].kill().await?;
    let other = (killed_node + 1) % NODES;
    while leader(stage, other).await.map_or(killed_node, |(now, _)| now) == killed_node {
        ensure!(killed.elapsed() < ELECTION_TIMEOUT, "no other node leads {QUEUE} after {ELECTION_TIMEOUT:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    report.note("s until another leader was seen", killed.elapsed().as_secs());
    tokio::time::sleep(span.mul_f64(0.4)).await;
    stage.rabbits[killed_node].restart().await?;
    report.note("s without the node", killed.elapsed().as_secs());
    Ok(())
}

pub(crate) async fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let items = arguments.items.unwrap_or(ITEMS);
    let span = Duration::from_mins(arguments.minutes.unwrap_or(MINUTES));
    let servers = Servers { nodes: NODES, ..Servers::default() };
    let mut stage = Stage::start(arguments, servers, &[], report).await?;
    report.note("RabbitMQ", stage.rabbits[0].ctl(&["-q", "version"]).await?);
    stage.fleet.start().await?;
    let messages = traffic::messages(0, items);
    stage.run(&messages, &[], span, report, async |stage, report| kill_leader(stage, span, report).await).await
}
