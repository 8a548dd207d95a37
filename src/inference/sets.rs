//! The models that `corroborate models pull` knows by name, each pinned to a tested commit.
//!
//! A checksum is pinned if several independent projects publish it; otherwise the hub's is used. Weights are not part
//! of this project, so their licence is written to `model.toml`.

use super::{Manifest, Pooling, Task};

#[derive(Debug, Clone, Copy)]
pub struct PinnedFile {
    /// Path in the repository.
    pub path: &'static str,
    /// Bytes.
    pub size: Option<u64>,
    /// Lower-case hexadecimal.
    pub sha256: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
pub struct HubModel {
    /// Also the name of the folder.
    pub name: &'static str,
    pub task: Task,
    /// `owner/name`.
    pub repository: &'static str,
    pub commit: &'static str,
    pub model: PinnedFile,
    pub tokenizer: PinnedFile,
    /// The file with the labels or the dimension.
    pub configuration: &'static str,
    pub max_length: usize,
    /// Embedding models only.
    pub pooling: Option<Pooling>,
    /// Embedding models only; see [`Manifest::cosine`].
    pub cosine: Option<[f64; 2]>,
    /// See [`Manifest::expected`]. Published XNLI results, because the build has no hub access to measure.
    pub expected: &'static [(&'static str, u8)],
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    pub licence: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub struct ModelSet {
    pub name: &'static str,
    pub about: &'static str,
    pub models: &'static [HubModel],
}

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
    // By its card, the training temperature of 0.01 leaves cosines between about 0.7 and 1.
    cosine: Some([0.7, 0.9]),
    // No published result is comparable with the pairs.
    expected: &[],
    query_prefix: "query: ",
    passage_prefix: "passage: ",
    licence: "MIT",
};

/// 32-bit weights. By one report, quantisation lowers XNLI from 77.7 % to 60 %. Another found supported claims ranked
/// below unsupported ones.
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
    // Mean of the XNLI languages by its card. XNLI has no Ukrainian.
    expected: &[("en", 81), ("ru", 81), ("uk", 81)],
    query_prefix: "",
    passage_prefix: "",
    licence: "MIT",
};

/// The int8 file, for little memory. `expected` is unchanged, so that `models verify` shows the loss.
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
    // Mean of the XNLI languages by its card. XNLI has no Ukrainian.
    expected: &[("en", 72), ("ru", 72), ("uk", 72)],
    query_prefix: "",
    passage_prefix: "",
    licence: "MIT",
};

/// Sizes are those of the downloads. Figures are published ones, because the build has no hub access.
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

pub fn set(name: &str) -> Option<&'static ModelSet> {
    SETS.iter().find(|set| set.name == name)
}

/// Finds the pinned model by the manifest's `origin` and `name`.
pub fn model_of(manifest: &Manifest) -> Option<&'static HubModel> {
    let (repository, _) = manifest.origin.as_deref()?.split_once('@')?;
    SETS.iter().flat_map(|set| set.models).find(|model| model.repository == repository && model.name == manifest.name)
}

/// Returns the manifest's cosines or the pinned ones, because older versions did not write them.
pub fn cosine_of(manifest: &Manifest) -> Option<[f64; 2]> {
    manifest.cosine.or_else(|| model_of(manifest)?.cosine)
}

/// Returns the expected correct answers of 100 pairs; `None` if unknown.
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
