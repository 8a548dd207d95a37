//! Tests of loaded models with random weights (`training/fixtures.py`), and of invalid folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join_all;
use tempfile::TempDir;

use super::tokens::Texts;
use super::{LocalEmbedder, LocalReranker, LocalStance};
use crate::domain::evidence::StanceProbabilities;
use crate::inference::folder::{ModelError, ModelFolder};
use crate::inference::{Embedder, Judgement, Pair, StanceModel};
use crate::judging::profile::{EmbeddingSpace, TextProfile};

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models"))
}

fn fixture(name: &str) -> ModelFolder {
    ModelFolder::read(&fixtures().join(name)).unwrap()
}

/// A copy of a fixture with a changed manifest and no checksums.
fn altered(name: &str, change: impl Fn(&str) -> String) -> (TempDir, ModelFolder) {
    let dir = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(fixtures().join(name).join(file), dir.path().join(file)).unwrap();
    }
    let manifest = std::fs::read_to_string(fixtures().join(name).join("model.toml")).unwrap();
    let plain = manifest.split("[sha256]").next().unwrap();
    write(dir.path(), "model.toml", change(plain).as_bytes());
    let folder = ModelFolder::read(dir.path()).unwrap();
    (dir, folder)
}

fn write(dir: &Path, file: &str, bytes: &[u8]) {
    std::fs::write(dir.join(file), bytes).unwrap();
}

fn pair(claim: &str, passage: &str) -> Pair {
    let profile = |text: &str| Arc::new(TextProfile::new(text, Some("en"), None, &[]));
    Pair { claim: profile(claim), passage: profile(passage) }
}

const TEXTS: [&str; 6] = [
    "The bridge reopened on Monday.",
    "The bridge over the river in Kyiv reopened on Monday, the city council said, after eleven months of repairs that cost \
     more than planned.",
    "No.",
    "12 people died in 2021, 3.5 percent more than the year before",
    "Мост снова открыт.",
    "Shares of the chip maker fell after weak quarterly results, and the board asked its director to resign.",
];

#[tokio::test]
async fn text_has_same_vector_when_its_batch_differs() {
    for name in ["bert-embedding-f32", "bert-embedding-int8"] {
        let together = LocalEmbedder::load(&fixture(name)).unwrap();
        let alone = LocalEmbedder::load(&fixture(name)).unwrap();
        let batch = together.embed(&TEXTS).await.unwrap();
        for (text, vector) in TEXTS.iter().zip(&batch) {
            let single = alone.embed(&[*text]).await.unwrap().pop().unwrap();
            assert_eq!(single.len(), together.dimension());
            let worst = vector.iter().zip(&single).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-5, "{name}: {text} differs by {worst}");
            let length: f32 = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() < 1e-4, "{length}");
        }
        assert_ne!(batch[0], batch[1]);
    }
}

#[tokio::test]
async fn a_pair_is_judged_alike_alone_and_among_others() {
    for name in ["bert-stance-f32", "bert-stance-int8"] {
        let together = LocalStance::load(&fixture(name)).unwrap();
        let alone = LocalStance::load(&fixture(name)).unwrap();
        let pairs: Vec<Pair> = TEXTS.iter().map(|passage| pair("The bridge is open again.", passage)).collect();
        let batch = together.judge(&pairs).await.unwrap();
        for (one, among) in pairs.iter().zip(&batch) {
            let Judgement { probabilities: single, judge } =
                alone.judge(std::slice::from_ref(one)).await.unwrap().pop().unwrap();
            assert_eq!(&*judge, format!("model:{name}"));
            let among = among.probabilities;
            assert!((single.entail - among.entail).abs() < 1e-5 && (single.neutral - among.neutral).abs() < 1e-5);
            assert!((single.entail + single.neutral + single.contradict - 1.0).abs() < 1e-5, "{single:?}");
        }
    }
}

#[tokio::test]
async fn cosine_counts_when_embedder_is_the_fitted_one() {
    // Entailed, neutral, contradicted.
    let more = "[similarity]\nembedder = \"small\"\ntemperature = 2.0\nbias = [0, 0, 0]\nweights = [8, 8, 0]\n";
    let (_dir, folder) = altered("bert-stance-f32", |text| format!("{text}{more}"));
    let load = || LocalStance::load(&folder).unwrap();
    let (alone, other, fitted) = (load(), load().with_cosine_of("large"), load().with_cosine_of("small"));
    let embedded = |text: &str, vector: &[f32], space| {
        Arc::new(TextProfile { text: text.to_owned(), ..TextProfile::default() }.embedded(vector.to_vec(), space))
    };
    let pair = |vector: &[f32], space| Pair {
        claim: embedded(TEXTS[0], &[1.0, 0.0], space),
        passage: embedded(TEXTS[1], vector, space),
    };
    let (words, meaning) = (EmbeddingSpace::Words, EmbeddingSpace::Meaning);
    let pairs = [pair(&[1.0, 0.0], words), pair(&[1.0, 0.0], meaning), pair(&[0.0, 1.0], meaning), pair(&[], meaning)];
    let plain = alone.judge(&pairs).await.unwrap();
    assert!(plain.iter().all(|one| one == &plain[0]), "alone it sees no vectors");
    assert_eq!(other.judge(&pairs).await.unwrap(), plain, "another embedder's cosines mean something else");
    let by = fitted.judge(&pairs).await.unwrap();
    assert_eq!([&by[0], &by[3]], [&plain[0], &plain[3]], "words, and no vector, have no such cosine");
    // One cached answer, calibrated in two ways.
    let odds = |judged: &Judgement| (judged.probabilities.contradict / judged.probabilities.entail).ln();
    assert!((odds(&by[2]) - odds(&plain[2]) / 2.0).abs() < 1e-6, "half as sure: {by:?}");
    assert!((odds(&by[2]) - odds(&by[1]) - 8.0).abs() < 1e-6, "nearness speaks against the third label: {by:?}");
}

#[tokio::test]
async fn two_models_at_work_and_many_callers_come_to_the_same() {
    let embedder = LocalEmbedder::load(&fixture("bert-embedding-f32")).unwrap();
    let stance = LocalStance::load(&fixture("bert-stance-f32")).unwrap();
    let pairs: Vec<Pair> = TEXTS.iter().map(|passage| pair("The bridge is open.", passage)).collect();
    let vectors = join_all((0..8).map(|_| embedder.embed(&TEXTS)));
    let judgements = join_all((0..8).map(|_| stance.judge(&pairs)));
    let (vectors, judgements) = tokio::join!(vectors, judgements);
    let vectors: Vec<_> = vectors.into_iter().map(Result::unwrap).collect();
    let judgements: Vec<_> = judgements.into_iter().map(Result::unwrap).collect();
    assert!(vectors.iter().all(|one| one == &vectors[0]));
    assert!(judgements.iter().all(|one| one == &judgements[0]));
}

#[tokio::test]
async fn models_return_no_direction_and_no_opinion_when_text_has_no_words() {
    let embedder = LocalEmbedder::load(&fixture("bert-embedding-f32")).unwrap();
    let nothing = embedder.embed(&["", "   ", " … !", "𓀀𓀁 𓀂"]).await.unwrap();
    assert!(nothing.iter().flatten().all(|value| *value == 0.0));
    assert!(embedder.embed(&[]).await.unwrap().is_empty());

    let stance = LocalStance::load(&fixture("bert-stance-f32")).unwrap();
    let pairs = [pair("", "The bridge reopened."), pair("The bridge reopened.", ""), pair("𓀀𓀁", "𓀂")];
    let judged = stance.judge(&pairs).await.unwrap();
    assert!(judged.iter().all(|judged| judged.probabilities == StanceProbabilities::NEUTRAL));
}

#[tokio::test]
async fn very_long_texts_are_cut_and_not_refused() {
    let embedder = LocalEmbedder::load(&fixture("bert-embedding-f32")).unwrap();
    let long = "The bridge over the river reopened on Monday. ".repeat(2_500);
    let one_word = "a".repeat(100_000);
    let vectors = embedder.embed(&[&long, &one_word]).await.unwrap();
    assert!(vectors[0].iter().any(|value| *value != 0.0));

    let stance = LocalStance::load(&fixture("bert-stance-f32")).unwrap();
    stance.judge(&[pair(&long, &long), pair("The bridge is open.", &long)]).await.unwrap();
}

#[test]
fn a_pair_is_cut_at_the_passages_end() {
    let (_dir, folder) = altered("bert-stance-f32", |text| text.replace("max_length = 512", "max_length = 20"));
    let texts = Texts::load(&folder).unwrap();
    let whole = |text: &str| texts.single(text).unwrap().unwrap().ids.len() - 2;
    let (short, long) = ("no no no", "it was in the city it was in the city it was in the city it was in the city");
    assert!(whole(short) < 8 && whole(long) > 17);

    // The claim is whole; the passage has the rest.
    let row = texts.pair(short, long, false).unwrap().unwrap();
    assert_eq!(row.ids.len(), 20);
    assert_eq!(row.types.iter().filter(|kind| **kind == 1).count(), whole(short) + 1);
    let row = texts.pair(short, long, true).unwrap().unwrap();
    assert_eq!(row.types.iter().filter(|kind| **kind == 0).count(), whole(short) + 2);

    // A claim may use what a short passage leaves, and half of the length with a long one.
    let row = texts.pair(long, short, false).unwrap().unwrap();
    assert_eq!(row.types.iter().filter(|kind| **kind == 0).count(), whole(short) + 2);
    assert_eq!(row.ids.len(), 20);
    let row = texts.pair(long, long, false).unwrap().unwrap();
    assert_eq!(row.types.iter().filter(|kind| **kind == 1).count(), 17 / 2 + 1);
    assert_eq!(row.ids.len(), 20);
}

fn refused(name: &str, change: impl Fn(&str) -> String) -> ModelError {
    let (_dir, folder) = altered(name, change);
    let error = if name.contains("stance") {
        LocalStance::load(&folder).map(drop)
    } else {
        LocalEmbedder::load(&folder).map(drop)
    };
    error.unwrap_err()
}

/// Encyclopaedias stress the name of an article, and some pages have "й" and "ї" as two code points.
#[test]
fn a_stressed_word_is_to_the_shipped_models_the_word_itself() {
    let bundled = ModelFolder::bundled();
    assert!(!bundled.is_empty());
    for folder in bundled {
        let texts = Texts::load(&folder).unwrap();
        for (stressed, plain) in [
            ("Володи\u{301}мир Зеле\u{301}нський", "Володимир Зеленський"),
            ("Украі\u{308}\u{301}нськии\u{306} прем'є\u{301}р", "Український прем'єр"),
            ("Моско\u{300}вский кремль", "Московский кремль"),
        ] {
            assert_eq!(texts.single(stressed).unwrap(), texts.single(plain).unwrap(), "{stressed}");
            assert_eq!(
                texts.pair(stressed, stressed, true).unwrap(),
                texts.pair(plain, plain, true).unwrap(),
                "{stressed}"
            );
        }
    }
}

#[test]
fn error_names_key_to_change_when_manifest_does_not_fit_graph() {
    let error = refused("bert-embedding-f32", |text| text.replace("dimension = 32", "dimension = 64"));
    assert!(matches!(&error, ModelError::Output { fix, .. } if fix.contains("dimension = 32")), "{error}");
    let labels = "labels = [\"entail\", \"neutral\", \"contradict\"]";
    let two = |text: &str| text.replace(labels, "labels = [\"entail\", \"not_entail\"]");
    let error = refused("bert-stance-f32", two);
    assert!(matches!(&error, ModelError::Output { fix, .. } if fix.contains("3 logits")), "{error}");
    let error = refused("bert-stance-f32", |text| text.replace("max_length = 512", "max_length = 600"));
    assert!(error.to_string().contains("600 tokens") && error.to_string().contains("`max_length`"), "{error}");
}

#[test]
fn a_model_for_something_else_is_refused() {
    let error = LocalStance::load(&fixture("bert-embedding-f32")).unwrap_err();
    assert!(matches!(&error, ModelError::Task { found: "embedding", expected: "stance", .. }), "{error}");
    LocalReranker::load(&fixture("bert-stance-f32")).unwrap_err();
}

#[test]
fn damaged_and_missing_files_are_named() {
    let (dir, folder) = altered("bert-stance-f32", str::to_owned);
    write(dir.path(), "model.onnx", b"no model");
    let error = LocalStance::load(&folder).unwrap_err();
    assert!(matches!(error, ModelError::Graph { .. }), "{error}");

    let whole = std::fs::read(fixtures().join("bert-stance-f32/model.onnx")).unwrap();
    write(dir.path(), "model.onnx", &whole[..whole.len() / 2]);
    let error = LocalStance::load(&folder).unwrap_err();
    assert!(matches!(error, ModelError::Graph { .. }), "{error}");

    write(dir.path(), "tokenizer.json", b"{}");
    let error = LocalStance::load(&folder).unwrap_err();
    assert!(matches!(&error, ModelError::Tokenizer { file, .. } if file == "tokenizer.json"), "{error}");

    std::fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    let error = LocalStance::load(&folder).unwrap_err();
    assert!(matches!(&error, ModelError::File { file, .. } if file == "tokenizer.json"), "{error}");
}

#[test]
fn a_changed_file_is_not_loaded() {
    let (dir, _) = altered("bert-stance-f32", str::to_owned);
    std::fs::copy(fixtures().join("bert-stance-f32/model.toml"), dir.path().join("model.toml")).unwrap();
    std::fs::copy(fixtures().join("bert-stance-int8/model.onnx"), dir.path().join("model.onnx")).unwrap();
    let error = LocalStance::load(&ModelFolder::read(dir.path()).unwrap()).unwrap_err();
    assert!(matches!(&error, ModelError::Checksum { file, .. } if file == "model.onnx"), "{error}");
}

#[test]
fn a_tokenizer_of_another_model_is_found_out() {
    let (dir, folder) = altered("bert-stance-f32", str::to_owned);
    let mut tokenizer: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("tokenizer.json")).unwrap()).unwrap();
    let words = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    for more in 0..500 {
        words.insert(format!("word{more}"), words.len().into());
    }
    write(dir.path(), "tokenizer.json", tokenizer.to_string().as_bytes());
    let error = LocalStance::load(&folder).unwrap_err();
    assert!(matches!(error, ModelError::Vocabulary { .. }), "{error}");
    assert!(error.to_string().contains("one export"), "{error}");
}

#[test]
fn error_names_operator_when_runtime_lacks_it() {
    let error = LocalStance::load(&fixture("unsupported-operator")).unwrap_err();
    let ModelError::Operator { operator, .. } = &error else { panic!("{error}") };
    assert!(!operator.is_empty() && !operator.contains(' '), "{error}");
    assert!(error.to_string().contains("opset"), "{error}");
}
