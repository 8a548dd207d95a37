//! `--record` and `--replay`: opens the recording before a run and prints a summary after it.

use std::path::Path;
use std::sync::Arc;

use super::arguments::ExchangeArguments;
use super::failure::Failure;
use super::output::Output;
use crate::app::Exchanges;
use crate::domain::{Clock as _, SystemClock};
use crate::outbound::record::Recorder;
use crate::outbound::replay::Archive;

const MOST_NAMED: usize = 10;

/// Fails before any call if the folder cannot be written to or has no recordings.
pub(super) fn open(arguments: &ExchangeArguments, output: Output) -> Result<Exchanges, Failure> {
    let now = SystemClock.now();
    if let Some(folder) = &arguments.record {
        let recorder = Recorder::create(folder, now, arguments.record_transient);
        let recorder = recorder.map_err(|error| Failure::failed(error.to_string()))?;
        return Ok(Exchanges::Record(Arc::new(recorder)));
    }
    arguments.replay.as_deref().map_or(Ok(Exchanges::Live), |folder| replay(folder, output))
}

fn replay(folder: &Path, output: Output) -> Result<Exchanges, Failure> {
    let archive = Archive::from_dir(folder).map_err(|error| Failure::failed(error.to_string()))?;
    for warning in archive.warnings() {
        output.problem(warning);
    }
    match archive.recorded_at() {
        Some(at) => output.hint(&format!("replaying {} exchange(s) as of {}", archive.len(), at.format("%F %T UTC"))),
        None => output.hint(&format!("replaying {} exchange(s); they name no time, so it is now", archive.len())),
    }
    Ok(Exchanges::Replay(Arc::new(archive)))
}

pub(super) fn close(exchanges: &Exchanges, output: Output) {
    match exchanges {
        Exchanges::Live => {}
        Exchanges::Record(recorder) => {
            let recorded = recorder.recorded();
            let left_out = match recorded.left_out {
                0 => String::new(),
                count => {
                    format!(", {count} left out because their provider's terms forbid storing (--record-transient)")
                }
            };
            output.hint(&format!(
                "{} exchange(s) recorded in {}{left_out}",
                recorded.exchanges,
                recorded.file.display()
            ));
            if recorded.lost > 0 {
                output.problem(&format!("{} exchange(s) could not be written; see above", recorded.lost));
            }
        }
        Exchanges::Replay(archive) => {
            let missed = archive.missed();
            for missing in missed.iter().take(MOST_NAMED) {
                output.problem(&missing.to_string());
            }
            if missed.len() > MOST_NAMED {
                output.problem(&format!("{} more request(s) have no recording", missed.len() - MOST_NAMED));
            }
        }
    }
}
