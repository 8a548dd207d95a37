//! Measures the effect of Russian and Ukrainian inflection on the retrieval of a claim's passage by words.

use crate::relevance::lexical_relevance;
use corroborate_labelled as labelled;
use corroborate_language::detect;
use corroborate_language::hashed::HashedEmbedder;

use super::agreement;
use super::profile::TextProfile;
use crate::coverage::coverage;

struct Pair {
    claim: TextProfile,
    passage: TextProfile,
    label: String,
}

fn profile(text: &str, language: &str) -> TextProfile {
    let embedding = HashedEmbedder::default().embed_one(text);
    TextProfile::new(text, Some(language), None, &[]).with_embedding(embedding)
}

fn rows(file: &str) -> Vec<serde_json::Value> {
    let text = labelled::read(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn labelled(file: &str) -> Vec<Pair> {
    let all = rows(file);
    let field = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    all.iter()
        .map(|row| Pair {
            claim: profile(&field(row, "claim"), "ru"),
            passage: profile(&field(row, "evidence"), "ru"),
            label: field(row, "label"),
        })
        .collect()
}

/// Claims with their passages, in the claim's language.
fn news(language: &str) -> Vec<Pair> {
    let all = rows(&format!("news_claims/{language}.jsonl"));
    let mut pairs = Vec::new();
    for row in &all {
        let claim = row["claim"].as_str().unwrap_or_default();
        for passage in row["evidence"].as_array().into_iter().flatten() {
            let text = passage["text"].as_str().unwrap_or_default();
            if detect::detect(text).language.as_deref() == Some(language) {
                let label = row["label"].as_str().unwrap_or_default().to_owned();
                pairs.push(Pair { claim: profile(claim, language), passage: profile(text, language), label });
            }
        }
    }
    pairs
}

/// How often an entailing pair shares more words than another.
fn auc(pairs: &[Pair]) -> f64 {
    let of = |entails: bool| -> Vec<f64> {
        let chosen = pairs.iter().filter(|pair| (pair.label == "entail") == entails);
        chosen.map(|pair| coverage(&pair.claim, &pair.passage)).collect()
    };
    let (entailing, others) = (of(true), of(false));
    let won: f64 = entailing
        .iter()
        .flat_map(|own| others.iter().map(move |other| f64::from(own.total_cmp(other) as i8 + 1) / 2.0))
        .sum();
    won / (entailing.len() * others.len()).max(1) as f64
}

/// Mean reciprocal rank of the claim's passage among others; ties count against it.
fn reciprocal_rank(pairs: &[Pair], score: impl Fn(&TextProfile, &TextProfile) -> f64) -> f64 {
    let step = pairs.len().div_ceil(200).max(1);
    let some: Vec<&Pair> = pairs.iter().step_by(step).collect();
    let rank = |own: &Pair| {
        let mine = score(&own.claim, &own.passage);
        let strangers = some.iter().filter(|other| other.claim.text != own.claim.text);
        1 + strangers.filter(|other| score(&own.claim, &other.passage) >= mine).count()
    };
    some.iter().map(|own| 1.0 / rank(own) as f64).sum::<f64>() / some.len().max(1) as f64
}

#[test]
fn claims_find_their_passages_in_russian_and_ukrainian() {
    for (name, pairs) in [
        ("terra_ru", labelled("terra_ru/pairs.jsonl")),
        ("rcb_ru", labelled("rcb_ru/norm_pairs.jsonl")),
        ("lidirus", labelled("lidirus/norm_pairs.jsonl")),
        ("news ru", news("ru")),
        ("news uk", news("uk")),
    ] {
        if pairs.is_empty() {
            continue;
        }
        let words = reciprocal_rank(&pairs, coverage);
        println!(
            "{name}: {} pairs; AUC of shared words {:.4}; own passage \
             by words {words:.4}, by relevance {:.4}, by hashed cosine {:.4}",
            pairs.len(),
            auc(&pairs),
            reciprocal_rank(&pairs, lexical_relevance),
            reciprocal_rank(&pairs, agreement::cosine),
        );
        assert!(words > 0.5, "{name}: {words:.3}");
    }
}
