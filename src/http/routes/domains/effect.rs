//! The stored answers that an edit of the lists would change.
//!
//! Items with evidence from the domain are judged with the current and the edited lists. Nothing is written.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::result::ClaimResult;
use crate::domain::rules::{DomainRule, DomainRules};
use crate::http::App;
use crate::http::problem::Problem;
use crate::pipeline::Listeners;
use crate::pipeline::rescore::{Terms, judge_again};
use crate::store::{JudgedBy, StoredJudgement};

/// Maximum items, latest first. Judging one takes about a millisecond.
const MOST: i64 = 300;

/// The effect of an edit.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Effect {
    /// Number of judged items with evidence from the domain.
    pub(crate) items: usize,
    /// Whether older items exist that were not judged.
    pub(crate) more: bool,
    /// Answers that would change.
    pub(crate) turned: Vec<Turned>,
}

/// An answer that would change at the item's re-evaluation.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Turned {
    pub(crate) item_id: String,
    pub(crate) claim: String,
    pub(crate) before: VerdictSnapshot,
    pub(crate) after: VerdictSnapshot,
}

/// The answer to a claim.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct VerdictSnapshot {
    pub(crate) verdict: String,
    pub(crate) decisive: bool,
    /// `high`, `medium` or `low`.
    pub(crate) tier: String,
}

impl VerdictSnapshot {
    fn of(claim: &ClaimResult) -> Self {
        let (verdict, tier) = (claim.verdict.as_str().to_owned(), claim.tier.as_str().to_owned());
        Self { verdict, decisive: claim.decisive, tier }
    }
}

/// The effect of an edit. `after`: the new rule; `None`: removed.
pub(crate) async fn of(app: &App, domain: &str, after: Option<&DomainRule>) -> Result<Effect, Problem> {
    let services = &app.services;
    let judged = services.store.reading().judgements_under(domain, MOST + 1).await?;
    let (rules, _version) = services.store.domain_rules().await?;
    let allowlist_only = services.rules.current().allowlist_only;
    let terms = |rules: Vec<DomainRule>| Terms {
        scoring: services.settings.scoring,
        rules: DomainRules::new(rules, allowlist_only),
        passages_shown: services.settings.passages_shown,
        claims_per_item: services.settings.claims_per_item,
        listeners: Listeners::default(),
        judged_by: JudgedBy::default(),
    };
    let planned = rules.iter().filter(|rule| rule.domain != domain).chain(after).cloned().collect();
    let (now, then) = (terms(rules), terms(planned));
    let more = judged.read.len() > usize::try_from(MOST).unwrap_or(usize::MAX);
    let items = judged.read.len() - usize::from(more);
    let turned = judged.read.iter().take(items).flat_map(|stored| turned(stored, &now, &then)).collect();
    Ok(Effect { items, more, turned })
}

/// Both sides are judged now, so that only the edit makes a difference.
fn turned(stored: &StoredJudgement, now: &Terms, then: &Terms) -> Vec<Turned> {
    let claims = |terms| {
        let again = judge_again(stored, terms);
        again.map_or_else(|| stored.result.claims.clone(), |again| again.result.claims)
    };
    let (before, after) = (claims(now), claims(then));
    let pairs = before.iter().filter_map(|one| Some((one, after.iter().find(|other| other.claim_id == one.claim_id)?)));
    pairs
        .map(|(before, after)| (before, VerdictSnapshot::of(before), VerdictSnapshot::of(after)))
        .filter(|(_, before, after)| before != after)
        .map(|(claim, before, after)| Turned {
            item_id: stored.result.item_id.clone(),
            claim: claim.text.clone(),
            before,
            after,
        })
        .collect()
}
