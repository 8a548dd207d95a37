//! Decides whether the evidence store suffices for a claim.
//! Steps: find stored pages, judge them, apply the sufficiency gate, ask a language model if enabled.
//! If they suffice, no other source is queried.

use std::sync::Arc;

use chrono::TimeDelta;
use tokio::time::Instant;
use url::Url;

use super::asking::Round;
use super::stages::selects;
use crate::domain::evidence::JudgedPassage;
use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::{Origin, Stance};
use crate::inference::llm::Purpose;
use crate::inference::llm::retrieval::{StoredPassage, read_sufficiency, sufficiency as question};
use crate::judging::independence::ItemText;
use crate::judging::profile::TextProfile;
use crate::judging::quality;
use crate::judging::sufficiency::{self, KnownPassage, Requirements, Sufficiency, covers_names};
use crate::outbound::{AskMeter, Asker};
use crate::pipeline::claims::Claim;
use crate::pipeline::judge::{JudgedClaim, JudgingDepth};
use crate::pipeline::normalise::NormalisedItem;
use crate::pipeline::page::PreparedPage;
use crate::pipeline::read::{self as reading, ReadPage};
use crate::pipeline::run_context::Journal;
use crate::pipeline::services::{PipelineError, Services};
use crate::pipeline::{judge, rank};
use crate::providers::{Hit, Query};

/// Stored pages per claim; all of them are judged.
const CANDIDATES: usize = 20;

/// Mean relevance from which stored evidence settles a claim without a search, over each independent source's best
/// passage: twice the relevance floor.
const SUFFICIENT_RELEVANCE: f64 = 0.6;

/// Longest time since a stored page was read, if it settles a claim without a search. Claims about a past day and lasting
/// knowledge are exempt. An example is the holder of an office: newspapers report a change the next morning.
const SUFFICIENT_AGE: TimeDelta = TimeDelta::hours(24);

#[derive(Debug, Default)]
pub(super) struct StoredPages {
    pub(super) pages: Vec<ReadPage>,
    /// No other source is needed.
    pub(super) suffices: bool,
    pub(super) failure: Option<crate::domain::Degradation>,
}

/// Queries the evidence store; the decision is traced.
pub(super) async fn look_up(
    services: &Services,
    kinds: &[SourceKind],
    normal: &NormalisedItem,
    claim: &Claim,
    round: &Round<'_>,
) -> Result<StoredPages, PipelineError> {
    let Round { own, rules, until, journal, .. } = round;
    let (until, journal) = (*until, *journal);
    let Some(provider) = &services.providers.knowledge else { return Ok(StoredPages::default()) };
    if !selects(kinds, SourceKind::Knowledge) {
        return Ok(StoredPages::default());
    }
    let query = Query {
        text: claim.text.clone(),
        terms: Vec::new(),
        language: normal.language.clone(),
        domains: Vec::new(),
        around: None,
        limit: CANDIDATES,
        source_document: None,
    };
    let meter = AskMeter::default();
    let asked = provider.ask(&query, Asker { until, meter: &meter }).await;
    journal.metered(provider.name(), &meter);
    let answer = match asked {
        Ok(answer) => answer,
        Err(error) => {
            journal.trace(format!("knowledge: could not be asked: {error}"));
            return Ok(StoredPages { failure: Some(error.degradation(provider.name())), ..StoredPages::default() });
        }
    };
    journal.checked(provider.name());
    // The URL is the key; it must stay unchanged.
    let parsed = answer.hits.iter().filter_map(|hit| Some((Url::parse(&hit.url).ok()?, hit)));
    let hits: Vec<(Url, &Hit)> = parsed.filter(|(url, _)| !own.holds(url)).collect();
    let urls: Vec<Url> = hits.iter().map(|(url, _)| url.clone()).collect();
    let mut pages =
        if urls.is_empty() { Vec::new() } else { reading::stored_pages(services, &urls, rules, journal).await? };
    pages.retain(|read| hits.iter().any(|(url, hit)| *url == read.page.url && may_be_about(claim, hit, &read.page)));
    if pages.is_empty() {
        return Ok(StoredPages::default());
    }
    let (decided, judged) = gate(services, normal, claim, &pages, rules, journal).await?;
    let text: String = claim.text.chars().take(60).collect();
    let suffices = match decided {
        Sufficiency::Enough { side, groups } => match doubt(services, claim, &judged, until, journal).await {
            None => {
                journal.trace(format!(
                    "knowledge: suffices for {text:?}: {groups} independent stored sources, {side}; no search"
                ));
                true
            }
            Some(doubt) => {
                journal
                    .trace(format!("knowledge: {groups} independent stored sources for {text:?}, {side}, but {doubt}"));
                false
            }
        },
        Sufficiency::Lacking(lack) => {
            journal.trace(format!("knowledge: {} page(s) for {text:?}, not sufficient: {lack}", pages.len()));
            false
        }
    };
    let kept = carried(&judged, services.settings.max_sources);
    let place = |read: &ReadPage| kept.iter().position(|id| *id == read.page.id);
    pages.retain(|read| place(read).is_some());
    pages.sort_by_key(place);
    for read in &pages {
        journal.checked(&read.page.domain);
    }
    Ok(StoredPages { pages, suffices, failure: None })
}

/// Third gate: returns why a language model rejects the stored passages. A no or a failure only costs a search.
async fn doubt(
    services: &Services,
    claim: &Claim,
    judged: &[JudgedPassage],
    until: Instant,
    journal: &Journal,
) -> Option<String> {
    let model = services.language_model_for(Purpose::Sufficiency)?;
    let floor = services.settings.scoring.relevance_floor;
    let on_topic = judged.iter().filter(|passage| passage.relevance >= floor);
    let passages: Vec<StoredPassage<'_>> = on_topic
        .map(|passage| StoredPassage {
            text: &passage.passage,
            domain: &passage.domain,
            published: passage.published_at.map(|at| at.date_naive()),
        })
        .collect();
    let question = question(&claim.text, &passages, journal.evaluated_at.date_naive())?;
    match model.ask(&question, read_sufficiency, &journal.llm, until).await {
        Ok(true) => None,
        Ok(false) => Some(format!("{} finds them not sufficient", model.name())),
        Err(error) => Some(format!("{} was not heard: {error}", model.name())),
    }
}

/// Returns the pages to keep: the best of each side, then of each group with a side, then by rank. So opposing pages
/// stay together.
fn carried(judged: &[JudgedPassage], most: usize) -> Vec<&str> {
    let mut sides: Vec<Stance> = Vec::new();
    let mut groups: Vec<&str> = Vec::new();
    let mut places: Vec<(u8, usize, &str)> = Vec::new();
    for (position, passage) in judged.iter().enumerate() {
        let (side, group) = (passage.stance(), passage.independent_group.as_str());
        let place = if side == Stance::Neutral {
            2
        } else if !sides.contains(&side) {
            sides.push(side);
            groups.push(group);
            0
        } else if !groups.contains(&group) {
            groups.push(group);
            1
        } else {
            2
        };
        places.push((place, position, passage.evidence_id.as_str()));
    }
    places.sort_unstable();
    let mut kept: Vec<&str> = Vec::new();
    for (_, _, id) in places {
        if kept.len() < most && !kept.contains(&id) {
            kept.push(id);
        }
    }
    kept
}

/// Characters at the start of a page that name its subject.
const HEAD: usize = 600;

/// Whether a sentence may be about the event: not if it names only others, and its page none of the claim's names. A
/// sentence without names ("The bridge is closed.") may contradict.
fn may_be_about(claim: &Claim, hit: &Hit, page: &PreparedPage) -> bool {
    let names = &claim.profile.entities;
    if names.is_empty() {
        return true;
    }
    let profile = |text: &str| Arc::new(TextProfile::new(text, hit.language.as_deref(), hit.published_at, &[]));
    // The same sentence is found again and again.
    let kept = page.snippet.get_or_init(|| profile(&hit.snippet));
    let sentence = if kept.text == hit.snippet { Arc::clone(kept) } else { profile(&hit.snippet) };
    if sentence.entities.is_empty() || names.iter().any(|name| sufficiency::names(&sentence, name)) {
        return true;
    }
    let head = page.head.get_or_init(|| {
        let head: String = page.text.chars().take(HEAD).collect();
        profile(&format!("{}.\n{head}", page.title.as_deref().unwrap_or_default()))
    });
    names.iter().any(|name| sufficiency::names(head, name))
}

async fn gate(
    services: &Services,
    normal: &NormalisedItem,
    claim: &Claim,
    pages: &[ReadPage],
    rules: &DomainRules,
    journal: &Journal,
) -> Result<(Sufficiency, Vec<JudgedPassage>), PipelineError> {
    let item: Vec<ItemText<'_>> = normal
        .texts
        .iter()
        .zip(&normal.urls)
        .map(|((_, text), url)| ItemText { url: url.as_deref(), channel: normal.channel.as_deref(), text })
        .collect();
    let ranked = rank::among_known(services, claim, pages, &item, rules, journal).await?;
    let context: Vec<(bool, Arc<PreparedPage>)> = ranked
        .iter()
        .map(|entry| {
            let passage = if entry.translated { &entry.original } else { &entry.pair.passage };
            (covers_names(&claim.profile, passage), Arc::clone(&entry.read.page))
        })
        .collect();
    let claims = [(claim, ranked)];
    let judge_at = async |look: JudgingDepth| -> Result<JudgedClaim, PipelineError> {
        let judged = judge::passages_of(services, normal, &claims, look, journal).await?;
        Ok(judged.into_iter().next().unwrap_or_default())
    };
    let scoring = &services.settings.scoring;
    let half_life_days = quality::half_life_days(&claim.profile, &scoring.half_lives);
    let lasting = half_life_days >= scoring.half_lives.lasting && scoring.half_lives.lasting > scoring.half_lives.usual;
    let enduring = (claim.date.is_some() || lasting) && !sufficiency::is_about_present(&claim.profile);
    let wanted = Requirements {
        has_figures: !claim.profile.quantities.is_empty() || !claim.profile.dates.is_empty(),
        date: claim.date,
        oldest_reading: sufficiency::oldest_reading(journal.evaluated_at, enduring, half_life_days, SUFFICIENT_AGE),
        relevance_floor: scoring.relevance_floor,
        relevance: SUFFICIENT_RELEVANCE,
        limits: scoring.sufficiency,
        conflict: scoring.limits.conflict,
    };
    // No model can supply missing names, figures or sources.
    let by_rule = judge_at(JudgingDepth::ByRule).await?;
    if let Some(lack) = sufficiency::out_of_reach(&known_passages(&by_rule, &context), &wanted) {
        return Ok((Sufficiency::Lacking(lack), by_rule.passages));
    }
    let judged = judge_at(JudgingDepth::ByModel).await?;
    Ok((sufficiency::sufficiency(&known_passages(&judged, &context), &wanted), judged.passages))
}

fn known_passages<'a>(judged: &'a JudgedClaim, context: &[(bool, Arc<PreparedPage>)]) -> Vec<KnownPassage<'a>> {
    let of = |(judged, (names_covered, page)): (&'a JudgedPassage, &(bool, Arc<PreparedPage>))| KnownPassage {
        judged,
        names_covered: *names_covered,
        read_at: page.read_at,
        lasting: page.origin == Origin::Kb,
    };
    judged.passages.iter().zip(context).map(of).collect()
}
