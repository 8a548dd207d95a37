//! Measures the rules on labelled sets, if these are present. The limits are low and only guard the direction; nothing
//! was tuned on these sets.

use std::sync::Arc;

use crate::relevance::lexical_relevance;
use corroborate_domain::verdict::Relation;
use corroborate_language::hashed::HashedEmbedder;
use corroborate_language::{detect, sentences};

use super::agreement;
use super::fact_checks::relation;
use super::profile::TextProfile;
use super::stance::rule_stance;
use corroborate_labelled as labelled;

/// Every n-th pair is judged, for speed in unoptimised builds.
const MOST_PAIRS: usize = 400;

#[derive(Debug, Default)]
struct Counts {
    pairs: usize,
    entailing: usize,
    contradicting: usize,
    /// Called supporting; of those, labelled so.
    supported: usize,
    supported_rightly: usize,
    supported_against: usize,
    refuted: usize,
    refuted_rightly: usize,
    refuted_against: usize,
    /// Labelled entailing among pairs that share three of five words, as a baseline.
    overlapping: usize,
    overlapping_rightly: usize,
    /// Called a differing figure; of those, labelled contradicting.
    differing: usize,
    differing_rightly: usize,
}

fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.entailing += other.entailing;
        self.contradicting += other.contradicting;
        self.supported += other.supported;
        self.supported_rightly += other.supported_rightly;
        self.supported_against += other.supported_against;
        self.refuted += other.refuted;
        self.refuted_rightly += other.refuted_rightly;
        self.refuted_against += other.refuted_against;
        self.overlapping += other.overlapping;
        self.overlapping_rightly += other.overlapping_rightly;
        self.differing += other.differing;
        self.differing_rightly += other.differing_rightly;
    }

    fn print(&self, set: &str) {
        println!(
            "{set}: {} pairs; e>=0.6 {} times, precision {:.3} (opposite {:.3}), recall {:.3}; c>=0.6 {} times, precision \
             {:.3} (opposite {:.3}), recall {:.3}; figures differ {} times, precision {:.3}; word overlap precision {:.3}; base rate {:.3} entail, {:.3} contradict",
            self.pairs,
            self.supported,
            share(self.supported_rightly, self.supported),
            share(self.supported_against, self.supported),
            share(self.supported_rightly, self.entailing),
            self.refuted,
            share(self.refuted_rightly, self.refuted),
            share(self.refuted_against, self.refuted),
            share(self.refuted_rightly, self.contradicting),
            self.differing,
            share(self.differing_rightly, self.differing),
            share(self.overlapping_rightly, self.overlapping),
            share(self.entailing, self.pairs),
            share(self.contradicting, self.pairs),
        );
    }
}

fn measure(set: &str) -> Option<Counts> {
    let text = labelled::read(&format!("{set}/pairs.jsonl"))?;
    let rows: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let embedder = HashedEmbedder::default();
    let mut counts = Counts::default();
    let step = rows.len().div_ceil(MOST_PAIRS).max(1);
    for row in rows.iter().step_by(step) {
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        let (claim_text, evidence, label) = (field("claim"), field("evidence"), field("label"));
        let language = detect::detect(claim_text).language;
        let profile = |text: &str| {
            TextProfile::new(text, language.as_deref(), None, &[]).with_embedding(embedder.embed_one(text))
        };
        let (claim, passage) = (profile(claim_text), profile(evidence));
        let p = rule_stance(&claim, &passage, 0.65);
        let (entails, contradicts) = (label == "entail", matches!(label, "contradict" | "not_entail"));
        counts.pairs += 1;
        counts.entailing += usize::from(entails);
        counts.contradicting += usize::from(contradicts);
        if p.entail >= 0.6 && p.contradict < 0.5 {
            counts.supported += 1;
            counts.supported_rightly += usize::from(entails);
            counts.supported_against += usize::from(contradicts);
        }
        if p.contradict >= 0.6 {
            counts.refuted += 1;
            counts.refuted_rightly += usize::from(contradicts);
            counts.refuted_against += usize::from(entails);
        }
        if super::numbers::compare(&claim, &passage).num_ok == Some(false) {
            counts.differing += 1;
            counts.differing_rightly += usize::from(contradicts);
        }
        if crate::coverage::coverage(&claim, &passage) >= 0.6 {
            counts.overlapping += 1;
            counts.overlapping_rightly += usize::from(entails);
        }
    }
    counts.print(set);
    Some(counts)
}

#[test]
fn calls_by_rule_are_surer_than_word_overlap_and_seldom_upside_down() {
    let mut all = Counts::default();
    for set in ["fm2", "scifact_rte", "healthver", "climate_fever", "terra_ru"] {
        let Some(counts) = measure(set) else { continue };
        all.add(&counts);
    }
    all.print("all");
    let supported = share(all.supported_rightly, all.supported);
    assert!(supported > share(all.overlapping_rightly, all.overlapping), "no surer than word overlap: {supported:.3}");
    assert!(share(all.refuted_rightly, all.refuted) >= 0.6);
    // Catches a change that makes the rules take a side too often.
    assert!(all.supported + all.refuted < all.pairs / 5);
}

/// On entailing pairs with a figure the rule must not disagree.
#[test]
fn figures_of_a_claim_that_is_borne_out_do_not_disagree() {
    let (mut pairs, mut agree, mut wrong) = (0, 0, Vec::new());
    for set in ["fm2", "scifact_rte", "healthver", "climate_fever", "covid_fact", "terra_ru"] {
        let Some(text) = labelled::read(&format!("{set}/pairs.jsonl")) else { continue };
        for row in text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
            let field = |name: &str| row[name].as_str().unwrap_or_default();
            let (claim, evidence) = (field("claim"), field("evidence"));
            if field("label") != "entail" || !claim.contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let language = detect::detect(claim).language;
            let profile = |text: &str| TextProfile::new(text, language.as_deref(), None, &[]);
            let (ours, theirs) = (profile(claim), profile(evidence));
            let check = super::numbers::compare(&ours, &theirs);
            pairs += 1;
            agree += usize::from(check.num_ok == Some(true));
            if check.num_ok == Some(false) {
                wrong.push(format!("{set}: {claim}\n      {evidence}\n      {:?}", check.mismatch));
            }
        }
    }
    println!("figures of {pairs} true pairs: {agree} agree, {} disagree\n    {}", wrong.len(), wrong.join("\n    "));
    assert!(wrong.len() * 100 <= pairs, "{} of {pairs}", wrong.len());
}

/// On Wikipedia pairs with a digit, differing figures must be labelled refuted.
#[test]
fn figures_that_differ_are_of_claims_that_people_refute() {
    let (mut pairs, mut refuted, mut differ, mut wrong) = (0, 0, 0, Vec::new());
    for source in ["fever", "fever_symmetric_dev", "feverous_dev", "exfever", "vitaminc_sample"] {
        let Some(text) = labelled::read(&format!("nli_train/{source}.jsonl")) else { continue };
        for row in text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
            let field = |name: &str| row[name].as_str().unwrap_or_default();
            let (claim, evidence) = (field("hypothesis"), field("premise"));
            if !claim.contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
            let check = super::numbers::compare(&profile(claim), &profile(evidence));
            pairs += 1;
            refuted += usize::from(field("label") == "contradict");
            differ += usize::from(check.num_ok == Some(false));
            if check.num_ok == Some(false) && field("label") != "contradict" {
                wrong.push(format!("{source}: {claim}\n      {evidence}\n      {:?}", check.mismatch));
            }
        }
    }
    println!(
        "figures of {pairs} pairs, {refuted} refuted: {differ} differ, {} of them not refuted\n    {}",
        wrong.len(),
        wrong.join("\n    ")
    );
    assert!(pairs == 0 || differ >= 120, "only {differ}");
    assert!(wrong.len() * 20 <= differ, "{} of {differ}", wrong.len());
}

#[test]
fn the_floor_parts_passages_on_the_subject_from_others() {
    let Some(text) = labelled::read("fm2/pairs.jsonl") else { return };
    let embedder = HashedEmbedder::default();
    let profile =
        |text: &str| Arc::new(TextProfile::new(text, Some("en"), None, &[]).with_embedding(embedder.embed_one(text)));
    let pairs: Vec<(Arc<TextProfile>, Arc<TextProfile>)> = text
        .lines()
        .step_by(4)
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|row| {
            let field = |name: &str| profile(row[name].as_str().unwrap_or_default());
            (field("claim"), field("evidence"))
        })
        .collect();
    let above = |shift: usize| {
        let passages = pairs.iter().cycle().skip(shift).map(|(_, passage)| passage);
        let found = pairs.iter().zip(passages).filter(|((claim, _), passage)| lexical_relevance(claim, passage) >= 0.3);
        share(found.count(), pairs.len())
    };
    let (own, other) = (above(0), above(37));
    println!("relevance at the floor of 0.30: {own:.3} of {} own passages, {other:.3} of others'", pairs.len());
    assert!(own >= 0.6 && other <= 0.05, "{own:.3} {other:.3}");
}

#[test]
fn reviews_of_other_claims_are_not_taken_for_ours() {
    let (Some(reviewed), Some(tweets), Some(links)) = (
        labelled::read("checkthat2020_t2/verified_claims.docs.tsv"),
        labelled::read("checkthat2020_t2/dev/tweets.queries.tsv"),
        labelled::read("checkthat2020_t2/dev/tweet-vclaim-pairs.qrels"),
    ) else {
        return;
    };
    let row = |line: &str| -> Option<(String, String)> {
        let mut fields = line.split('\t');
        Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
    };
    let links: Vec<(String, String)> = links
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            Some(((*fields.first()?).to_owned(), (*fields.get(2)?).to_owned()))
        })
        .collect();
    let wanted = |id: &str| links.iter().any(|(_, claim)| claim == id);
    let embedder = HashedEmbedder::default();
    let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]).with_embedding(embedder.embed_one(text));
    // Every reviewed claim that answers a tweet, and a sample of the rest.
    let claims: Vec<(String, TextProfile)> = reviewed
        .lines()
        .skip(1)
        .enumerate()
        .filter_map(|(n, line)| row(line).filter(|(id, _)| n % 80 == 0 || wanted(id)))
        .map(|(id, text)| (id, profile(&text)))
        .collect();
    let (mut own_same, mut own_related, mut own, mut others_same, mut others) = (0, 0, 0, 0, 0);
    for (tweet, text) in tweets.lines().skip(1).filter_map(row) {
        // One claim per sentence, as in the pipeline.
        let ours: Vec<TextProfile> = sentences::sentences(&text).into_iter().map(profile).collect();
        for (id, claim) in &claims {
            let mine = links.contains(&(tweet.clone(), id.clone()));
            let near = ours.iter().filter(|sentence| mine || agreement::cosine(sentence, claim) >= 0.35);
            let relations: Vec<Relation> = near.map(|sentence| relation(sentence, claim).0).collect();
            let is_same = relations.iter().any(|found| matches!(found, Relation::Same | Relation::Opposite));
            if mine {
                own += 1;
                own_same += usize::from(is_same);
                own_related += usize::from(!is_same && relations.contains(&Relation::Related));
            } else {
                others += relations.len();
                others_same += usize::from(is_same);
                if is_same {
                    println!("  tweet {tweet} was taken for claim {id}");
                }
            }
        }
    }
    println!(
        "tweets and their reviewed claims: {own_same} same and {own_related} related of {own}; near strangers: \
         {others_same} same of {others}"
    );
    assert!(others_same * 20 <= others, "strangers are taken for the same claim");
}
