//! Models on other machines: text-embeddings-inference servers, and OpenAI-compatible ones for embeddings.
//!
//! [`connect`] looks at every server the configuration names, once, at the start: which kind of model it serves, what it
//! calls its labels, how much it takes at once. What does not fit is refused there, in words that say which key to
//! change. Afterwards batches are cut to what the server takes, and cut smaller while it is overloaded.
//!
//! What this room never does: take a label's place for its meaning, a batch of two texts for a pair, an answer's order
//! for the order of the question, or a vector with a hole in it for a vector.

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

/// How long a server may load its model at the start: containers of one composition start together, and a model of some
/// gigabytes is not read in seconds.
const LOADING: Duration = Duration::from_mins(2);
/// How long a server may refuse the connection: it has not begun to listen, or it is not there.
const STARTING: Duration = Duration::from_secs(15);

/// How long [`connect`] waits for servers that are not ready.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For one that answers that it is loading.
    pub loading: Duration,
    /// For one that cannot be connected to.
    pub starting: Duration,
}

impl Patience {
    /// For a daemon, which starts beside its servers.
    pub const DAEMON: Self = Self { loading: LOADING, starting: STARTING };
    /// For a person, who would rather be told.
    pub const NONE: Self = Self { loading: Duration::ZERO, starting: Duration::ZERO };
}

/// The models of the servers that the configuration names, one a task at most.
#[derive(Debug, Default)]
pub struct RemoteModels {
    pub embedder: Option<RemoteEmbedder>,
    pub stance: Option<RemoteStance>,
    pub reranker: Option<RemoteReranker>,
}

/// What a variable's server is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// Whatever it serves: an embedder as a rule.
    Any,
    Stance,
    Relevance,
}

/// Looks at every server that `config` names and makes clients of them; none for a task without one.
///
/// # Errors
/// A server that is away or not ready after `patience`, that wants a key, that is no model server, that serves another
/// kind of model than its variable is for, or whose labels say nothing about entailment.
pub async fn connect(
    config: &InferenceConfig,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
    patience: Patience,
) -> Result<RemoteModels, RemoteError> {
    let mut models = RemoteModels::default();
    for (variable, url) in config.servers() {
        let meant = match variable {
            "INFERENCE_STANCE_URL" => Meant::Stance,
            "INFERENCE_RERANK_URL" => Meant::Relevance,
            _ => Meant::Any,
        };
        let server = Server::new(variable, url.clone(), config, http.clone(), Arc::clone(clock));
        let served = greeting::look(&server, patience).await?;
        add(&mut models, config, server, served, meant).await?;
    }
    Ok(models)
}

async fn add(
    models: &mut RemoteModels,
    config: &InferenceConfig,
    mut server: Server,
    info: Option<Info>,
    meant: Meant,
) -> Result<(), RemoteError> {
    let (variable, url) = (server.variable(), server.url().clone());
    let twice = |task| RemoteError::Twice { variable, task };
    let wrong =
        |model: &str, serves| RemoteError::WrongKind { variable, url: url.clone(), model: model.to_owned(), serves };
    let Some(info) = info else {
        // Not text-embeddings-inference: embeddings are all that others share.
        let Some(model) = config.embedding_model.as_ref().filter(|_| meant == Meant::Any) else {
            return Err(RemoteError::NotKnown { variable, url, for_embeddings: meant == Meant::Any });
        };
        models.embedder = Some(RemoteEmbedder::openai(server, model).await?);
        return Ok(());
    };
    server.learn(&info);
    match (&info.kind, meant) {
        (Kind::Embedding, Meant::Any) => models.embedder = Some(RemoteEmbedder::tei(server, &info).await?),
        (Kind::Embedding, _) => {
            return Err(wrong(&info.model, "an embedding model; it belongs into INFERENCE_BASE_URL"));
        }
        (Kind::Classifier { .. }, Meant::Relevance) => {
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
        (Kind::Reranker, Meant::Stance) => {
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

/// An address without what a log should not hold.
fn shown(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

/// An error of the start as one of an item.
fn failure(model: &str, error: &RemoteError) -> super::InferenceError {
    super::InferenceError::Failed { model: model.to_owned(), detail: error.to_string() }
}

#[cfg(test)]
mod tests;
