//! `enrich`: items from a file through the pipeline, results into a file. Resumable; one bad line costs only itself.

use std::collections::HashSet;
use std::io::{BufRead as _, Write};
use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt as _, stream};

use super::failure::{Failure, chain};
use super::lines::{self, Line};
use super::output::Output;
use super::reach::{self, Reach};
use crate::app::App;
use crate::config::Config;
use crate::domain::{Item, ItemResult};
use crate::pipeline::{self, Outcome, Request};

pub(super) async fn run(config: Arc<Config>, file: &Path, out: Option<&Path>, output: Output) -> Result<(), Failure> {
    let lines = lines::read(file)?;
    let bad = lines::report_bad(&lines, output);
    let done = out.map(finished).transpose()?.unwrap_or_default();
    let items = todo(lines, &done);
    if !done.is_empty() {
        output.hint(&format!("{} result(s) stand in the output already and are skipped", done.len()));
    }
    let mut sink = sink(out)?;
    let app = match reach::app(&config).await? {
        Reach::Here(app) => app,
        Reach::Daemon(daemon) => {
            return Err(Failure::unavailable(format!(
                "the data folder is in use by the daemon at {}; use `corroborate enqueue`, or stop the daemon",
                daemon.address()
            )));
        }
    };
    let worked = work(&app, items, super::concurrency(&config), &mut *sink, output).await;
    app.close().await?;
    let worked = worked?;
    output.hint(&format!(
        "{} item(s) enriched, {} failed, {bad} bad line(s){}",
        worked.written,
        worked.failed,
        if worked.stopped { "; stopped early: run again with the same --out to go on" } else { "" },
    ));
    if bad + worked.failed > 0 {
        return Err(Failure::failed(format!(
            "{bad} line(s) were no items and {} item(s) failed; see above, mend them and run again",
            worked.failed
        )));
    }
    if worked.stopped {
        return Err(Failure::new(130, "stopped before the end"));
    }
    Ok(())
}

/// The ids whose results stand in the output. A last line cut off by a kill is ignored: its item is done again.
fn finished(out: &Path) -> Result<HashSet<String>, Failure> {
    let file = match std::fs::File::open(out) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashSet::new()),
        Err(error) => return Err(Failure::failed(format!("{} cannot be read: {error}", out.display()))),
    };
    let mut ids = HashSet::new();
    for line in std::io::BufReader::new(file).lines() {
        if let Ok(result) = serde_json::from_str::<ItemResult>(&line?) {
            ids.insert(result.item_id);
        }
    }
    Ok(ids)
}

/// The items still to be done, each id once: the last line of an id wins, as it would in a queue.
fn todo(lines: Vec<Line>, done: &HashSet<String>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut position: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for item in lines.into_iter().filter_map(|line| line.item.ok()) {
        if done.contains(&item.item_id) {
            continue;
        }
        if let Some(known) = position.get(&item.item_id).and_then(|&at| items.get_mut(at)) {
            *known = *item;
        } else {
            position.insert(item.item_id.clone(), items.len());
            items.push(*item);
        }
    }
    items
}

fn sink(out: Option<&Path>) -> Result<Box<dyn Write + Send>, Failure> {
    let Some(path) = out else { return Ok(Box::new(std::io::stdout())) };
    let open = || -> std::io::Result<std::fs::File> {
        let mut file = std::fs::OpenOptions::new().read(true).append(true).create(true).open(path)?;
        // After a kill the file may end in half a line; the next result must not be glued to it.
        if !ends_with_newline(&mut file)? {
            file.write_all(b"\n")?;
        }
        Ok(file)
    };
    let file = open().map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))?;
    Ok(Box::new(file))
}

fn ends_with_newline(file: &mut std::fs::File) -> std::io::Result<bool> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

struct Worked {
    written: usize,
    failed: usize,
    stopped: bool,
}

async fn work(
    app: &App,
    items: Vec<Item>,
    concurrency: usize,
    sink: &mut (dyn Write + Send),
    output: Output,
) -> Result<Worked, Failure> {
    let bar = output.progress(u64::try_from(items.len()).unwrap_or(0));
    let mut worked = Worked { written: 0, failed: 0, stopped: false };
    let mut running = stream::iter(items)
        .map(|item| async move {
            let id = item.item_id.clone();
            (id, one(app, item).await)
        })
        .buffer_unordered(concurrency);
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    loop {
        // An interrupt drops the items under way: nothing of them is committed, and they are done by the next run.
        let next = tokio::select! {
            next = running.next() => next,
            _ = &mut interrupted => {
                worked.stopped = true;
                break;
            }
        };
        let Some((id, done)) = next else { break };
        match done {
            Ok(result) => {
                let mut line = serde_json::to_vec(&result)?;
                line.push(b'\n');
                sink.write_all(&line)?;
                sink.flush()?;
                worked.written += 1;
            }
            Err(failure) => {
                worked.failed += 1;
                bar.suspend(|| output.problem(&format!("item {id}: {failure}")));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(worked)
}

async fn one(app: &App, item: Item) -> Result<ItemResult, Failure> {
    let mut request = Request::personal(item);
    // A file's items are queue items: the gates and the minimum length hold for them.
    request.personal = false;
    match pipeline::run(&app.services, &request).await {
        Ok(Outcome::Done(result)) => Ok(*result),
        Ok(Outcome::AlreadyDone) => match app.store.item(&request.item.item_id).await? {
            Some(stored) => Ok(stored.result),
            None => Err(Failure::failed("its stored result was removed meanwhile; run again")),
        },
        Err(error) => Err(Failure::failed(chain(&error))),
    }
}
