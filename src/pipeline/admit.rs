//! Decides whether a request needs work, and in which phase.
//! It compares content, phase and message with the item's finished runs, and writes nothing.

use super::run_context::Request;
use super::services::{PipelineError, Services};
use crate::domain::verdict::Phase;
use crate::store::{DonePhase, RunStart};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    Run(Phase, RunStart),
    AlreadyDone,
}

pub(super) async fn admit(services: &Services, request: &Request, hash: &str) -> Result<Admission, PipelineError> {
    let phase = allowed_phase(services, request);
    let redo = request.again || (services.settings.redo && request.message_id.is_none());
    // Read first: a later change makes the result outdated.
    let judged_with = services.judged_with();
    let start = RunStart { judged_with, ..services.store.begin(&request.item.item_id).await? };
    // Anything written or removed since takes precedence.
    let is_overtaken = request.rejudging.as_ref().is_some_and(|again| start.seen != Some(again.evaluated_at));
    let done = is_overtaken || (!redo && is_done(&start.done, phase, hash, request));
    Ok(if done { Admission::AlreadyDone } else { Admission::Run(phase, start) })
}

/// Returns the phase; items that do not qualify still get phase 1.
fn allowed_phase(services: &Services, request: &Request) -> Phase {
    let settings = &services.settings;
    // Pilot and importance are gates for queue items only.
    if request.phase == Phase::One || request.shed || !settings.enrichment_enabled {
        return Phase::One;
    }
    if request.personal {
        return Phase::Two;
    }
    let item = &request.item;
    let piloted = settings.pilot.covers(item.channel.as_deref());
    // An item without a value may be important.
    let important = item.importance.is_none_or(|importance| importance >= settings.min_importance);
    if piloted && important { Phase::Two } else { Phase::One }
}

/// Whether a run with this key, (item, phase, content), is done. Phase 2 includes phase 1, which would replace a
/// better result, even a degraded one.
/// A degraded item may run again, except by a redelivery: its result was committed and only the ack was lost. After
/// an edit and its undoing, only a redelivery counts as done.
///
/// A retry counts as a redelivery, because the commit may have succeeded. It is recognised by message id and send
/// time; upstream may use one id for every message about an item.
fn is_done(done: &[DonePhase], phase: Phase, hash: &str, request: &Request) -> bool {
    done.iter().any(|row| {
        let same_content = row.content_hash == hash;
        let same_message = row.message_id == request.message_id;
        let retry = row.message_id.is_some() && row.sent_at.is_some() && row.sent_at == request.sent_at;
        let redelivery = same_message && (request.redelivered || retry);
        let richer = row.phase == Phase::Two && phase == Phase::One;
        let same = row.phase == phase && (!row.degraded || redelivery);
        same_content && (row.is_current || redelivery) && (richer || same)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Item;

    fn row(phase: Phase, hash: &str, degraded: bool, message: Option<&str>) -> DonePhase {
        let message_id = message.map(str::to_owned);
        DonePhase { phase, content_hash: hash.into(), degraded, message_id, sent_at: None, is_current: true }
    }

    fn request(message: Option<&str>, redelivered: bool) -> Request {
        let mut request = Request::personal(Item::from_claim("a".into(), "x"));
        request.message_id = message.map(str::to_owned);
        request.redelivered = redelivered;
        request
    }

    #[test]
    fn the_same_content_is_done_once_per_phase() {
        let again = request(Some("m2"), false);
        assert!(is_done(&[row(Phase::Two, "h", false, Some("m1"))], Phase::Two, "h", &again));
        assert!(!is_done(&[row(Phase::Two, "h", false, Some("m1"))], Phase::Two, "edited", &again));
        assert!(!is_done(&[row(Phase::One, "h", false, None)], Phase::Two, "h", &again), "phase 1 is no phase 2");
        assert!(is_done(&[row(Phase::Two, "h", false, None)], Phase::One, "h", &again), "phase 2 contains phase 1");
        assert!(!is_done(&[], Phase::One, "h", &again));
    }

    #[test]
    fn a_text_that_is_edited_back_is_judged_again_but_not_for_an_old_delivery() {
        let edited = [DonePhase { is_current: false, ..row(Phase::Two, "first", false, Some("m1")) }];
        assert!(!is_done(&edited, Phase::Two, "first", &request(Some("m3"), false)), "another text's result is stored");
        assert!(is_done(&edited, Phase::Two, "first", &request(Some("m1"), true)), "the edit stays");
    }

    #[test]
    fn retry_is_done_when_the_answer_to_its_commit_was_lost() {
        let sent_at = chrono::DateTime::from_timestamp(1_790_000_000, 0);
        let committed = [DonePhase { sent_at, ..row(Phase::Two, "h", true, Some("m1")) }];
        let sent = |message, sent_at| Request { sent_at, ..request(message, false) };
        assert!(is_done(&committed, Phase::Two, "h", &sent(Some("m1"), sent_at)));
        assert!(!is_done(&committed, Phase::Two, "h", &sent(Some("m2"), sent_at)), "another message");
        let later = sent_at.map(|sent| sent + chrono::TimeDelta::seconds(1));
        assert!(!is_done(&committed, Phase::Two, "h", &sent(Some("m1"), later)), "the item was sent again");
        assert!(!is_done(&committed, Phase::Two, "h", &sent(Some("m1"), None)));
        assert!(!is_done(&committed, Phase::Two, "edited", &sent(Some("m1"), sent_at)));
        let anonymous = [DonePhase { sent_at, ..row(Phase::Two, "h", true, None) }];
        assert!(!is_done(&anonymous, Phase::Two, "h", &sent(None, sent_at)), "judged again, not retried");
    }

    #[test]
    fn a_degraded_item_runs_again_but_not_for_the_same_delivery() {
        let rows = [row(Phase::Two, "h", true, Some("m1"))];
        assert!(!is_done(&rows, Phase::Two, "h", &request(Some("m2"), false)));
        assert!(is_done(&rows, Phase::Two, "h", &request(Some("m1"), true)));
        assert!(!is_done(&rows, Phase::Two, "h", &request(Some("m1"), false)), "upstream's ids may be the item's");
        assert!(is_done(&rows, Phase::One, "h", &request(Some("m9"), false)), "phase 1 never replaces phase 2");
        let anonymous = [row(Phase::Two, "h", true, None)];
        assert!(is_done(&anonymous, Phase::Two, "h", &request(None, true)));
        assert!(!is_done(&anonymous, Phase::Two, "h", &request(None, false)));
    }
}
