//! The previous version and this one on one store and one queue: replaced process by process, back, and forward again, under
//! load.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::Instant;

use super::{Servers, Stage, traffic};
use crate::Arguments;
use crate::report::Report;

const ITEMS: u64 = 6000;
const MINUTES: u64 = 6;

/// Migrates the schema with a program.
async fn migrate(program: &Path, database: &str) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.arg("migrate").env_clear().env("PATH", "/usr/bin:/bin").env("HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env("DATABASE_URL", database).stdin(Stdio::null());
    let done = tokio::task::spawn_blocking(move || command.output()).await?.context("running migrate")?;
    let (output, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    ensure!(done.status.success(), "migrate of {} ended with {}: {output} {errors}", program.display(), done.status);
    Ok(output.trim().to_owned())
}

/// Moments at equal distances, so that the steps end together with the load.
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
async fn replace(stage: &Stage, program: &Path, timetable: &mut Timetable, direction: &str) -> anyhow::Result<()> {
    for number in 0..stage.fleet.len() {
        timetable.wait().await;
        stage.fleet.stop_one(number).await.with_context(|| format!("replacing {direction}"))?;
        stage.fleet.set_program(number, program.to_owned()).await;
        stage.fleet.start_one(number).await?;
        stage.fleet.wait_until_ready(number).await.with_context(|| format!("replacing {direction}"))?;
        eprintln!("process {} replaced {direction}, {} published", number + 1, stage.publish_count());
    }
    Ok(())
}

pub(crate) async fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let items = arguments.items.unwrap_or(ITEMS);
    let span = Duration::from_mins(arguments.minutes.unwrap_or(MINUTES));
    let old = arguments.old_binary.as_deref().context("upgrade needs --old-binary")?;
    let new = Path::new(env!("CARGO_BIN_EXE_corroborate"));
    // The schema is migrated at a chosen moment.
    let settings = ["CORROBORATE_DATABASE_MIGRATE=false"];
    let mut stage = Stage::start(arguments, Servers::default(), &settings, report).await?;
    eprintln!("the previous version: {}", migrate(old, &stage.postgres.url).await?);
    for number in 0..stage.fleet.len() {
        stage.fleet.set_program(number, old.to_owned()).await;
    }
    stage.fleet.start().await?;
    let messages = traffic::messages(0, items);
    eprintln!("upgrade: {} messages of {items} items over {} s", messages.len(), span.as_secs());
    // Three replacements of every process, and as much time before and after them.
    let pause = span.div_f64(f64::from(u32::from(arguments.processes) * 3 + 4));
    stage
        .run(&messages, &[], span, report, async |stage, report| {
            let mut timetable = Timetable { next: Instant::now() + pause, pause };
            timetable.wait().await;
            report.note("migrate", migrate(new, &stage.postgres.url).await?);
            // The previous version works on the new schema.
            timetable.wait().await;
            for (program, direction) in [(new, "forward"), (old, "back"), (new, "forward again")] {
                replace(stage, program, &mut timetable, direction).await?;
            }
            let published = stage.publish_count();
            report.require(published < messages.len() as u64, || {
                "everything was published before the last process was replaced: give more --minutes".to_owned()
            });
            Ok(())
        })
        .await
}
