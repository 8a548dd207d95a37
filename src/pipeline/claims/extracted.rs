//! Takes claims from a language model or a custom extractor instead of the rules.
//!
//! A claim that its text does not support is discarded, by rule and by the NLI model, so that nothing is invented.
//! A text cannot prevent its own check: plainly factual statements are looked up, whatever the model calls them.
//! If the model fails or no claim of it remains, the claims by rule are used.

use std::collections::HashSet;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use tokio::time::Instant;

use super::found::ItemStatement;
use crate::domain::Item;
use crate::domain::item::{ItemSourceKind, TypedText};
use crate::domain::verdict::ClaimKind;
use crate::inference::llm::Purpose;
use crate::inference::llm::claims::ModelExtractor;
use crate::inference::llm::fence::visible;
use crate::inference::rules::RULES;
use crate::inference::steps::{ClaimExtractor, ExtractedClaim, Extraction, TextData};
use crate::inference::{Judgement, Pair};
use crate::judging::grounding::{self, Grounding};
use crate::judging::profile::TextProfile;
use crate::language::entities::entities;
use crate::language::entities::kind::EntityKind;
use crate::language::statements::{self, Statement};
use crate::language::{detect, numbers, tokens, verbs};
use crate::pipeline::language_model::{discarded, failed};
use crate::pipeline::normalise::NormalisedItem;
use crate::pipeline::run_context::Journal;
use crate::pipeline::services::{PipelineError, Services};
use crate::pipeline::steps::in_time;

/// Compared characters: slightly more than the model receives.
const TEXT_CHARS: usize = 10_000;
/// Passages that the NLI model reads per claim.
const PASSAGES: usize = 2;
/// Minimum entailment of a paraphrased claim. The shipped model gives the paraphrases in the labelled cases of
/// `judging::grounding` 0.24 or more; this limit classifies all cases correctly.
const LEAST_ENTAILMENT: f64 = 0.2;
/// Probability from which the text contradicts the claim, unless it entails it more.
const CONTRADICTS: f64 = 0.5;
/// Check-worthiness factor of opinions and ambiguous claims, as by rule.
const OPINION_SHARE: f64 = 0.2;
/// Default check-worthiness.
const USUAL_WORTH: f64 = 0.5;

/// Returns each text's claims: the model's if supported, otherwise those by rule.
pub(super) async fn instead(
    services: &Services,
    item: &Item,
    normal: &NormalisedItem,
    texts: Vec<(TypedText<'_>, Option<String>, Vec<ItemStatement>)>,
    journal: &Journal,
) -> Result<Vec<Vec<ItemStatement>>, PipelineError> {
    let model = services.language_model_for(Purpose::Claims);
    let by_model = model.map(|model| ModelExtractor { model, spend: &journal.llm });
    let by_model = by_model.as_ref().map(|extractor| extractor as &dyn ClaimExtractor);
    let Some(extractor) = services.steps.claims.as_deref().or(by_model) else {
        return Ok(texts.into_iter().map(|(.., by_rule)| by_rule).collect());
    };
    let mut asking: Vec<BoxFuture<'_, Result<Vec<ItemStatement>, PipelineError>>> = Vec::with_capacity(texts.len());
    for (typed, language, by_rule) in texts {
        let title = item.title.as_deref().filter(|_| typed.position == 0);
        let source = Source { typed, title, language };
        asking.push(async move { source.claims(services, extractor, normal, by_rule, journal).await }.boxed());
    }
    join_all(asking).await.into_iter().collect()
}

struct Source<'a> {
    typed: TypedText<'a>,
    title: Option<&'a str>,
    language: Option<String>,
}

impl Source<'_> {
    async fn claims(
        &self,
        services: &Services,
        extractor: &dyn ClaimExtractor,
        normal: &NormalisedItem,
        by_rule: Vec<ItemStatement>,
        journal: &Journal,
    ) -> Result<Vec<ItemStatement>, PipelineError> {
        let most = services.settings.claims_per_item;
        let data = TextData {
            kind: self.typed.kind,
            text: self.typed.text,
            title: self.title,
            written: normal.reference.date_naive(),
            language: detect::english_name(self.language.as_deref()),
            most,
        };
        // The rest is for the search.
        let now = Instant::now();
        let until = now + journal.ask_until.saturating_duration_since(now) / 2;
        let Extraction { kind, mut claims } = match in_time(until, extractor.extract(&data, until)).await {
            Ok(Some(extracted)) => extracted,
            Ok(None) => return Ok(by_rule),
            Err(error) => {
                failed(extractor.name(), "claims", &error, journal);
                return Ok(by_rule);
            }
        };
        claims.retain(|claim| claim.text.chars().any(char::is_alphabetic));
        claims.truncate(most);
        let count = claims.len();
        let supported = self.keep_supported(services, normal, claims, journal).await?;
        let kind_name = kind.map_or("of no kind", ClaimKind::as_str);
        let position = self.typed.position;
        journal.trace(format!(
            "claims: {} of {count} by {} stand for text {position}, which it calls {kind_name}",
            supported.len(),
            extractor.name(),
        ));
        if supported.is_empty() && !kind.is_some_and(is_no_fact) {
            if !by_rule.is_empty() {
                journal.trace(format!("claims: the rules' stand for text {position}"));
            }
            return Ok(by_rule);
        }
        Ok(self.of_kind(kind, supported, by_rule))
    }

    /// Keeps the claims that the text supports.
    async fn keep_supported(
        &self,
        services: &Services,
        normal: &NormalisedItem,
        claims: Vec<ExtractedClaim>,
        journal: &Journal,
    ) -> Result<Vec<ExtractedClaim>, PipelineError> {
        let whole = self.title.map_or_else(
            || visible(self.typed.text, TEXT_CHARS),
            |title| format!("{}.\n{}", title.trim_end_matches('.'), visible(self.typed.text, TEXT_CHARS)),
        );
        let (language, reference) = (self.language.clone(), Some(normal.reference));
        let ground = move || {
            let profile = |text: &str| TextProfile::new(text, language.as_deref(), reference, &[]);
            let text = profile(&whole);
            let grounded = claims.into_iter().map(|claim| {
                let own = profile(&claim.text);
                let grounded = grounding::ground(&own, &text);
                (claim, own, grounded)
            });
            (grounded.collect::<Vec<_>>(), text)
        };
        let (claims, text) = services.on_thread(ground).await?;
        let mut supported = Vec::with_capacity(claims.len());
        for (claim, own, grounded) in claims {
            let objection = match grounded {
                Err(why) => Some(why.to_string()),
                Ok(grounded) => {
                    let judged =
                        if grounded.verbatim { Vec::new() } else { stances(services, own, &text, journal).await? };
                    objection(grounded, &judged)
                }
            };
            match objection {
                None => supported.push(claim),
                Some(why) => {
                    discarded(Purpose::Claims, format!("{:?}: {why}", short(&claim.text)), journal);
                }
            }
        }
        Ok(supported)
    }

    /// Assigns kinds, and adds plain facts by rule that no claim covers, so that no label and no harmless claim
    /// prevents a check.
    fn of_kind(
        &self,
        kind: Option<ClaimKind>,
        supported: Vec<ExtractedClaim>,
        by_rule: Vec<ItemStatement>,
    ) -> Vec<ItemStatement> {
        let language = self.language.as_deref();
        let no_fact = kind.filter(|kind| is_no_fact(*kind));
        let covered: Vec<StatementTerms> =
            supported.iter().map(|claim| StatementTerms::of(&claim.text, language)).collect();
        let mut found: Vec<ItemStatement> = supported.into_iter().map(|claim| self.found(claim, no_fact)).collect();
        let nothing_else = found.is_empty();
        for mut one in by_rule {
            let own = StatementTerms::of(one.statement.own(), language);
            let is_covered = covered.iter().any(|other| own.is_within(other));
            if is_covered {
                continue;
            }
            // A linked page is long and the item does not state all of it.
            let is_wanted = no_fact.is_some() || self.typed.kind == ItemSourceKind::OriginalText;
            if is_wanted && is_plainly_factual(&one.statement, language) {
                found.push(one);
            } else if let Some(kind) = no_fact.filter(|_| nothing_else) {
                if !is_no_fact(one.statement.kind) {
                    one.statement.kind = kind;
                    one.statement.check_worthiness *= OPINION_SHARE;
                }
                found.push(one);
            }
        }
        found
    }

    fn found(&self, claim: ExtractedClaim, of_text: Option<ClaimKind>) -> ItemStatement {
        let language = self.language.as_deref();
        let by_rule = statements::statements(&claim.text, None, language, 1).into_iter().next();
        let called = of_text.unwrap_or(claim.kind);
        // Opinions are not looked up, so the rules must agree.
        let is_fact_by_rule = |statement: &&Statement| {
            is_plainly_factual(statement, language) || (of_text.is_none() && !is_no_fact(statement.kind))
        };
        let otherwise = by_rule.as_ref().filter(|_| is_no_fact(called)).filter(is_fact_by_rule);
        let kind = otherwise.map_or(called, |statement| statement.kind);
        let worth = claim.worth.or_else(|| by_rule.as_ref().map(|one| one.check_worthiness)).unwrap_or(USUAL_WORTH);
        let named = |entity: &String| {
            let is_name = entity.chars().any(|c| c.is_uppercase() || c.is_ascii_digit());
            is_name && claim.text.to_lowercase().contains(&entity.to_lowercase())
        };
        ItemStatement {
            source: self.typed.position,
            language: self.language.clone(),
            entities: claim.entities.iter().filter(|entity| named(entity)).cloned().collect(),
            why_checkable: claim.why,
            by_model: true,
            statement: Statement {
                original: claim.text.clone(),
                text: claim.text,
                lead: None,
                kind,
                check_worthiness: if is_no_fact(kind) { worth * OPINION_SHARE } else { worth },
            },
        }
    }
}

struct StatementTerms {
    figures: Vec<String>,
    stems: HashSet<String>,
}

impl StatementTerms {
    fn of(text: &str, language: Option<&str>) -> Self {
        let figures =
            numbers::quantities(text, language).iter().map(|one| format!("{}–{}", one.low, one.high)).collect();
        let names = entities(text, language, &[]);
        let named = names.iter().flat_map(|name| tokens::content_stems(&name.text, language));
        Self { figures, stems: named.collect() }
    }

    /// Whether `other` contains all of them.
    fn is_within(&self, other: &Self) -> bool {
        !(self.figures.is_empty() && self.stems.is_empty())
            && self.figures.iter().all(|figure| other.figures.contains(figure))
            && self.stems.is_subset(&other.stems)
    }
}

/// Judges the nearest passages for a claim.
async fn stances(
    services: &Services,
    claim: TextProfile,
    text: &TextProfile,
    journal: &Journal,
) -> Result<Vec<Judgement>, PipelineError> {
    let passages: Vec<String> = grounding::passages(&claim, text).into_iter().take(PASSAGES).collect();
    let texts: Vec<&str> = std::iter::once(claim.text.as_str()).chain(passages.iter().map(String::as_str)).collect();
    let mut embedded = services.embed(&texts, journal).await.into_iter();
    let Some(own) = embedded.next() else { return Ok(Vec::new()) };
    let (language, reference) = (claim.language.clone(), claim.reference);
    let claim = Arc::new(claim.embedded(own.vector, own.space));
    let pairs: Vec<Pair> = passages
        .iter()
        .zip(embedded)
        .map(|(passage, embedding)| {
            let passage = TextProfile::new(passage, language.as_deref(), reference, &[]);
            let passage = Arc::new(passage.embedded(embedding.vector, embedding.space));
            Pair { claim: Arc::clone(&claim), passage }
        })
        .collect();
    services.stances(&pairs, journal).await
}

/// Returns why a claim is rejected. Rules recognise contradictions, but not paraphrases.
fn objection(grounded: Grounding, judged: &[Judgement]) -> Option<String> {
    let most = |figure: fn(&Judgement) -> f64| judged.iter().map(figure).fold(0.0, f64::max);
    let (entail, contradict) = (most(|one| one.probabilities.entail), most(|one| one.probabilities.contradict));
    if contradict >= CONTRADICTS && contradict > entail {
        return Some(format!("its text says otherwise ({contradict:.2})"));
    }
    let by_model = judged.iter().any(|one| one.judge.as_ref() != RULES);
    let is_supported = grounded.verbatim || !by_model || entail >= LEAST_ENTAILMENT;
    (!is_supported).then(|| format!("its text does not say so ({entail:.2})"))
}

const fn is_no_fact(kind: ClaimKind) -> bool {
    matches!(kind, ClaimKind::Opinion | ClaimKind::Ambiguous)
}

/// Whether it is a past event with a figure or a name, and no opinion.
fn is_plainly_factual(statement: &Statement, language: Option<&str>) -> bool {
    let text = statement.own();
    let named = || entities(text, language, &[]).iter().any(|name| name.kind != EntityKind::Misc);
    !is_no_fact(statement.kind)
        && verbs::words(text).iter().any(|word| verbs::is_past(word))
        && (!numbers::quantities(text, language).is_empty() || named())
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests;
