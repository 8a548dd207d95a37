//! Loads a model and asks it something.

use crate::inference::ModelFolder;

/// What a model that was loaded answered, in a few words; an error says what to do.
#[cfg(feature = "models")]
pub(super) async fn run(folder: &ModelFolder) -> Result<String, String> {
    use std::sync::Arc;
    use std::time::Instant;

    use crate::inference::local::{LocalEmbedder, LocalReranker, LocalStance};
    use crate::inference::{Embedder as _, Pair, Reranker as _, StanceModel as _, Task};
    use crate::judging::profile::TextProfile;

    let profile = |text: &str| Arc::new(TextProfile { text: text.to_owned(), ..TextProfile::default() });
    let pairs = [Pair { claim: profile("The bridge is open."), passage: profile("The bridge reopened on Monday.") }];
    let began = Instant::now();
    let loaded = |began: Instant| format!("loaded in {} ms", began.elapsed().as_millis());
    let told = |error: &dyn std::error::Error| error.to_string();
    match folder.manifest.task {
        Task::Embedding => {
            let model = LocalEmbedder::load(folder).map_err(|error| told(&error))?;
            let loaded = loaded(began);
            let vectors = model.embed(&["The bridge reopened on Monday."]).await.map_err(|error| told(&error))?;
            Ok(format!("{loaded}, vectors of {}", vectors.first().map_or(0, Vec::len)))
        }
        Task::Stance => {
            let model = LocalStance::load(folder).map_err(|error| told(&error))?;
            let loaded = loaded(began);
            model.judge(&pairs).await.map_err(|error| told(&error))?;
            Ok(format!("{loaded}, judges"))
        }
        Task::Relevance => {
            let model = LocalReranker::load(folder).map_err(|error| told(&error))?;
            let loaded = loaded(began);
            model.relevance(&pairs).await.map_err(|error| told(&error))?;
            Ok(format!("{loaded}, ranks"))
        }
    }
}

/// This build runs none.
#[cfg(not(feature = "models"))]
pub(super) async fn run(folder: &ModelFolder) -> Result<String, String> {
    std::future::ready(Err(format!(
        "{} cannot be run by this build; build with the feature `models`",
        folder.location()
    )))
    .await
}
