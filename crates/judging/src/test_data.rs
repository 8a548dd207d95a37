//! Measures the rules on labelled sets, if these are present. The limits are low and only guard the direction; nothing
//! was tuned on these sets.

use std::sync::Arc;

use crate::coverage::lexical_relevance;
use corroborate_domain::verdict::Relation;
use corroborate_language::hashed::HashedEmbedder;
use corroborate_language::{detect, sentences};

use super::agreement;
use super::fact_checks::relation;
use super::profile::TextProfile;
use corroborate_labelled as labelled;

fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

/// On entailing pairs with a figure the rule must not disagree.
#[test]
fn figures_do_not_disagree_when_the_claim_is_supported() {
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
    let is_linked = |id: &str| links.iter().any(|(_, claim)| claim == id);
    let embedder = HashedEmbedder::default();
    let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]).with_embedding(embedder.embed_one(text));
    // Every reviewed claim that answers a tweet, and a sample of the rest.
    let claims: Vec<(String, TextProfile)> = reviewed
        .lines()
        .skip(1)
        .enumerate()
        .filter_map(|(n, line)| row(line).filter(|(id, _)| n % 80 == 0 || is_linked(id)))
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
