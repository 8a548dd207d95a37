//! The language model's line. Requests one token, which tests its address, key and name.

use tokio::time::Instant;

use super::{CheckScope, Finding, Health, LIMIT, finding, unavailable, within};
use crate::app::Checkup;
use crate::inference::llm::{LlmError, Purpose};
use crate::outbound::AskError;

const CHECK: &str = "language model";

pub(super) async fn finding_of(checkup: &Checkup, scope: CheckScope) -> Finding {
    let Some(model) = &checkup.language_model else {
        return finding(
            CHECK,
            Health::Ok,
            "none: rules and the other models do all the work (LLM_BASE_URL, LLM_MODEL)",
        );
    };
    let name = model.name();
    let uses: Vec<&str> =
        Purpose::ALL.iter().filter(|purpose| model.is_for(**purpose)).map(|purpose| purpose.as_str()).collect();
    if uses.is_empty() {
        return finding(CHECK, Health::Skip, format!("{name} is not asked: every use of it is switched off"));
    }
    match scope {
        CheckScope::Offline => return finding(CHECK, Health::Skip, format!("{name} is not asked (--offline)")),
        CheckScope::Free if model.is_paid() => {
            let detail = format!("{name} is not asked, since a question costs money; `doctor --paid` asks it");
            return finding(CHECK, Health::Skip, detail);
        }
        CheckScope::Free | CheckScope::Paid => {}
    }
    match within(model.probe(Instant::now() + LIMIT)).await {
        Some(Ok(())) => finding(CHECK, Health::Ok, format!("{name} answers; used for {}", uses.join(", "))),
        Some(Err(error)) => refused(name, &error),
        None => unavailable(CHECK, format!("{name} did not answer within {} seconds", LIMIT.as_secs())),
    }
}

/// Returns a failure, unless the error resolves itself.
fn refused(name: &str, error: &LlmError) -> Finding {
    let detail = format!("{name}: {error}");
    match error {
        LlmError::Ask(
            AskError::Throttled { .. }
            | AskError::QuotaGone { .. }
            | AskError::Open { .. }
            | AskError::Busy { .. }
            | AskError::Budget
            | AskError::StoreAway { .. },
        ) => finding(CHECK, Health::Warn, detail),
        LlmError::Ask(AskError::Connect { .. } | AskError::Timeout | AskError::Deadline) => {
            unavailable(CHECK, format!("{detail}; check LLM_BASE_URL, and that its server runs"))
        }
        _ => unavailable(CHECK, detail),
    }
}
