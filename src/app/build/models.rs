//! Chooses and loads the models once at the start.
//!
//! For each task the order is: a model server, a folder of the operator, a bundled model, the built-in fallback.

use std::sync::Arc;

use super::{AppError, setup};
use crate::config::Config;
use crate::domain::Clock;
use crate::inference::choice::{self, AUTO, choose};
use crate::inference::ensemble::{EnsembleStance, Member};
use crate::inference::languages::ModelLanguages;
use crate::inference::remote::{self, Patience, RemoteModels};
use crate::inference::routed::{EmbeddingReranker, RoutedEmbedder, RoutedReranker, RoutedStance};
use crate::inference::{Embedder, Fallback, ModelFolder, Models, Reranker, StanceModel, Task, scan};
use crate::outbound::HttpClient;
use crate::supervisor::Supervisor;

struct Choice<'a> {
    config: &'a Config,
    /// In `MODELS_DIR`.
    brought: Vec<ModelFolder>,
    /// In the binary.
    shipped: Vec<ModelFolder>,
    remote: RemoteModels,
    fallback: &'a Fallback,
    supervisor: &'a Supervisor,
}

/// Loads the models; `supervisor` watches their threads. A configured model that cannot be loaded stops the start,
/// because another model would silently change verdicts.
pub(super) async fn build(
    config: &Config,
    clock: &Arc<dyn Clock>,
    fallback: &Fallback,
    patience: Patience,
    supervisor: &Supervisor,
) -> Result<Models, AppError> {
    let brought = match &config.models_dir {
        Some(folder) => scan(folder).map_err(|error| setup("models", error))?,
        None => Vec::new(),
    };
    let remote = if config.inference.servers().next().is_some() {
        // Recordings hold no model answers.
        let http = HttpClient::live(&config.fetch.user_agent).map_err(|error| setup("the HTTP client", error))?;
        let connected = remote::connect(&config.inference, &http, clock, patience).await;
        connected.map_err(|error| setup("the model server", error))?
    } else {
        RemoteModels::default()
    };
    let choice = Choice { config, brought, shipped: ModelFolder::bundled(), remote, fallback, supervisor };
    let embedder = choice.embedder()?;
    let stance = choice.stance()?;
    let reranker = choice.reranker(&embedder)?;
    Ok(Models { embedder, stance, reranker })
}

impl Choice<'_> {
    fn embedder(&self) -> Result<Arc<dyn Embedder>, AppError> {
        if let Some(remote) = &self.remote.embedder {
            // A server does not report the languages of its model.
            return Ok(Arc::new(remote.clone()));
        }
        let Some(folder) = self.folder(Task::Embedding)? else {
            return Ok(Arc::new(self.fallback.words.clone()));
        };
        let model = local::embedder(folder, self.supervisor)?;
        let languages = ModelLanguages::new(&folder.manifest.languages);
        if languages.is_every() { Ok(model) } else { Ok(Arc::new(RoutedEmbedder::new(model, languages))) }
    }

    fn stance(&self) -> Result<Arc<dyn StanceModel>, AppError> {
        let rules = self.fallback.stance;
        if let Some(remote) = &self.remote.stance {
            return Ok(Arc::new(RoutedStance::new(Arc::new(remote.clone()), ModelLanguages::every(), rules)));
        }
        let Some(folder) = self.folder(Task::Stance)? else { return Ok(Arc::new(rules)) };
        let languages = ModelLanguages::new(&folder.manifest.languages);
        let embedder = self.own_embedder()?;
        let model = local::stance(folder, embedder, self.supervisor)?;
        if let Some(ensemble) = &folder.manifest.ensemble
            && let Some(partner) = self.stance_named(&ensemble.partner)
        {
            let own = ModelLanguages::new(&partner.manifest.languages);
            let all = languages.union(&own);
            let first = Member { model, languages };
            let second = Member { model: local::stance(partner, embedder, self.supervisor)?, languages: own };
            let both = EnsembleStance::new(ensemble, first, second);
            return Ok(Arc::new(RoutedStance::new(Arc::new(both), all, rules)));
        }
        // The agreement rule judges texts that the model does not read.
        Ok(Arc::new(RoutedStance::new(model, languages, rules)))
    }

    fn reranker(&self, embedder: &Arc<dyn Embedder>) -> Result<Arc<dyn Reranker>, AppError> {
        if let Some(remote) = &self.remote.reranker {
            return Ok(Arc::new(remote.clone()));
        }
        if let Some(folder) = self.folder(Task::Relevance)? {
            let languages = ModelLanguages::new(&folder.manifest.languages);
            let model = local::reranker(folder, self.supervisor)?;
            return if languages.is_every() { Ok(model) } else { Ok(Arc::new(RoutedReranker::new(model, languages))) };
        }
        // A server does not report its cosine range, and another model's range would put every passage on topic.
        let own = self.own_embedder()?;
        if self.config.inference.reranker == AUTO
            && let Some(range) = own.and_then(|folder| folder.manifest.cosine)
        {
            return Ok(Arc::new(EmbeddingReranker::new(embedder.as_ref(), range)));
        }
        Ok(Arc::new(self.fallback.reranker))
    }

    /// Returns `None` if a server or the hashed fallback is used.
    fn own_embedder(&self) -> Result<Option<&ModelFolder>, AppError> {
        if self.remote.embedder.is_some() { Ok(None) } else { self.folder(Task::Embedding) }
    }

    fn stance_named(&self, name: &str) -> Option<&ModelFolder> {
        let is_it = |folder: &&ModelFolder| folder.manifest.task == Task::Stance && folder.manifest.name == name;
        self.brought.iter().chain(&self.shipped).find(is_it)
    }

    /// Returns `None` if no model is wanted or exists.
    fn folder(&self, task: Task) -> Result<Option<&ModelFolder>, AppError> {
        let wanted = choice::wanted(&self.config.inference, task);
        choose(task, wanted, &self.brought, &self.shipped).map_err(|error| setup("models", error))
    }
}

#[cfg(feature = "models")]
mod local {
    use std::sync::Arc;

    use tokio_util::sync::CancellationToken;

    use super::{AppError, Supervisor, setup};
    use crate::inference::local::{LocalEmbedder, LocalReranker, LocalStance};
    use crate::inference::{Embedder, ModelFolder, Reranker, StanceModel};

    /// Reports the crash of a model's thread, which ends all its answers.
    fn watch(supervisor: &Supervisor, task: &'static str, crashed: CancellationToken) {
        let stop = supervisor.closing().clone();
        supervisor.spawn(task, supervisor.closing(), async move {
            match stop.run_until_cancelled(crashed.cancelled()).await {
                Some(()) => Err("its thread panicked; the log shows the panic".to_owned()),
                None => Ok(()),
            }
        });
    }

    pub(super) fn embedder(folder: &ModelFolder, supervisor: &Supervisor) -> Result<Arc<dyn Embedder>, AppError> {
        let model = LocalEmbedder::load(folder).map_err(|error| setup("models", error))?;
        watch(supervisor, "the embedding model", model.crashed());
        Ok(Arc::new(model))
    }

    pub(super) fn stance(
        folder: &ModelFolder,
        embedder: Option<&ModelFolder>,
        supervisor: &Supervisor,
    ) -> Result<Arc<dyn StanceModel>, AppError> {
        let model = LocalStance::load(folder).map_err(|error| setup("models", error))?;
        watch(supervisor, "the stance model", model.crashed());
        let at_work = embedder.map_or("", |folder| folder.manifest.name.as_str());
        if let Some(fitted) = folder.manifest.similarity.as_ref().filter(|fitted| fitted.embedder != at_work) {
            tracing::info!(
                model = folder.manifest.name,
                calibrated_with = fitted.embedder,
                at_work = if at_work.is_empty() { "no embedder of this process" } else { at_work },
                "NLI model runs without the cosine, because its calibration names another embedder"
            );
        }
        Ok(Arc::new(model.with_cosine_of(at_work)))
    }

    pub(super) fn reranker(folder: &ModelFolder, supervisor: &Supervisor) -> Result<Arc<dyn Reranker>, AppError> {
        let model = LocalReranker::load(folder).map_err(|error| setup("models", error))?;
        watch(supervisor, "the relevance model", model.crashed());
        Ok(Arc::new(model))
    }
}

/// A build without local models.
#[cfg(not(feature = "models"))]
mod local {
    use std::sync::Arc;

    use super::{AppError, Supervisor, setup};
    use crate::inference::{Embedder, ModelFolder, Reranker, StanceModel};

    fn refused<T>(folder: &ModelFolder) -> Result<T, AppError> {
        let detail = format!(
            "{} cannot be run by this build; build with the feature `models`, or name a server in INFERENCE_BASE_URL",
            folder.location()
        );
        Err(setup("models", detail))
    }

    pub(super) fn embedder(folder: &ModelFolder, _supervisor: &Supervisor) -> Result<Arc<dyn Embedder>, AppError> {
        refused(folder)
    }

    pub(super) fn stance(
        folder: &ModelFolder,
        _embedder: Option<&ModelFolder>,
        _supervisor: &Supervisor,
    ) -> Result<Arc<dyn StanceModel>, AppError> {
        refused(folder)
    }

    pub(super) fn reranker(folder: &ModelFolder, _supervisor: &Supervisor) -> Result<Arc<dyn Reranker>, AppError> {
        refused(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_models_hashed_words_rules_and_shared_words_judge() {
        let mut config = Config::built_in();
        config.inference.embedder = "hashed".to_owned();
        config.inference.stance = "rules".to_owned();
        config.inference.reranker = "lexical".to_owned();
        let clock: Arc<dyn Clock> = Arc::new(crate::domain::SystemClock);
        let models =
            build(&config, &clock, &Fallback::new(384, 0.65), Patience::NONE, &Supervisor::default()).await.unwrap();
        let names = [models.embedder.name(), models.stance.name(), models.reranker.name()];
        assert_eq!(names, ["hashed-ngrams", "rules", "lexical"]);
    }

    #[cfg(feature = "models")]
    #[tokio::test]
    async fn the_shipped_models_go_together() {
        use crate::inference::Pair;
        use crate::judging::profile::{EmbeddingSpace, TextProfile};

        let clock: Arc<dyn Clock> = Arc::new(crate::domain::SystemClock);
        let config = Config::built_in();
        let models =
            build(&config, &clock, &Fallback::new(384, 0.65), Patience::NONE, &Supervisor::default()).await.unwrap();
        let texts = ["The bridge reopened on Monday.", "Traffic crosses the bridge again, the council said."];
        let vectors = models.embedder.embed(&texts).await.unwrap();
        let [claim, passage] = [0, 1].map(|at| TextProfile::new(texts[at], Some("en"), None, &[]));
        let pair = |vectors: &[Vec<f32>]| Pair {
            claim: Arc::new(claim.clone().embedded(vectors[0].clone(), EmbeddingSpace::Meaning)),
            passage: Arc::new(passage.clone().embedded(vectors[1].clone(), EmbeddingSpace::Meaning)),
        };
        let judged = models.stance.judge(&[pair(&vectors), pair(&[Vec::new(), Vec::new()])]).await.unwrap();
        assert_ne!(judged[0].probabilities, judged[1].probabilities);
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_stops_the_start_as_a_configuration_error() {
        let config = Config { models_dir: Some("/nowhere/models".into()), ..Config::built_in() };
        let clock: Arc<dyn Clock> = Arc::new(crate::domain::SystemClock);
        let error = build(&config, &clock, &Fallback::new(384, 0.65), Patience::NONE, &Supervisor::default())
            .await
            .unwrap_err();
        assert_eq!(error.exit_code(), 78);
        assert!(error.to_string().contains("/nowhere/models"), "{error}");
    }
}
