//! Models on other machines: text-embeddings-inference servers, and OpenAI-compatible ones for embeddings.
//!
//! [`connect`] reads each server's model, labels and limits once at start. A mismatch is an error with the key to
//! change. Later, batches follow the server's limit and shrink on overload.
//!
//! A label's position is not its meaning, and a batch of two texts is not a pair. Answers may come in another order,
//! and vectors may be incomplete.

mod embedder;
mod error;
mod greeting;
mod info;
mod pairs;
mod server;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use self::info::{Info, Kind};
use self::server::Server;
use super::labels::labels_of;
use crate::config::InferenceConfig;
use crate::domain::Clock;
use crate::outbound::HttpClient;

pub use embedder::RemoteEmbedder;
pub use error::RemoteError;
pub use pairs::{RemoteReranker, RemoteStance};

/// Maximum time to load a model at start. Containers start together, and a model can have gigabytes.
const LOADING: Duration = Duration::from_mins(2);
/// Maximum time without a connection, because the server may still start.
const STARTING: Duration = Duration::from_secs(15);

/// How long [`connect`] waits.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a server that reports loading.
    pub loading: Duration,
    /// For a server without a connection.
    pub starting: Duration,
}

impl Patience {
    /// For a daemon, which starts together with its servers.
    pub const DAEMON: Self = Self { loading: LOADING, starting: STARTING };
    /// For a command, which reports the problem at once.
    pub const NONE: Self = Self { loading: Duration::ZERO, starting: Duration::ZERO };
}

#[derive(Debug, Default)]
pub struct RemoteModels {
    pub embedder: Option<RemoteEmbedder>,
    pub stance: Option<RemoteStance>,
    pub reranker: Option<RemoteReranker>,
}

/// The task that a variable's server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerTask {
    /// Any; usually embeddings.
    Any,
    Stance,
    Relevance,
}

/// Connects to every configured server.
///
/// # Errors
/// A server that is not ready after `patience`, needs a key or is no model server. A kind of model that is wrong for
/// its variable. Labels that are not NLI labels.
pub async fn connect(
    config: &InferenceConfig,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
    patience: Patience,
) -> Result<RemoteModels, RemoteError> {
    let mut models = RemoteModels::default();
    for (variable, url) in config.servers() {
        let task = match variable {
            "INFERENCE_STANCE_URL" => ServerTask::Stance,
            "INFERENCE_RERANK_URL" => ServerTask::Relevance,
            _ => ServerTask::Any,
        };
        let server = Server::new(variable, url.clone(), config, http.clone(), Arc::clone(clock));
        let served = greeting::look(&server, patience).await?;
        add(&mut models, config, server, served, task).await?;
    }
    Ok(models)
}

async fn add(
    models: &mut RemoteModels,
    config: &InferenceConfig,
    mut server: Server,
    info: Option<Info>,
    task: ServerTask,
) -> Result<(), RemoteError> {
    let (variable, url) = (server.variable(), server.url().clone());
    let twice = |task| RemoteError::Twice { variable, task };
    let wrong =
        |model: &str, serves| RemoteError::WrongKind { variable, url: url.clone(), model: model.to_owned(), serves };
    let Some(info) = info else {
        // Not text-embeddings-inference. Other servers only have embeddings in common.
        let Some(model) = config.embedding_model.as_ref().filter(|_| task == ServerTask::Any) else {
            return Err(RemoteError::NotKnown { variable, url, for_embeddings: task == ServerTask::Any });
        };
        models.embedder = Some(RemoteEmbedder::openai(server, model).await?);
        return Ok(());
    };
    server.learn(&info);
    match (&info.kind, task) {
        (Kind::Embedding, ServerTask::Any) => models.embedder = Some(RemoteEmbedder::tei(server, &info).await?),
        (Kind::Embedding, _) => {
            return Err(wrong(&info.model, "an embedding model; it belongs into INFERENCE_BASE_URL"));
        }
        (Kind::Classifier { .. }, ServerTask::Relevance) => {
            return Err(wrong(&info.model, "a classifier; it belongs into INFERENCE_STANCE_URL"));
        }
        (Kind::Classifier { id2label }, _) => {
            let labels = labels_of(id2label).map_err(|words| RemoteError::Labels {
                variable,
                url: url.clone(),
                model: info.model.clone(),
                words,
            })?;
            let stance = RemoteStance::new(server, &info, labels).await?;
            if models.stance.replace(stance).is_some() {
                return Err(twice("stance"));
            }
        }
        (Kind::Reranker, ServerTask::Stance) => {
            return Err(wrong(&info.model, "a reranker; it belongs into INFERENCE_RERANK_URL"));
        }
        (Kind::Reranker, _) => {
            let reranker = RemoteReranker::new(server, &info).await?;
            if models.reranker.replace(reranker).is_some() {
                return Err(twice("relevance"));
            }
        }
    }
    Ok(())
}

/// Returns the address for logs.
fn shown(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

/// Converts a startup error to an item's error.
fn failure(model: &str, error: &RemoteError) -> super::InferenceError {
    super::InferenceError::Failed { model: model.to_owned(), detail: error.to_string() }
}

#[cfg(test)]
mod tests;
