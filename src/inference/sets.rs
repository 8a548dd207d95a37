//! The models that `corroborate models pull` knows by name.
//!
//! Each is pinned to a commit of its repository, so that what was tried is what comes. Checksums stand here where several
//! independent projects publish the same ones; where they do not, the hub's own is held against what came. Weights are
//! not part of this project: their licence is named and goes into `model.toml`.

use super::{Manifest, Pooling, Task};

/// A file of a repository.
#[derive(Debug, Clone, Copy)]
pub struct PinnedFile {
    /// From the repository's root.
    pub path: &'static str,
    /// Bytes.
    pub size: Option<u64>,
    /// Lower-case hexadecimal.
    pub sha256: Option<&'static str>,
}

/// A model on a hub.
#[derive(Debug, Clone, Copy)]
pub struct HubModel {
    /// Of its folder, and in `model.toml`.
    pub name: &'static str,
    pub task: Task,
    /// `owner/name`.
    pub repository: &'static str,
    pub commit: &'static str,
    pub model: PinnedFile,
    pub tokenizer: PinnedFile,
    /// Its labels or its dimension are read from this one.
    pub configuration: &'static str,
    pub max_length: usize,
    /// Of embedding models.
    pub pooling: Option<Pooling>,
    /// Of embedding models: [`Manifest::cosine`].
    pub cosine: Option<[f64; 2]>,
    /// Of a hundred pairs how many it should be right on, by language: [`Manifest::expected`]. What others published of XNLI stands
    /// in for what was measured, since no hub is asked where this is built.
    pub expected: &'static [(&'static str, u8)],
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    pub licence: &'static str,
}

/// Models that belong together.
#[derive(Debug, Clone, Copy)]
pub struct ModelSet {
    pub name: &'static str,
    /// For people, in a line.
    pub about: &'static str,
    pub models: &'static [HubModel],
}

/// Sentence vectors in some hundred languages, as wide as those of the model that ships.
const E5_SMALL: HubModel = HubModel {
    name: "multilingual-e5-small",
    task: Task::Embedding,
    repository: "intfloat/multilingual-e5-small",
    commit: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
    model: PinnedFile {
        path: "onnx/model_qint8_avx512_vnni.onnx",
        size: Some(118_346_824),
        sha256: Some("dd476dd0c2514e9b9be83aeb3853fac0763e0bdf4a71645407587d77c48a2d88"),
    },
    tokenizer: PinnedFile {
        path: "onnx/tokenizer.json",
        size: Some(17_082_730),
        sha256: Some("0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"),
    },
    configuration: "config.json",
    max_length: 512,
    pooling: Some(Pooling::Mean),
    // Trained with a temperature of 0.01, which leaves all its cosines between about 0.7 and 1, as its card says.
    cosine: Some([0.7, 0.9]),
    // Nothing is published that can be held against the pairs.
    expected: &[],
    query_prefix: "query: ",
    passage_prefix: "passage: ",
    licence: "MIT",
};

/// 32-bit weights. Quantised the usual way this model loses much of what it learnt: 77.7 % of XNLI became 60 % by one
/// report, and another's checks found claims that are borne out under claims that are not.
const MDEBERTA_XNLI: HubModel = HubModel {
    name: "mdeberta-v3-base-xnli",
    task: Task::Stance,
    repository: "MoritzLaurer/mDeBERTa-v3-base-mnli-xnli",
    commit: "8adb042d524ecd5c26d3e3ba0e3fbcf7e2d0864c",
    model: PinnedFile { path: "onnx/model.onnx", size: None, sha256: None },
    tokenizer: PinnedFile {
        path: "tokenizer.json",
        size: Some(16_331_396),
        sha256: Some("3aca3ce69a0a35aeb144a52c4f1d41c4246b8785f8f398315cc8fb6b24057810"),
    },
    configuration: "config.json",
    max_length: 512,
    pooling: None,
    cosine: None,
    // The mean of XNLI's languages by its card; XNLI has no Ukrainian.
    expected: &[("en", 81), ("ru", 81), ("uk", 81)],
    query_prefix: "",
    passage_prefix: "",
    licence: "MIT",
};

/// The same in int8, for machines that cannot hold the other. As much is expected of it: what it has lost is what `models verify` is to
/// tell.
const MDEBERTA_XNLI_INT8: HubModel = HubModel {
    name: "mdeberta-v3-base-xnli-int8",
    model: PinnedFile {
        path: "onnx/model_quantized.onnx",
        size: Some(338_679_133),
        sha256: Some("27c39e884c14b03cf46cfc5485971b6db70ff330220d93dfe729c63fde43af0e"),
    },
    ..MDEBERTA_XNLI
};

/// 32-bit weights: the int8 file of this repository answers by chance.
const MINILM_XNLI: HubModel = HubModel {
    name: "multilingual-minilm-l6-xnli",
    task: Task::Stance,
    repository: "MoritzLaurer/multilingual-MiniLMv2-L6-mnli-xnli",
    commit: "0a71e92a985b6e1ad1828cf67ce9c459639c1dca",
    model: PinnedFile {
        path: "onnx/model.onnx",
        size: Some(428_127_016),
        sha256: Some("79f8cda2b1230585a95ea0514a6f1bd21c5c986ba0529bb3261213a3e195fa6e"),
    },
    tokenizer: PinnedFile { path: "tokenizer.json", size: None, sha256: None },
    configuration: "config.json",
    max_length: 512,
    pooling: None,
    cosine: None,
    // The mean of XNLI's languages by its card; XNLI has no Ukrainian.
    expected: &[("en", 72), ("ru", 72), ("uk", 72)],
    query_prefix: "",
    passage_prefix: "",
    licence: "MIT",
};

/// Every set there is. Sizes are of the files that are fetched; figures are those that others published, since no hub is
/// asked where this is built.
pub const SETS: [ModelSet; 3] = [
    ModelSet {
        name: "multilingual",
        about: "vectors and stance in some hundred languages: a 12-layer NLI model in 32 bits (0.81 of XNLI by its card), \
                about 1.3 GB on disk and in memory, and the slowest",
        models: &[E5_SMALL, MDEBERTA_XNLI],
    },
    ModelSet {
        name: "multilingual-int8",
        about: "the same in int8, 490 MB, 52 ms a short pair on two threads by one report: up to 17 points of XNLI are lost; \
                hear what `models verify` says of it",
        models: &[E5_SMALL, MDEBERTA_XNLI_INT8],
    },
    ModelSet {
        name: "multilingual-small",
        about: "a 6-layer NLI model in 32 bits (0.72 of XNLI by its card), 580 MB, 18 ms a short pair by the same report: \
                the quickest, and wrong more often",
        models: &[E5_SMALL, MINILM_XNLI],
    },
];

/// The set of that name.
pub fn set(name: &str) -> Option<&'static ModelSet> {
    SETS.iter().find(|set| set.name == name)
}

/// The model of a set that a manifest is of, by the repository that it says it comes from.
pub fn model_of(manifest: &Manifest) -> Option<&'static HubModel> {
    let (repository, _) = manifest.origin.as_deref()?.split_once('@')?;
    SETS.iter().flat_map(|set| set.models).find(|model| model.repository == repository && model.name == manifest.name)
}

/// The manifest's cosines, else those of the set that it is of: one that was fetched by a version that did not write them has none.
pub fn cosine_of(manifest: &Manifest) -> Option<[f64; 2]> {
    manifest.cosine.or_else(|| model_of(manifest)?.cosine)
}

/// How many of a hundred pairs in a language the model should be right on; `None` where nobody said.
pub fn expected_of(manifest: &Manifest, language: &str) -> Option<u8> {
    let own = manifest.expected.iter().find(|(own, _)| own.eq_ignore_ascii_case(language)).map(|(_, right)| *right);
    own.or_else(|| model_of(manifest)?.expected.iter().find(|(own, _)| *own == language).map(|(_, right)| *right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_is_well_formed() {
        let hexadecimal =
            |text: &str, length| text.len() == length && text.bytes().all(|letter| letter.is_ascii_hexdigit());
        for model in SETS.iter().flat_map(|set| set.models) {
            assert!(hexadecimal(model.commit, 40), "{}", model.name);
            for file in [model.model, model.tokenizer] {
                assert!(file.sha256.is_none_or(|sum| hexadecimal(sum, 64)), "{} of {}", file.path, model.name);
                assert_eq!(file.size.is_some(), file.sha256.is_some(), "{} of {}", file.path, model.name);
            }
            assert_eq!(model.pooling.is_some(), model.task == Task::Embedding);
            assert_eq!(model.cosine.is_some(), model.task == Task::Embedding, "{}", model.name);
            assert!(model.expected.iter().all(|(_, right)| *right <= 100), "{}", model.name);
            assert_eq!(model.expected.is_empty(), model.task == Task::Embedding, "{}", model.name);
            assert_eq!(model.repository.split('/').count(), 2);
        }
        assert!(set("multilingual").is_some() && set("everything").is_none());
    }

    #[test]
    fn what_a_set_says_holds_for_a_folder_that_was_fetched_before_it_was_written_there() {
        let manifest = |origin: &str, more: &str| {
            Manifest::parse(&format!(
                "name = \"multilingual-e5-small\"\ntask = \"embedding\"\nmodel = \"m\"\ntokenizer = \"t\"\nmax_length = 64\n\
                 pooling = \"mean\"\ndimension = 384\norigin = \"{origin}\"\n{more}"
            ))
            .unwrap()
        };
        let pulled = "intfloat/multilingual-e5-small@0123";
        assert_eq!(cosine_of(&manifest(pulled, "")), Some([0.7, 0.9]));
        assert_eq!(cosine_of(&manifest(pulled, "cosine = [0.5, 0.8]\n")), Some([0.5, 0.8]));
        assert_eq!(cosine_of(&manifest("trained by me", "")), None);
        assert!(model_of(&manifest(pulled, "")).is_some() && model_of(&manifest("somebody/else@0123", "")).is_none());
        let shown = manifest("trained by me", "[expected]\nEN = 90\n");
        assert_eq!([expected_of(&shown, "en"), expected_of(&shown, "ru")], [Some(90), None]);
    }
}
