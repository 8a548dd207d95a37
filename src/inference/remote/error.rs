//! Errors of model servers.
//!
//! At start they stop the daemon; later they fail one item.

use url::Url;

use super::shown;
use crate::outbound::AskError;

/// Each message names the variable to change.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RemoteError {
    #[error(
        "{variable}: the model server at {} {detail}; start it, correct the address, or unset {variable}",
        shown(url)
    )]
    Away { variable: &'static str, url: Url, detail: String },
    #[error(
        "{variable}: the model server at {} refuses the key (status {status}); set INFERENCE_API_KEY to the one it was started with",
        shown(url)
    )]
    Key { variable: &'static str, url: Url, status: u16 },
    #[error(
        "{variable}: {} is no text-embeddings-inference server: it has no /info that names a model{}",
        shown(url),
        if *for_embeddings { "; for an OpenAI-compatible server also set INFERENCE_EMBEDDING_MODEL to the model's name there" } else { "; only text-embeddings-inference can judge pairs" }
    )]
    NotKnown { variable: &'static str, url: Url, for_embeddings: bool },
    #[error("{variable}: the server at {} serves {model}, {serves}", shown(url))]
    WrongKind { variable: &'static str, url: Url, model: String, serves: &'static str },
    #[error(
        "{variable}: the labels of {model} at {} are {words}, which are not those of an NLI model (entailment, neutral, contradiction); serve another model, or name the labels in the id2label of its config.json",
        shown(url)
    )]
    Labels { variable: &'static str, url: Url, model: String, words: String },
    #[error("{variable} names a second server for {task}; keep one")]
    Twice { variable: &'static str, task: &'static str },
    #[error("{variable}: the model server at {} {detail}", shown(url))]
    Failed { variable: &'static str, url: Url, detail: String },
}

/// Words an HTTP error for a model server.
pub(super) fn words(error: &AskError) -> String {
    match error {
        AskError::Timeout | AskError::Deadline => {
            "did not answer in time; give it more (INFERENCE_TIMEOUT) or a faster machine".to_owned()
        }
        AskError::Connect { detail } => format!("cannot be reached: {detail}"),
        AskError::Lost { detail } => format!("broke the connection off: {detail}"),
        AskError::Server { status } => format!("failed with status {status}"),
        AskError::Malformed { detail } => format!("gave an answer that cannot be read: {detail}"),
        AskError::Refused { detail } | AskError::CouldNotAsk { detail } | AskError::BadKey { detail } => {
            format!("refuses the question: {detail}")
        }
        AskError::TooLarge => "gave an answer that is larger than any of its model could be".to_owned(),
        AskError::Open { until } => format!("failed several times and is left alone until {until}"),
        AskError::NoRecording(missing) => format!("was not recorded: {missing}"),
        other => other.to_string(),
    }
}
