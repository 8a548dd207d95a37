//! `models pull`: downloads a named set from a hub into `MODELS_DIR`.
//!
//! A lock excludes other downloads. Every downloaded model is verified.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use url::Url;

use super::super::failure::Failure;
use super::super::output::Output;
use super::verify;
use crate::config::Config;
use crate::inference::choice::{choose, wanted};
use crate::inference::pull::{PullError, PullEvent, PullLock};
use crate::inference::sets::{self, ModelSet, SETS};
use crate::inference::{ModelFolder, scan};
use crate::outbound::hub::{HubClient, HubError};

impl From<PullError> for Failure {
    fn from(error: PullError) -> Self {
        match error {
            PullError::Hub(HubError::Away { .. } | HubError::Status { .. }) => Self::unavailable(error.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

pub(super) async fn run(
    config: &Config,
    set: Option<&str>,
    hub: Url,
    revision: Option<&str>,
    output: Output,
) -> Result<(), Failure> {
    let Some(name) = set else { return offer(output) };
    let set = sets::set(name).ok_or_else(|| {
        let known: Vec<&str> = SETS.iter().map(|set| set.name).collect();
        Failure::new(2, format!("no set is called {name:?}; one of {}", known.join(", ")))
    })?;
    if !matches!(hub.scheme(), "http" | "https") {
        return Err(Failure::new(2, format!("--hub {hub} is no http or https address")));
    }
    let models_dir = config.models_dir.as_deref().ok_or_else(|| {
        let what = "MODELS_DIR is not set: it is where models are put and where the daemon looks for them";
        Failure::misconfigured(format!("{what}; set it to a folder, like MODELS_DIR=/var/lib/corroborate/models"))
    })?;
    let client = HubClient::new(&config.fetch.user_agent, hub, config.inference.hub_token.clone())
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    let fetched = fetch(&client, set, models_dir, revision, output).await?;
    report(config, &fetched, models_dir, output).await
}

fn offer(output: Output) -> Result<(), Failure> {
    if output.json {
        let sets = SETS.iter().map(|set| {
            let models = set.models.iter().map(|model| {
                json!({ "name": model.name, "task": model.task, "repository": model.repository,
                        "revision": model.commit, "licence": model.licence })
            });
            json!({ "name": set.name, "about": set.about, "models": models.collect::<Vec<_>>() })
        });
        return output.value(&sets.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for set in &SETS {
        let _infallible = writeln!(text, "{:<20} {}", set.name, set.about);
        for model in set.models {
            let (task, licence) = (model.task.as_str(), model.licence);
            let _infallible = writeln!(text, "  {task:<10} {} ({licence})", model.repository);
        }
    }
    text.push_str("fetch one with `corroborate models pull NAME`\n");
    output.text(&text)
}

async fn fetch(
    client: &HubClient,
    set: &ModelSet,
    models_dir: &Path,
    revision: Option<&str>,
    output: Output,
) -> Result<Vec<(ModelFolder, bool)>, Failure> {
    let lock = PullLock::take(models_dir)?;
    let bar = Mutex::new(None::<indicatif::ProgressBar>);
    // Usable even if a holder of the lock panicked.
    let held = || bar.lock().unwrap_or_else(PoisonError::into_inner);
    let hears = |event: PullEvent<'_>| match event {
        PullEvent::Begins { model, file, size } => {
            let what = format!("{model}/{file}");
            if output.is_watched() {
                *held() = Some(output.byte_bar(&what, size));
            } else {
                let size = size.map(|size| format!(", {} MB", size.div_ceil(1_000_000))).unwrap_or_default();
                output.hint(&format!("fetching {what}{size}"));
            }
        }
        PullEvent::Progress { bytes } => {
            if let Some(bar) = held().as_ref() {
                bar.set_position(bytes);
            }
        }
        PullEvent::Ends { file } => match held().take() {
            Some(bar) => bar.finish(),
            None => output.hint(&format!("{file} is whole")),
        },
    };
    let mut fetched = Vec::with_capacity(set.models.len());
    for model in set.models {
        let pulled = lock.pull(client, model, revision, &hears).await?;
        fetched.push((pulled.folder, pulled.was_there));
    }
    Ok(fetched)
}

/// Reports the models, whether this build can run them, and the next steps.
async fn report(
    config: &Config,
    fetched: &[(ModelFolder, bool)],
    models_dir: &Path,
    output: Output,
) -> Result<(), Failure> {
    let (mut rows, mut text, mut failed) = (Vec::new(), String::new(), 0);
    for (folder, was_there) in fetched {
        output.hint(&format!("asking {}", folder.manifest.name));
        let verify::Looked { ok, weak, detail } = verify::look_at(folder).await;
        failed += usize::from(!ok);
        let (name, task) = (&folder.manifest.name, folder.manifest.task);
        let word = if *was_there { "was there" } else { "fetched" };
        let _infallible = writeln!(text, "{word}: {name} ({}), {}; {detail}", task.as_str(), folder.location());
        rows.push(json!({
            "name": name, "task": task, "location": folder.location(), "fetched": !was_there, "ok": ok, "weak": weak, "detail": detail
        }));
    }
    if output.json {
        output.value(&json!({ "ok": failed == 0, "models": rows }))?;
    } else {
        output.text(&text)?;
    }
    let (brought, shipped) = (scan(models_dir).unwrap_or_default(), ModelFolder::bundled());
    for (folder, _) in fetched {
        let task = folder.manifest.task;
        if let Err(error) = choose(task, wanted(&config.inference, task), &brought, &shipped) {
            output.hint(&format!("before the next start: {error}"));
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::failed(format!("{failed} of the models that were fetched cannot be used by this build"))),
    }
}
