//! What the shipped models say of pairs that people labelled: samples that ship, so that every run measures them.
//! The floors are well under what is reached (`docs/quality.md`): they catch a broken model, not a changed one.
#![cfg(test)]

use std::path::Path;
use std::sync::Arc;

use corroborate::domain::evidence::StanceProbabilities;
use corroborate::inference::languages::ModelLanguages;
use corroborate::inference::local::{LocalEmbedder, LocalStance};
use corroborate::inference::routed::{RoutedEmbedder, RoutedStance};
use corroborate::inference::rules::RuleStance;
use corroborate::inference::{Embedder as _, ModelFolder, Pair, StanceModel as _};
use corroborate::judging::numbers;
use corroborate::judging::profile::TextProfile;
use corroborate::language::detect;
use serde_json::Value;

const EMBEDDER: &str = "minilm-en-ru-uk-int8";

/// A pair with people's label.
struct Labelled {
    pair: Pair,
    label: String,
}

/// The folder of a model that ships.
fn shipped(name: &str) -> ModelFolder {
    ModelFolder::bundled().into_iter().find(|folder| folder.manifest.name == name).unwrap()
}

/// The rows of a file, their texts embedded as the daemon embeds them.
async fn rows(name: &str) -> Vec<Labelled> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let folder = shipped(EMBEDDER);
    let model = Arc::new(LocalEmbedder::load(&folder).unwrap());
    let embedder = RoutedEmbedder::new(model, ModelLanguages::new(&folder.manifest.languages));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut rows = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| row[name].as_str().unwrap().to_owned();
        let texts = [field("claim"), field("evidence")];
        let vectors = embedder.embed(&[&texts[0], &texts[1]]).await.unwrap();
        let mut profiles = texts.iter().zip(vectors).map(|(text, vector)| {
            let language = detect::detect(text).language;
            let profile = TextProfile::new(text, language.as_deref(), None, &[]);
            Arc::new(profile.embedded(vector, embedder.space(text)))
        });
        let pair = Pair { claim: profiles.next().unwrap(), passage: profiles.next().unwrap() };
        rows.push(Labelled { pair, label: field("label") });
    }
    rows
}

/// As the daemon judges: the shipped model with the rules beside it, then figures and dates.
async fn judged(rows: &[Labelled]) -> Vec<StanceProbabilities> {
    let folder = &shipped("mpnet-stance-en-ru-uk-int8");
    let model = Arc::new(LocalStance::load(folder).unwrap().beside(EMBEDDER));
    let languages = ModelLanguages::new(&folder.manifest.languages);
    let judge = RoutedStance::new(model, languages, RuleStance { min_agreement: 0.65 });
    let pairs: Vec<Pair> = rows.iter().map(|row| row.pair.clone()).collect();
    let said = judge.judge(&pairs).await.unwrap();
    let figures = |pair: &Pair| numbers::compare(&pair.claim, &pair.passage);
    pairs.iter().zip(said).map(|(pair, said)| numbers::apply(said.probabilities, &figures(pair))).collect()
}

fn likeliest(p: &StanceProbabilities) -> &'static str {
    if p.entail >= p.neutral.max(p.contradict) {
        "entail"
    } else if p.contradict > p.neutral {
        "contradict"
    } else {
        "neutral"
    }
}

/// Mean F1 of these labels. In sets that ask only whether it follows, what is not `entail` is `not_entail`.
fn macro_f1(rows: &[Labelled], said: &[StanceProbabilities], labels: [&str; 2]) -> f64 {
    let called = |p: &StanceProbabilities| match likeliest(p) {
        "neutral" | "contradict" if labels.contains(&"not_entail") => "not_entail",
        label => label,
    };
    let one = |label: &str| {
        let both = rows.iter().zip(said).filter(|(row, p)| row.label == label && called(p) == label).count();
        let gold = rows.iter().filter(|row| row.label == label).count();
        let own = said.iter().filter(|p| called(p) == label).count();
        2.0 * both as f64 / (gold + own) as f64
    };
    labels.map(one).iter().sum::<f64>() / labels.len() as f64
}

#[tokio::test]
async fn the_shipped_models_judge_as_people_do() {
    let sets = [
        ("fm2/pairs.jsonl", ["entail", "contradict"], 0.55),
        // Does a page of the web bear out a sentence of Wikipedia?
        ("wice/pairs_oracle.jsonl", ["entail", "not_entail"], 0.55),
        ("terra_ru/pairs.jsonl", ["entail", "not_entail"], 0.52),
    ];
    for (name, labels, floor) in sets {
        let rows = rows(name).await;
        let score = macro_f1(&rows, &judged(&rows).await, labels);
        println!("{name}: {} pairs, macro-F1 {score:.3}", rows.len());
        assert!(score > floor, "{name}: {score:.3}");
    }
}
