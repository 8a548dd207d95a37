//! What we know already: our own stored evidence for a claim, and whether it settles it.

use tokio::time::Instant;
use url::Url;

use super::stages::selects;
use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;
use crate::judging::profile::TextProfile;
use crate::judging::quality;
use crate::judging::sufficiency::{self, KnownPassage, Sufficiency, Wanted, covers_names};
use crate::outbound::{AskMeter, Asker};
use crate::pipeline::claims::Claim;
use crate::pipeline::normalise::Normal;
use crate::pipeline::read::{self, ReadPage};
use crate::pipeline::{Journal, PipelineError, Services, judge, rank};
use crate::providers::{Hit, Query};

/// Stored sentences looked at per claim (seed 5: the twenty nearest).
const CANDIDATES: usize = 20;

/// What our own knowledge gave for one claim.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) pages: Vec<ReadPage>,
    /// Nobody else need be asked.
    pub(super) suffices: bool,
    /// Why it could not be asked, where it could not.
    pub(super) failure: Option<crate::domain::Degradation>,
}

/// Asks our own knowledge and decides whether it suffices. The trace says what was decided and why.
#[expect(clippy::too_many_arguments, reason = "a stage takes what the stages before it made")]
pub(super) async fn look_up(
    services: &Services,
    kinds: &[SourceKind],
    normal: &Normal,
    claim: &Claim,
    own_page: Option<&Url>,
    rules: &DomainRules,
    until: Instant,
    journal: &Journal,
) -> Result<Known, PipelineError> {
    let Some(provider) = &services.providers.knowledge else { return Ok(Known::default()) };
    if !selects(kinds, SourceKind::Knowledge) {
        return Ok(Known::default());
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
            return Ok(Known { failure: Some(error.degradation(provider.name())), ..Known::default() });
        }
    };
    journal.checked(provider.name());
    let mut urls: Vec<Url> = Vec::new();
    for hit in answer.hits.iter().filter(|hit| speaks_of(claim, hit)) {
        // The address is a stored page's key as it stands.
        let Ok(url) = Url::parse(&hit.url) else { continue };
        if urls.len() < services.settings.max_sources && own_page != Some(&url) {
            urls.push(url);
        }
    }
    if urls.is_empty() {
        return Ok(Known::default());
    }
    let pages = read::known(services, &urls, rules, journal).await?;
    let decided = gate(services, normal, claim, &pages, rules, journal).await?;
    let text: String = claim.text.chars().take(60).collect();
    let suffices = match decided {
        Sufficiency::Enough { side, groups } => {
            journal.trace(format!(
                "knowledge: suffices for {text:?}: {groups} independent stored sources, {side}; nobody else is asked"
            ));
            true
        }
        Sufficiency::Lacking(lack) => {
            journal.trace(format!("knowledge: {} page(s) for {text:?}, not sufficient: {lack}", pages.len()));
            false
        }
    };
    for read in &pages {
        journal.checked(&read.page.domain);
    }
    Ok(Known { pages, suffices, failure: None })
}

/// A sentence that names nobody the claim names tells of another event of its kind.
fn speaks_of(claim: &Claim, hit: &Hit) -> bool {
    let names = &claim.profile.entities;
    if names.is_empty() {
        return true;
    }
    let sentence = TextProfile::new(&hit.snippet, hit.language.as_deref(), hit.published_at, &[]);
    names.iter().any(|name| sufficiency::names(&sentence, name))
}

/// What is known, judged as it would be for the verdict, and held against what settles a claim.
async fn gate(
    services: &Services,
    normal: &Normal,
    claim: &Claim,
    pages: &[ReadPage],
    rules: &DomainRules,
    journal: &Journal,
) -> Result<Sufficiency, PipelineError> {
    let ranked = rank::among_known(services, claim, pages, rules).await?;
    let beside: Vec<(bool, chrono::DateTime<chrono::Utc>)> =
        ranked.iter().map(|entry| (covers_names(&claim.profile, &entry.profile), entry.read.page.read_at)).collect();
    let judged = judge::passages_of(services, normal, claim, ranked, journal).await?;
    let known: Vec<KnownPassage<'_>> = judged
        .passages
        .iter()
        .zip(beside)
        .map(|(judged, (names_covered, read_at))| KnownPassage { judged, names_covered, read_at })
        .collect();
    let scoring = &services.settings.scoring;
    let wanted = Wanted {
        has_figures: !claim.profile.quantities.is_empty() || !claim.profile.dates.is_empty(),
        date: claim.date,
        now: journal.evaluated_at,
        half_life_days: quality::half_life_days(&claim.profile, &scoring.half_lives),
        relevance_floor: scoring.relevance_floor,
        relevance: services.settings.sufficient_relevance,
        limits: scoring.limits,
    };
    Ok(sufficiency::sufficiency(&known, &wanted))
}
