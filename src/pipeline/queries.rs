//! Query building: two to four short queries a claim, the most distinct ones.

use super::claims::Claim;
use super::normalise::Normal;
use crate::domain::Item;
use crate::language::entities::EntityKind;
use crate::language::{keywords, sentences, tokens};
use crate::providers::Query;

/// Search engines cut or reject longer queries; this is the shortest documented limit (Brave's 400) halved for safety.
const MAX_QUERY_CHARS: usize = 200;

/// Two queries that share more than this part of their words would bring the same pages.
const MAX_OVERLAP: f64 = 0.8;

/// The queries for one claim, the claim itself first.
pub(crate) fn queries(claim: &Claim, normal: &Normal, item: &Item, most: usize, limit: usize) -> Vec<Query> {
    let language = normal.language.as_deref();
    let terms = terms(claim, language);
    let mut texts: Vec<String> = vec![claim.text.clone()];
    let entities = &claim.profile.entities;
    let primary = entities.first().map(|entity| entity.text.as_str());
    let words: Vec<String> = keywords::keywords(&claim.text, language, 6);
    if let Some(primary) = primary {
        // Entity, verb and object: the claim's own content words, in order, without the rest.
        let content: Vec<String> = tokens::tokens(&claim.text, language)
            .into_iter()
            .filter(|token| !token.stop)
            .map(|token| token.text)
            .take(8)
            .collect();
        texts.push(content.join(" "));
        let place = entities
            .iter()
            .skip(1)
            .find(|entity| entity.kind == EntityKind::Loc)
            .or_else(|| entities.get(1))
            .map(|entity| entity.text.as_str());
        let date = claim.profile.dates.first().map(|mention| mention.text.as_str());
        if place.is_some() || date.is_some() {
            texts.push([Some(primary), place, date].into_iter().flatten().collect::<Vec<_>>().join(" "));
        }
        let topic: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !primary.contains(*word)).take(2).collect();
        if let Some((topic, rest)) = topic.split_first() {
            texts.push([*topic, primary].into_iter().chain(rest.iter().copied()).collect::<Vec<_>>().join(" "));
        }
    } else {
        // Too informal for names: the strongest words, and the channel that said them.
        let mut fallback = words.join(" ");
        if let Some(channel) = &item.channel {
            fallback.push(' ');
            fallback.push_str(channel.trim_start_matches('@'));
        }
        texts.push(fallback);
    }
    // Upstream's own summary says in other words what the item is about.
    if let Some(first) = item.summary.as_deref().and_then(|summary| sentences::sentences(summary).into_iter().next()) {
        texts.insert(1, first.to_owned());
    }
    distinct(texts, most)
        .into_iter()
        .map(|text| Query {
            text,
            terms: terms.clone(),
            language: (!normal.mixed).then(|| normal.language.clone()).flatten(),
            domains: Vec::new(),
            around: claim.date,
            limit,
            source_document: item.source_document.clone(),
        })
        .collect()
}

/// Names first, then what the claim is about, then its numbers: for providers that cannot take a sentence.
fn terms(claim: &Claim, language: Option<&str>) -> Vec<String> {
    let mut terms: Vec<String> = claim.profile.entities.iter().map(|entity| entity.text.clone()).collect();
    for word in keywords::keywords(&claim.text, language, 6) {
        if !terms.iter().any(|term| term.to_lowercase().contains(&word.to_lowercase())) {
            terms.push(word);
        }
    }
    terms
}

/// Keeps the first and those that differ enough from all kept before.
fn distinct(texts: Vec<String>, most: usize) -> Vec<String> {
    let mut kept: Vec<(String, Vec<String>)> = Vec::new();
    for text in texts {
        let text: String =
            text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_QUERY_CHARS).collect();
        let mut words: Vec<String> = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        words.sort();
        words.dedup();
        if words.is_empty() || kept.len() >= most {
            continue;
        }
        let repeats = kept.iter().any(|(_, known)| {
            let shared = words.iter().filter(|word| known.contains(word)).count();
            shared as f64 / words.len().max(known.len()) as f64 > MAX_OVERLAP
        });
        if !repeats {
            kept.push((text, words));
        }
    }
    kept.into_iter().map(|(text, _)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_dropped_and_the_first_is_kept() {
        let texts = vec![
            "Kyiv opened a bridge".into(),
            "a bridge opened Kyiv".into(),
            "Kyiv bridge 2024".into(),
            String::new(),
        ];
        assert_eq!(distinct(texts, 4), ["Kyiv opened a bridge", "Kyiv bridge 2024"]);
    }

    #[test]
    fn at_most_as_many_as_wanted_and_none_too_long() {
        let texts = (0..6).map(|n| format!("word{n} {}", "x".repeat(300))).collect();
        let kept = distinct(texts, 3);
        assert_eq!(kept.len(), 3);
        assert!(kept.iter().all(|text| text.chars().count() <= MAX_QUERY_CHARS));
    }
}
