//! `enrich`: runs items of a file through the pipeline and writes results to a file.
//!
//! An interrupted run can be resumed. A bad line affects only itself.

mod earlier_results;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt as _, stream};

use super::arguments::ExchangeArguments;
use super::exchanges;
use super::failure::{Failure, chain};
use super::lines::{self, Line};
use super::output::Output;
use crate::app::{App, AppError, Exchanges, Purpose};
use crate::config::Config;
use crate::domain::{Item, ItemResult};
use crate::judging::labels::{self, ReaderLanguage};
use crate::pipeline::{self, Outcome, Request};

pub(super) async fn run(
    config: Arc<Config>,
    file: &Path,
    out: Option<&Path>,
    exchanges: &ExchangeArguments,
    output: Output,
) -> Result<(), Failure> {
    if out.is_some_and(|out| earlier_results::same_file(file, out)) {
        return Err(Failure::new(2, "the items and --out are one and the same file; give --out another name"));
    }
    let lines = lines::read(file)?;
    let bad = lines::report_bad(&lines, output);
    let earlier = out.map(|out| earlier_results::read(out, output)).transpose()?.unwrap_or_default();
    let Todo { items, left_out } = todo(lines, &earlier.done);
    let again: Vec<String> =
        items.iter().map(|item| &item.item_id).filter(|id| earlier.degraded.contains(*id)).cloned().collect();
    if !earlier.done.is_empty() {
        output.hint(&format!("{} result(s) are in the output already and are skipped", earlier.done.len()));
    }
    if !again.is_empty() {
        output.hint(&format!("{} result(s) for which not everything could be asked are done again", again.len()));
    }
    if left_out > 0 {
        output.hint(&format!(
            "{left_out} earlier line(s) of an item_id that comes again are left out: the last one counts"
        ));
    }
    // Fails before a call is made or a database is started.
    drop(sink(out)?);
    let exchanges = exchanges::open(exchanges, output)?;
    let app = App::open_with(Arc::clone(&config), Purpose::Check, exchanges.clone()).await;
    let app = app.map_err(|error| match error {
        AppError::DataFolderBusy { .. } => Failure::unavailable(format!(
            "{error}; use `corroborate enqueue`, stop it, or give this run another CORROBORATE_DATA_DIR"
        )),
        other => other.into(),
    })?;
    let again: HashSet<&str> = again.iter().map(String::as_str).collect();
    // Only now, so that results which cannot be repeated remain.
    let opened = out.map_or(Ok(()), |out| earlier.prepare(out, &again)).and_then(|()| sink(out));
    let worked = match opened {
        Ok(mut sink) => {
            // Sequential, so that two replays find the same stored data at each step.
            let replays = matches!(exchanges, Exchanges::Replay(_));
            let concurrency = if replays { 1 } else { super::concurrency(&config) };
            work(&app, items, concurrency, &mut *sink, output).await
        }
        Err(failure) => Err(failure),
    };
    app.close().await?;
    exchanges::close(&exchanges, output);
    finish(&worked?, bad, output)
}

fn finish(worked: &Worked, bad: usize, output: Output) -> Result<(), Failure> {
    output.hint(&format!(
        "{} item(s) enriched{}, {} failed, {bad} bad line(s){}",
        worked.written,
        worked.degraded_note(),
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

struct Todo {
    items: Vec<Item>,
    /// Earlier lines with a repeated id.
    left_out: usize,
}

/// Returns each id once; its last line wins, as in a queue.
fn todo(lines: Vec<Line>, done: &HashSet<String>) -> Todo {
    let mut todo = Todo { items: Vec::new(), left_out: 0 };
    let mut position: HashMap<String, usize> = HashMap::new();
    for item in lines.into_iter().filter_map(|line| line.item.ok()) {
        if done.contains(&item.item_id) {
            continue;
        }
        if let Some(known) = position.get(&item.item_id).and_then(|&at| todo.items.get_mut(at)) {
            *known = *item;
            todo.left_out += 1;
        } else {
            position.insert(item.item_id.clone(), todo.items.len());
            todo.items.push(*item);
        }
    }
    todo
}

fn sink(out: Option<&Path>) -> Result<Box<dyn Write + Send>, Failure> {
    let Some(path) = out else { return Ok(Box::new(std::io::stdout())) };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let file = file.map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))?;
    Ok(Box::new(file))
}

#[derive(Debug, Default)]
struct Worked {
    written: usize,
    degraded: usize,
    /// A result may have several causes.
    causes: BTreeMap<String, usize>,
    failed: usize,
    stopped: bool,
}

impl Worked {
    fn count(&mut self, result: &ItemResult) {
        self.written += 1;
        self.degraded += usize::from(!result.degraded.is_empty());
        for cause in &result.degraded {
            *self.causes.entry(cause.clone()).or_default() += 1;
        }
    }

    /// Returns `, for 3 of them not everything could be asked: time ran out (2); …`.
    fn degraded_note(&self) -> String {
        if self.degraded == 0 {
            return String::new();
        }
        let mut causes: Vec<(&String, &usize)> = self.causes.iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let said = |cause: &str| labels::cause(cause, ReaderLanguage::English);
        let causes: Vec<String> = causes.iter().map(|(cause, count)| format!("{} ({count})", said(cause))).collect();
        format!(", for {} of them not everything could be asked: {}", self.degraded, causes.join("; "))
    }
}

async fn work(
    app: &App,
    items: Vec<Item>,
    concurrency: usize,
    sink: &mut (dyn Write + Send),
    output: Output,
) -> Result<Worked, Failure> {
    let bar = output.progress(u64::try_from(items.len()).unwrap_or(0));
    let mut worked = Worked::default();
    let mut running = stream::iter(items)
        .map(|item| async move {
            let id = item.item_id.clone();
            (id, one(app, item).await)
        })
        .buffer_unordered(concurrency);
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    loop {
        // Cancel-safe: interrupted items are not committed, and the next run repeats them.
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
                worked.count(&result);
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
    // Gates and minimum length apply, as for queue items.
    request.personal = false;
    match pipeline::run(&app.services, &request).await {
        Ok(Outcome::Done(result)) => Ok(*result),
        Ok(Outcome::AlreadyDone { .. } | Outcome::Poorer(_)) => match app.store.item(&request.item.item_id).await? {
            Some(stored) => Ok(stored.result),
            None => Err(Failure::failed("its stored result was removed meanwhile; run again")),
        },
        Err(error) => Err(Failure::failed(chain(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::tests::result;

    fn lines(ids: &[&str]) -> Vec<Line> {
        let line = |(number, id): (usize, &&str)| {
            let item = Item::from_claim((*id).to_owned(), &format!("claim {number}"));
            Line { number, bytes: Vec::new(), item: Ok(Box::new(item)) }
        };
        ids.iter().enumerate().map(line).collect()
    }

    #[test]
    fn the_last_line_of_an_id_counts_and_the_earlier_ones_are_told() {
        let todo = todo(lines(&["a", "b", "a", "done", "done", "a"]), &HashSet::from(["done".to_owned()]));
        let items: Vec<(&str, &str)> =
            todo.items.iter().map(|item| (item.item_id.as_str(), item.text.as_deref().unwrap_or_default())).collect();
        assert_eq!((items, todo.left_out), (vec![("a", "claim 5"), ("b", "claim 1")], 2));
    }

    #[test]
    fn the_end_says_what_could_not_be_asked() {
        let mut worked = Worked::default();
        for causes in [&["deadline", "provider_open:gdelt"][..], &["provider_open:gdelt"], &[]] {
            let mut result = result("a");
            result.degraded = causes.iter().map(|cause| (*cause).to_owned()).collect();
            worked.count(&result);
        }
        assert_eq!(worked.written, 3);
        assert_eq!(
            worked.degraded_note(),
            ", for 2 of them not everything could be asked: GDELT: takes no requests at the moment (2); time ran out (1)"
        );
        assert_eq!(Worked::default().degraded_note(), "");
    }
}
