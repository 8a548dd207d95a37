//! Which stored answers an edit of the lists would turn, before it is made: those that rest on pages under the domain, judged
//! again by the lists as they are and as they would be.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::result::ClaimResult;
use crate::domain::rules::{DomainRule, DomainRules};
use crate::http::App;
use crate::http::problem::Problem;
use crate::pipeline::Listeners;
use crate::pipeline::rescore::{Terms, judge_again};
use crate::store::{JudgedBy, StoredJudgement};

/// Items looked at: the latest. Judging one again takes about a millisecond.
const MOST: i64 = 300;

/// What an edit would turn.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Effect {
    /// Items that rest on the domain's pages and were looked at.
    pub(crate) items: usize,
    /// There are more, older ones.
    pub(crate) more: bool,
    /// Answers that would turn.
    pub(crate) turned: Vec<Turned>,
}

/// An answer that would turn. Items that are stored keep theirs until they are judged again.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Turned {
    pub(crate) item_id: String,
    pub(crate) claim: String,
    pub(crate) before: Stood,
    pub(crate) after: Stood,
}

/// What a claim's answer is.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Stood {
    pub(crate) verdict: String,
    pub(crate) decisive: bool,
    /// `high`, `medium` or `low`.
    pub(crate) tier: String,
}

impl Stood {
    fn of(claim: &ClaimResult) -> Self {
        let (verdict, tier) = (claim.verdict.as_str().to_owned(), claim.tier.as_str().to_owned());
        Self { verdict, decisive: claim.decisive, tier }
    }
}

/// `after`: the domain's rule as it would be; `None`: removed.
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
        // Nothing is written.
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

/// What stored settings and models changed since is no work of this edit: both sides are judged again.
fn turned(stored: &StoredJudgement, now: &Terms, then: &Terms) -> Vec<Turned> {
    let claims = |terms| {
        let again = judge_again(stored, terms);
        again.map_or_else(|| stored.result.claims.clone(), |again| again.result.claims)
    };
    let (before, after) = (claims(now), claims(then));
    let pairs = before.iter().filter_map(|one| Some((one, after.iter().find(|other| other.claim_id == one.claim_id)?)));
    pairs
        .map(|(before, after)| (before, Stood::of(before), Stood::of(after)))
        .filter(|(_, before, after)| before != after)
        .map(|(claim, before, after)| Turned {
            item_id: stored.result.item_id.clone(),
            claim: claim.text.clone(),
            before,
            after,
        })
        .collect()
}
