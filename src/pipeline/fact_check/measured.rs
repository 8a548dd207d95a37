//! Measures review matching by words and by meaning: tweets and the claims that fact-checkers reviewed, with the
//! shipped models.
//! `CORROBORATE_MEASURE_ALL=1 cargo test --release --lib fact_check::measured -- --nocapture` prints the figures in
//! `docs/quality.md`. Without the variable, it uses a sample.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use corroborate_labelled as labelled;
use tokio::time::Instant;

use super::*;
use crate::config::Config;
use crate::domain::evidence::StanceProbabilities;
use crate::language::{sentences, tokens};

/// Reviewed claims per tweet.
const FOUND: usize = 8;

/// One of so many tweets is in the sample, because all take minutes.
const SAMPLE: usize = 20;

#[expect(clippy::disallowed_methods, reason = "a test's own switch, no configuration of the product")]
fn step() -> usize {
    if std::env::var_os("CORROBORATE_MEASURE_ALL").is_some() { 1 } else { SAMPLE }
}

struct Row {
    claim: String,
    reviewed: String,
    is_of_it: bool,
    /// Ids of tweet and review: a tweet matches if one of its sentences does.
    pair: [String; 2],
}

fn column(text: &str) -> HashMap<String, String> {
    let rows = text.lines().skip(1).filter_map(|line| line.split_once('\t'));
    rows.map(|(id, rest)| (id.to_owned(), rest.split('\t').next().unwrap_or_default().replace("\"\"", "\""))).collect()
}

fn without_frame(tweet: &str) -> String {
    let body = tweet.rsplit_once('—').map_or(tweet, |(body, _)| body);
    let words = body.split_whitespace().filter(|word| !word.contains("http") && !word.contains("pic.twitter.com"));
    words.collect::<Vec<_>>().join(" ").trim_matches('"').to_owned()
}

fn rows(part: &str) -> Option<Vec<Row>> {
    let verified = column(&labelled::read("checkthat2020_t2/verified_claims.docs.tsv")?);
    let tweets = column(&labelled::read(&format!("checkthat2020_t2/{part}/tweets.queries.tsv"))?);
    let pairs = labelled::read(&format!("checkthat2020_t2/{part}/tweet-vclaim-pairs.qrels"))?;
    let stems: BTreeMap<&String, HashSet<String>> =
        verified.iter().map(|(id, text)| (id, tokens::content_stems(text, Some("en")).into_iter().collect())).collect();
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for stem in stems.values().flatten() {
        *frequency.entry(stem).or_default() += 1.0;
    }
    let mut rows = Vec::new();
    for line in pairs.lines().step_by(step()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [tweet, _, own, _] = fields.as_slice() else { continue };
        let (Some(text), Some(_)) = (tweets.get(*tweet), verified.get(*own)) else { continue };
        let claim = without_frame(text);
        let own_stems: HashSet<String> = tokens::content_stems(&claim, Some("en")).into_iter().collect();
        let score = |of: &HashSet<String>| -> f64 {
            let shared = of.intersection(&own_stems).filter_map(|stem| frequency.get(stem.as_str()));
            shared.map(|count| (stems.len() as f64 / count).ln()).sum::<f64>() / (of.len() as f64).sqrt().max(1.0)
        };
        let mut found: Vec<(f64, &String)> = stems.iter().map(|(id, of)| (score(of), *id)).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let mut chosen: Vec<&String> = found.into_iter().take(FOUND).map(|(_, id)| id).collect();
        let own = (*own).to_owned();
        if !chosen.contains(&&own) {
            chosen.pop();
            chosen.push(&own);
        }
        // The pipeline compares single claims, so each sentence is one row.
        for sentence in sentences::sentences(&claim) {
            rows.extend(chosen.iter().filter_map(|id| {
                Some(Row {
                    claim: sentence.to_owned(),
                    reviewed: verified.get(*id)?.clone(),
                    is_of_it: **id == own,
                    pair: [(*tweet).to_owned(), (*id).clone()],
                })
            }));
        }
    }
    Some(rows)
}

#[derive(Default)]
struct MatchedPairs<'a>(BTreeMap<&'a [String; 2], bool>);

impl<'a> MatchedPairs<'a> {
    fn note(&mut self, row: &'a Row, relation: Relation) {
        if matches!(relation, Relation::Same | Relation::Opposite) {
            self.0.insert(&row.pair, row.is_of_it);
        }
    }

    fn summary(&self) -> String {
        format!("{} called, {} rightly", self.0.len(), self.right())
    }

    fn right(&self) -> usize {
        self.0.values().filter(|is_of_it| **is_of_it).count()
    }
}

async fn judged(services: &Services, rows: &[Row]) -> Vec<(Pair, Option<BidirectionalStance>)> {
    let journal = Journal::new(Instant::now(), Duration::from_hours(1), services.clock.now());
    let mut judged = Vec::with_capacity(rows.len());
    for some in rows.chunks(64) {
        let texts: Vec<&str> = some.iter().flat_map(|row| [row.claim.as_str(), row.reviewed.as_str()]).collect();
        let mut embeddings = services.embed(&texts, &journal).await.into_iter();
        let mut profile = |text: &str| {
            let embedding = embeddings.next().unwrap_or_default();
            Arc::new(TextProfile::new(text, Some("en"), None, &[]).embedded(embedding.vector, embedding.space))
        };
        let pairs: Vec<Pair> =
            some.iter().map(|row| Pair { claim: profile(&row.claim), passage: profile(&row.reviewed) }).collect();
        let both = both_ways(services, &pairs, &journal).await.unwrap();
        judged.extend(pairs.into_iter().zip(both));
    }
    judged
}

#[tokio::test]
async fn reviews_are_matched_by_meaning_oftener_than_by_words() {
    let services = crate::app::judging(&Config::built_in(), None).await.unwrap();
    for part in ["dev", "test"] {
        let Some(rows) = rows(part) else { return };
        let (mut words, mut meaning) = (MatchedPairs::default(), MatchedPairs::default());
        let mut thresholds: BTreeMap<u32, [MatchedPairs<'_>; 2]> = BTreeMap::new();
        for (row, (pair, both)) in rows.iter().zip(judged(&services, &rows).await) {
            let (ours, theirs) = (by_words_alone(&pair.claim), by_words_alone(&pair.passage));
            let by_words = fact_checks::relation(&ours, &theirs).0;
            words.note(row, by_words);
            let by_meaning = both.map_or(by_words, |both| fact_checks::relation_by_meaning(&ours, &theirs, &both).0);
            meaning.note(row, by_meaning);
            let weaker = both.map_or(0.0, |both| both.ours.entail.min(both.theirs.entail));
            for percent in [50, 60, 70, 80, 90] {
                let [alone, with_rules] = thresholds.entry(percent).or_default();
                if weaker >= f64::from(percent) / 100.0 {
                    alone.note(row, Relation::Same);
                    let certain = both.map(|both| {
                        let sure = |one: StanceProbabilities| StanceProbabilities { entail: 1.0, ..one };
                        BidirectionalStance { ours: sure(both.ours), theirs: sure(both.theirs) }
                    });
                    let held =
                        certain.map_or(by_words, |both| fact_checks::relation_by_meaning(&ours, &theirs, &both).0);
                    with_rules.note(row, held);
                }
            }
        }
        let pairs: HashSet<&[String; 2]> = rows.iter().map(|row| &row.pair).collect();
        let own = rows.iter().filter(|row| row.is_of_it).map(|row| &row.pair).collect::<HashSet<_>>().len();
        println!("{part}: {own} reviewed claims among {} pairs", pairs.len());
        println!("  by words: {}; by meaning: {}", words.summary(), meaning.summary());
        for (percent, [alone, with_rules]) in &thresholds {
            println!(
                "  both ways from 0.{percent}: model alone {}; with names and figures {}",
                alone.summary(),
                with_rules.summary()
            );
        }
        assert!(meaning.right() >= words.right(), "{part}");
    }
}
