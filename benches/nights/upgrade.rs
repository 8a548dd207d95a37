//! The version before and this one on one store and one queue: rolled forward process by process, back, and forward again,
//! under load.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use tokio::time::Instant;

use crate::Options;
use crate::line::Line;
use crate::stage::{Stage, Wanted};
use crate::traffic;

const ITEMS: u64 = 6000;
const MINUTES: u64 = 6;

/// Options of this night, beside those that every night takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpgradeOptions {
    #[command(flatten)]
    pub(crate) common: Options,
    /// The program of the version before.
    #[arg(long)]
    old_binary: PathBuf,
    /// What the version before is called in the line, e.g. a commit.
    #[arg(long, default_value = "the version before")]
    old_name: String,
}

/// Brings the schema to a program's state.
async fn migrate(program: &Path, database: &str) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.arg("migrate").env_clear().env("PATH", "/usr/bin:/bin").env("HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env("DATABASE_URL", database).stdin(Stdio::null());
    let done = tokio::task::spawn_blocking(move || command.output()).await?.context("running migrate")?;
    let (said, wrong) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    ensure!(done.status.success(), "migrate of {} ended with {}: {said} {wrong}", program.display(), done.status);
    Ok(said.trim().to_owned())
}

/// Moments at equal distances, so that what happens at them ends with the load and not behind it.
struct Timetable {
    next: Instant,
    pause: Duration,
}

impl Timetable {
    async fn wait(&mut self) {
        self.next += self.pause;
        tokio::time::sleep_until(self.next).await;
    }
}

/// Replaces the processes one by one by another program.
async fn roll(stage: &Stage, program: &Path, timetable: &mut Timetable, what: &str) -> anyhow::Result<()> {
    for number in 0..stage.fleet.len() {
        timetable.wait().await;
        stage.fleet.stop_one(number).await.with_context(|| format!("rolling {what}"))?;
        stage.fleet.set_program(number, program.to_owned()).await;
        stage.fleet.start_one(number).await?;
        stage.fleet.ready(number).await.with_context(|| format!("rolling {what}"))?;
        eprintln!("process {} rolled {what}, {} published", number + 1, stage.publish_count());
    }
    Ok(())
}

pub(crate) async fn run(options: &UpgradeOptions, line: &mut Line) -> anyhow::Result<()> {
    let mut common = options.common.clone();
    let items = common.items.unwrap_or(ITEMS);
    let span = Duration::from_mins(common.minutes.unwrap_or(MINUTES));
    // The schema is changed when the night says so.
    common.env.push("CORROBORATE_DATABASE_MIGRATE=false".to_owned());
    let (old, new) = (options.old_binary.clone(), common.program());
    let mut stage = Stage::set(&common, Wanted { nodes: 1, ..Wanted::default() }, line).await?;
    stage.prepare().await?;
    eprintln!("the version before: {}", migrate(&old, &stage.postgres.url).await?);
    for number in 0..stage.fleet.len() {
        stage.fleet.set_program(number, old.clone()).await;
    }
    stage.fleet.start().await?;
    let messages = traffic::messages(0, items);
    eprintln!("upgrade: {} messages of {items} items over {} s", messages.len(), span.as_secs());
    line.figure("processes", stage.fleet.len());
    line.figure("from", options.old_name.clone());
    // Three rolls of every process, and as much time before and behind them.
    let pause = span.div_f64(f64::from(u32::from(common.processes) * 3 + 4));
    stage
        .play(&messages, &[], span, line, async |stage, line| {
            let mut timetable = Timetable { next: Instant::now() + pause, pause };
            timetable.wait().await;
            let said = migrate(&new, &stage.postgres.url).await?;
            eprintln!("this version: {said}");
            line.figure("migrate:", said);
            // The version before goes on upon the new schema.
            timetable.wait().await;
            for (program, what) in [(&new, "forward"), (&old, "back"), (&new, "forward again")] {
                roll(stage, program, &mut timetable, what).await?;
            }
            let published = stage.publish_count();
            line.insists(published < messages.len() as u64, || {
                "everything was published before the last process was replaced: give the night more minutes".to_owned()
            });
            line.figure("rolls:", format!("forward, back and forward again, {} processes each", stage.fleet.len()));
            Ok(())
        })
        .await
}
