//! Errors of a model before its use.
//!
//! Each message has the problem, the location and the fix.

use std::path::PathBuf;

#[derive(Debug, Clone, thiserror::Error)]
pub enum ModelError {
    #[error("cannot list the models in {}: {detail}; give `models_dir` (MODELS_DIR) a readable folder", path.display())]
    Directory { path: PathBuf, detail: String },
    #[error("cannot read {file} of the model in {location}: {detail}; add the file or remove the folder")]
    File { location: String, file: String, detail: String },
    #[error("{location}: model.toml is invalid: {detail}")]
    Manifest { location: String, detail: String },
    #[error("the models in {first} and {second} have the same name {name}; change `name` in one model.toml")]
    SameName { name: String, first: String, second: String },
    #[error(
        "{file} of the model in {location} is not the file that its model.toml names: its SHA-256 is {found}, not \
         {expected}; fetch it again, or correct `[sha256]` if you changed the file on purpose"
    )]
    Checksum { location: String, file: String, expected: String, found: String },
    #[error(
        "cannot read the tokenizer {file} of the model in {location}: {detail}; it must be a Hugging Face tokenizer.json"
    )]
    Tokenizer { location: String, file: String, detail: String },
    #[error("the tokenizer and the model in {location} do not match: {detail}; use both files of one export")]
    Vocabulary { location: String, detail: String },
    #[error(
        "cannot read the model {file} in {location}: {detail}; it must be an ONNX graph with its weights in the file"
    )]
    Graph { location: String, file: String, detail: String },
    #[error(
        "the model in {location} needs the operator {operator}, which this runtime does not have: export it with a \
         current opset and without fused operators, or serve the model with a text-embeddings-inference server ({detail})"
    )]
    Operator { location: String, operator: String, detail: String },
    #[error(
        "the model in {location} has an unknown input {input}; supported are input_ids, \
         attention_mask, token_type_ids and position_ids: export the plain encoder"
    )]
    Input { location: String, input: String },
    #[error("the model in {location} gives {found}, but its model.toml promises {expected}: {fix}")]
    Output { location: String, expected: String, found: String, fix: String },
    #[error(
        "the model in {location} is for {found}, not for {expected}: choose another, or correct `task` in its model.toml"
    )]
    Task { location: String, expected: &'static str, found: &'static str },
    #[error("the first run of the model in {location} failed: {detail}; the file may be damaged or of an unusual kind")]
    Probe { location: String, detail: String },
    #[error("the runtime for the model in {location} is unavailable: {detail}")]
    Runtime { location: String, detail: String },
}
