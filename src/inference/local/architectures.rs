//! Compares small real tokenizers with the training library's tokens.
//!
//! The models' answers are in `tests/it/architectures.rs`.

use std::path::PathBuf;

use serde::Deserialize;

use super::tokens::{Texts, Tokens};
use crate::inference::folder::ModelFolder;

const ARCHITECTURES: [&str; 2] = ["bert", "xlm-roberta"];

#[derive(Deserialize)]
struct Reference {
    embedding: Vec<Case>,
    stance: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    text: String,
    #[serde(default)]
    claim: String,
    #[serde(default)]
    passage: String,
    ids: Vec<u32>,
    /// Tokens of the second text.
    second_segment: usize,
}

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models"))
}

fn reference(architecture: &str) -> Reference {
    let text = std::fs::read_to_string(fixtures().join(format!("{architecture}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn texts(folder: &str) -> Texts {
    Texts::load(&ModelFolder::read(&fixtures().join(folder)).unwrap()).unwrap()
}

fn expected(case: &Case) -> Tokens {
    let first = case.ids.len() - case.second_segment;
    let types = (0..case.ids.len()).map(|position| u32::from(position >= first)).collect();
    Tokens { ids: case.ids.clone(), types }
}

#[test]
fn texts_become_the_tokens_the_models_were_trained_on() {
    for architecture in ARCHITECTURES {
        let texts = texts(&format!("{architecture}-embedding-f32"));
        for case in reference(architecture).embedding {
            let tokens = texts.single(&case.text).unwrap().unwrap();
            assert_eq!(tokens, expected(&case), "{architecture}: {}", case.text);
        }
    }
}

#[test]
fn pairs_become_the_tokens_the_models_were_trained_on() {
    for architecture in ARCHITECTURES {
        let texts = texts(&format!("{architecture}-stance-f32"));
        for case in reference(architecture).stance {
            let tokens = texts.pair(&case.claim, &case.passage, false).unwrap().unwrap();
            assert_eq!(tokens, expected(&case), "{architecture}: {} / {}", case.claim, case.passage);
        }
    }
}
