//! `model.toml`: the manifest of a model.
//!
//! Parses it and checks its values against each other and against the task. Opens no other file. A new field also
//! belongs in the checks of the tasks that do not use it.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use figment::Figment;
use figment::providers::{Format, Toml};
use serde::{Deserialize, Serialize};

use crate::domain::evidence::StanceProbabilities;

/// Configuration values that mean no model.
const RESERVED_NAMES: [&str; 4] = ["auto", "hashed", "rules", "lexical"];

/// Tokens. Encoders have at most 512 or 8,192; more is a mistake.
const MOST_TOKENS: usize = 8_192;

/// Tokens for a claim, a passage and the special tokens.
const LEAST_TOKENS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    Embedding,
    /// Claim and passage in; entailed, neutral or contradicted out.
    Stance,
    Relevance,
}

impl Task {
    pub const ALL: [Self; 3] = [Self::Embedding, Self::Stance, Self::Relevance];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Stance => "stance",
            Self::Relevance => "relevance",
        }
    }
}

/// How token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean without padding.
    Mean,
    /// The first token's vector.
    Cls,
}

/// The meaning of one logit of a stance model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    Entail,
    Neutral,
    Contradict,
    /// Neutral or contradict, which a two-label model does not separate.
    NotEntail,
}

/// Whether each class of an NLI model is there once.
pub(super) fn is_complete(labels: &[Label]) -> bool {
    let has = |label| labels.contains(&label);
    match labels.len() {
        2 => has(Label::Entail) && has(Label::NotEntail),
        3 => has(Label::Entail) && has(Label::Neutral) && has(Label::Contradict),
        _ => false,
    }
}

/// Converts to three probabilities. `NotEntail` counts as neutral, because it does not separate neutral and
/// contradiction.
pub(super) fn probabilities(shares: impl IntoIterator<Item = (Label, f64)>) -> StanceProbabilities {
    let mut sums = StanceProbabilities { entail: 0.0, contradict: 0.0, neutral: 0.0 };
    for (label, share) in shares {
        match label {
            Label::Entail => sums.entail += share,
            Label::Contradict => sums.contradict += share,
            Label::Neutral | Label::NotEntail => sums.neutral += share,
        }
    }
    sums
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Shown in results as `model:<name>`.
    pub name: String,
    pub task: Task,
    /// The ONNX graph, a file in the same folder.
    pub model: String,
    pub tokenizer: String,
    /// Longest input in tokens, including both texts of a pair and the special tokens.
    pub max_length: usize,
    /// Embedding only.
    #[serde(default)]
    pub pooling: Option<Pooling>,
    /// Length of a vector. Embedding only.
    #[serde(default)]
    pub dimension: Option<usize>,
    /// Cosines of unrelated and of equivalent texts, between which relevance rises from 0 to 1. They depend on the
    /// model. Without them, the cosine does not rank. Embedding only.
    #[serde(default)]
    pub cosine: Option<[f64; 2]>,
    /// Meaning of each logit, in order. Stance only.
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Divides the logits. Stance only.
    #[serde(default = "one")]
    pub temperature: f32,
    /// Added to the logits after the division by `temperature`. Stance only.
    #[serde(default)]
    pub bias: Vec<f32>,
    /// Calibration with the cosine of claim and passage. Stance only.
    #[serde(default)]
    pub similarity: Option<Similarity>,
    /// A second model for other languages. Stance only.
    #[serde(default)]
    pub ensemble: Option<Ensemble>,
    /// Put before every text, if the model was trained with a prefix. Embedding only.
    #[serde(default)]
    pub query_prefix: String,
    /// File with a static vector for each word piece, for preselection. Embedding only.
    #[serde(default)]
    pub static_vectors: Option<String>,
    /// ISO 639-1, or `*`.
    #[serde(default = "any_language")]
    pub languages: Vec<String>,
    #[serde(default)]
    pub licence: Option<String>,
    /// Source of the model, such as `repository@commit`.
    #[serde(default)]
    pub origin: Option<String>,
    /// SHA-256 of files of the folder, in hexadecimal.
    #[serde(default)]
    pub sha256: BTreeMap<String, String>,
}

/// Replaces `temperature` and `bias` if the cosine of claim and passage is known. A close passage settles a claim more
/// often than one that only shares its subject.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Similarity {
    /// Name of the embedder of the fit; cosines of others have another scale.
    pub embedder: String,
    #[serde(default = "one")]
    pub temperature: f32,
    #[serde(default)]
    pub bias: Vec<f32>,
    /// Weight of the cosine, one per logit.
    pub weights: Vec<f32>,
}

/// Judges pairs together with a second stance model; see `EnsembleStance`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ensemble {
    /// Shown in results as `model:<name>`.
    pub name: String,
    /// Name of the second model. Without its folder, this model judges alone.
    pub partner: String,
    /// Languages of the pairs that this model judges alone.
    pub alone: Vec<String>,
    /// Of the mean of both.
    #[serde(default = "one")]
    pub temperature: f32,
}

const fn one() -> f32 {
    1.0
}

fn any_language() -> Vec<String> {
    vec!["*".to_owned()]
}

impl Manifest {
    /// Parses and checks a manifest. The error is a message for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        let manifest: Self = Figment::from(Toml::string(text)).extract().map_err(|error| describe(&error))?;
        manifest.check()?;
        Ok(manifest)
    }

    pub fn files(&self) -> Vec<&str> {
        let mut files = vec![self.model.as_str(), self.tokenizer.as_str()];
        files.extend(self.static_vectors.as_deref());
        let more: Vec<&str> = self.sha256.keys().map(String::as_str).filter(|file| !files.contains(file)).collect();
        files.extend(more);
        files
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        if RESERVED_NAMES.contains(&self.name.as_str()) {
            return Err(format!("`name` may not be {:?}, which the configuration uses for something else", self.name));
        }
        for file in self.files() {
            if !is_below(file) {
                return Err(format!("{file:?} is not a file beside model.toml; give a name without `..` or a root"));
            }
        }
        for (file, sum) in &self.sha256 {
            if sum.len() != 64 || !sum.bytes().all(|letter| letter.is_ascii_hexdigit()) {
                return Err(format!(
                    "`sha256` of {file:?} is not 64 hexadecimal digits; `sha256sum {file}` prints them"
                ));
            }
        }
        if !(LEAST_TOKENS..=MOST_TOKENS).contains(&self.max_length) {
            return Err(format!("`max_length` is {}; give {LEAST_TOKENS} to {MOST_TOKENS} tokens", self.max_length));
        }
        match self.task {
            Task::Embedding => self.check_embedding()?,
            Task::Stance => self.check_stance()?,
            Task::Relevance => {}
        }
        let fields = [
            ("pooling", Task::Embedding, self.pooling.is_some()),
            ("dimension", Task::Embedding, self.dimension.is_some()),
            ("cosine", Task::Embedding, self.cosine.is_some()),
            ("query_prefix", Task::Embedding, !self.query_prefix.is_empty()),
            ("static_vectors", Task::Embedding, self.static_vectors.is_some()),
            ("labels", Task::Stance, !self.labels.is_empty()),
            ("bias", Task::Stance, !self.bias.is_empty()),
            ("similarity", Task::Stance, self.similarity.is_some()),
            ("ensemble", Task::Stance, self.ensemble.is_some()),
        ];
        match fields.iter().find(|(_, task, is_given)| *is_given && *task != self.task) {
            None => Ok(()),
            Some((field, ..)) => {
                Err(format!("`{field}` says nothing of a model for {}; take it out", self.task.as_str()))
            }
        }
    }

    fn check_embedding(&self) -> Result<(), String> {
        if self.pooling.is_none() {
            return Err("an embedding model needs `pooling`: \"mean\" or \"cls\" (its card says which)".to_owned());
        }
        match self.dimension {
            None => return Err("an embedding model needs `dimension`, the length of its vectors".to_owned()),
            Some(0) => return Err("`dimension` is 0; give the length of the model's vectors".to_owned()),
            Some(_) => {}
        }
        if self.cosine.is_some_and(|[low, high]| !(-1.0 <= low && low < high && high <= 1.0)) {
            return Err("`cosine` wants two numbers from -1 to 1, that of strangers below that of the same".to_owned());
        }
        Ok(())
    }

    fn check_stance(&self) -> Result<(), String> {
        if !is_complete(&self.labels) {
            return Err("a stance model needs `labels` in the order of its logits: \"entail\", \"neutral\" and \
                        \"contradict\", or \"entail\" and \"not_entail\" (its config.json says the order in id2label)"
                .to_owned());
        }
        check_numbers(self.temperature, &self.bias)?;
        self.check_bias(self.labels.len())?;
        if let Some(similarity) = &self.similarity {
            similarity.check(self.labels.len()).map_err(|wrong| format!("`similarity`: {wrong}"))?;
        }
        if let Some(ensemble) = &self.ensemble {
            ensemble.check(&self.name).map_err(|wrong| format!("`ensemble`: {wrong}"))?;
        }
        Ok(())
    }

    fn check_bias(&self, logits: usize) -> Result<(), String> {
        if self.bias.is_empty() || self.bias.len() == logits {
            return Ok(());
        }
        Err(format!("`bias` has {} values and the model {logits} logits; give one value each", self.bias.len()))
    }
}

impl Ensemble {
    fn check(&self, own: &str) -> Result<(), String> {
        check_name(&self.name)?;
        if self.partner.trim().is_empty() || self.partner == own {
            return Err(format!("`partner` is {:?}; give the name of another stance model", self.partner));
        }
        if self.alone.is_empty() || self.alone.iter().any(|code| code == "*") {
            return Err("`alone` names every language; give the codes of those that this model judges alone".to_owned());
        }
        check_numbers(self.temperature, &[])
    }
}

impl Similarity {
    fn check(&self, logits: usize) -> Result<(), String> {
        if self.embedder.trim().is_empty() {
            return Err("`embedder` is empty; give the name of the embedding model whose cosines are meant".to_owned());
        }
        check_numbers(self.temperature, &self.bias)?;
        if self.weights.iter().any(|value| !value.is_finite()) {
            return Err("`weights` holds something that is not a number".to_owned());
        }
        if self.weights.len() != logits || !(self.bias.is_empty() || self.bias.len() == logits) {
            return Err(format!("`weights`, and `bias` where it is given, want one value for each of {logits} logits"));
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!("`name` is {name:?}; use letters, digits, `-`, `_` and `.`"));
    }
    Ok(())
}

fn check_numbers(temperature: f32, bias: &[f32]) -> Result<(), String> {
    if !(temperature.is_finite() && temperature > 0.0) {
        return Err(format!("`temperature` is {temperature}; give a number above 0, 1 for none"));
    }
    if bias.iter().any(|value| !value.is_finite()) {
        return Err("`bias` holds something that is not a number".to_owned());
    }
    Ok(())
}

/// Whether the path has no root and no `..`.
fn is_below(file: &str) -> bool {
    let mut parts = Path::new(file).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn describe(error: &figment::Error) -> String {
    let key = error.path.join(".");
    if key.is_empty() { error.kind.to_string() } else { format!("`{key}`: {}", error.kind) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMBEDDING: &str = "name = \"small\"\ntask = \"embedding\"\nmodel = \"model.onnx\"\ntokenizer = \"tokenizer.json\"\n\
                             max_length = 256\npooling = \"mean\"\ndimension = 384\n";
    const STANCE: &str = "name = \"nli\"\ntask = \"stance\"\nmodel = \"model.onnx\"\ntokenizer = \"tokenizer.json\"\n\
                          max_length = 256\nlabels = [\"contradict\", \"entail\", \"neutral\"]\n";

    #[test]
    fn manifest_has_default_when_key_is_missing() {
        let embedding = Manifest::parse(EMBEDDING).unwrap();
        assert_eq!(embedding.languages, ["*"]);
        assert!((embedding.temperature - 1.0).abs() < 1e-9);
        assert_eq!(embedding.cosine, None, "no model's scale is another's");
        let stance = Manifest::parse(STANCE).unwrap();
        assert_eq!(stance.labels, [Label::Contradict, Label::Entail, Label::Neutral]);
        assert_eq!(stance.files(), ["model.onnx", "tokenizer.json"]);
    }

    /// A change of the manifest, and a part of the expected error.
    #[test]
    fn error_names_fix_when_manifest_has_a_mistake() {
        let wrong = [
            (EMBEDDING.replace("pooling = \"mean\"\n", ""), "needs `pooling`"),
            (EMBEDDING.replace("dimension = 384\n", ""), "needs `dimension`"),
            (EMBEDDING.replace("384", "0"), "`dimension` is 0"),
            (EMBEDDING.replace("mean", "max"), "`pooling`"),
            (EMBEDDING.replace("256", "4"), "`max_length` is 4"),
            (EMBEDDING.replace("256", "\"long\""), "`max_length`"),
            (EMBEDDING.replace("small", "rules"), "something else"),
            (EMBEDDING.replace("small", "a b"), "use letters"),
            (EMBEDDING.replace("model.onnx", "../model.onnx"), "beside model.toml"),
            (EMBEDDING.replace("model.onnx", "/model.onnx"), "beside model.toml"),
            (EMBEDDING.replace("model = \"model.onnx\"\n", ""), "missing field `model`"),
            (format!("{EMBEDDING}poolling = \"cls\"\n"), "poolling"),
            (format!("{EMBEDDING}labels = [\"entail\"]\n"), "`labels` says nothing"),
            (format!("{EMBEDDING}[sha256]\n\"model.onnx\" = \"abc\"\n"), "64 hexadecimal"),
            (STANCE.replace("\"neutral\"", "\"entail\""), "id2label"),
            (STANCE.replace("\"neutral\"", "\"maybe\""), "maybe"),
            (format!("{STANCE}bias = [0.0]\n"), "1 values and the model 3 logits"),
            (format!("{STANCE}temperature = 0\n"), "`temperature` is 0"),
            (format!("{STANCE}temperature = nan\n"), "`temperature` is NaN"),
            (format!("{STANCE}[similarity]\nembedder = \"small\"\n"), "weights"),
            (format!("{STANCE}[similarity]\nembedder = \"small\"\nweights = [1.0]\n"), "each of 3 logits"),
            (format!("{STANCE}[similarity]\nembedder = \" \"\nweights = [1, 0, 0]\n"), "`embedder` is empty"),
            (format!("{STANCE}[similarity]\nembedder = \"s\"\nweights = [1, 0, inf]\n"), "not a number"),
            (
                format!("{STANCE}[similarity]\nembedder = \"s\"\nweights = [1, 0, 0]\ntemperature = 0\n"),
                "`similarity`: `temperature` is 0",
            ),
            (format!("{EMBEDDING}[similarity]\nembedder = \"s\"\nweights = [1, 0, 0]\n"), "`similarity` says nothing"),
            ("name = ".to_owned(), "TOML"),
        ];
        for (text, expected) in wrong {
            let error = Manifest::parse(&text).expect_err(&text);
            assert!(error.contains(expected), "{expected:?} is not in {error:?}");
        }
    }

    #[test]
    fn the_examples_of_the_documentation_are_manifests() {
        let text = include_str!("../../docs/models.md");
        let examples: Vec<&str> =
            text.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(one, _)| one).collect();
        let manifest = Manifest::parse(&examples.concat()).unwrap();
        assert_eq!(manifest.labels.len(), manifest.similarity.as_ref().unwrap().weights.len());
        let shipped = Manifest::parse(include_str!("../../models/mpnet-nli-en-ru-uk-int8/model.toml")).unwrap();
        assert!(manifest.similarity.is_some());
        assert_eq!(manifest.similarity, shipped.similarity, "what it says they are");
    }

    #[test]
    fn two_label_models_are_allowed_and_leave_open_what_is_not_entailed() {
        let text = STANCE.replace("\"contradict\", \"entail\", \"neutral\"", "\"entail\", \"not_entail\"");
        assert_eq!(Manifest::parse(&text).unwrap().labels, [Label::Entail, Label::NotEntail]);
        let two = probabilities([(Label::NotEntail, 0.75), (Label::Entail, 0.25)]);
        assert_eq!(two, StanceProbabilities { entail: 0.25, contradict: 0.0, neutral: 0.75 });
    }
}
