//! Admission: is there anything left to do, and how far may this item go?

use super::{PipelineError, Request, Services};
use crate::domain::verdict::Phase;
use crate::store::{DonePhase, RunStart};

/// What may be done with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    Run(Phase, RunStart),
    AlreadyDone,
}

pub(super) async fn admit(services: &Services, request: &Request, hash: &str) -> Result<Admission, PipelineError> {
    let phase = allowed_phase(services, request);
    let redo = request.again || (services.settings.redo && request.message_id.is_none());
    // Before the lists are taken: what changes from here on is noted as outdated when the result is written.
    let judged_by = services.judged_by();
    let start = RunStart { judged_by, ..services.store.begin(&request.item.item_id).await? };
    // Judged again unasked, by the text that was stored: what was written since, or removed, stands.
    let is_overtaken = request.rejudging.as_ref().is_some_and(|again| start.seen != Some(again.evaluated_at));
    let done = is_overtaken || (!redo && is_done(&start.done, phase, hash, request));
    Ok(if done { Admission::AlreadyDone } else { Admission::Run(phase, start) })
}

/// Phase 2 is for items that are wanted there; everything else still gets Phase 1.
fn allowed_phase(services: &Services, request: &Request) -> Phase {
    let settings = &services.settings;
    // The operator's switch holds for everybody; pilot and importance are gates for queue items alone.
    if request.phase == Phase::One || request.shed || !settings.enrichment_enabled {
        return Phase::One;
    }
    if request.personal {
        return Phase::Two;
    }
    let item = &request.item;
    let piloted = settings.pilot.covers(item.channel.as_deref());
    // An item without a figure is not known to be unimportant.
    let important = item.importance.is_none_or(|importance| importance >= settings.min_importance);
    if piloted && important { Phase::Two } else { Phase::One }
}

/// The idempotency key is (item, phase, content). Phase 2 contains Phase 1, never the reverse: a Phase 1 run would replace
/// the richer result, so it counts as done even where that is degraded. A degraded item may be run again, but not by a
/// redelivery of the very message that made it: that one was committed and its ack got lost. What was done of a text that
/// was edited since, and now comes back, is done for such a redelivery alone.
///
/// A retry is such a redelivery too: the commit may have succeeded although its answer was lost. The broker does not mark a
/// retry, so it is recognised by its id and the time it was sent, both of which it keeps. The id alone is not enough: upstream
/// may give every message about an item the same one.
fn is_done(done: &[DonePhase], phase: Phase, hash: &str, request: &Request) -> bool {
    done.iter().any(|row| {
        let same_content = row.content_hash == hash;
        let same_message = row.message_id == request.message_id;
        let retry = row.message_id.is_some() && row.sent_at.is_some() && row.sent_at == request.sent_at;
        let redelivery = same_message && (request.redelivered || retry);
        let richer = row.phase == Phase::Two && phase == Phase::One;
        let same = row.phase == phase && (!row.degraded || redelivery);
        same_content && (row.stands || redelivery) && (richer || same)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Item;

    fn row(phase: Phase, hash: &str, degraded: bool, message: Option<&str>) -> DonePhase {
        let message_id = message.map(str::to_owned);
        DonePhase { phase, content_hash: hash.into(), degraded, message_id, sent_at: None, stands: true }
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
        let edited = [DonePhase { stands: false, ..row(Phase::Two, "first", false, Some("m1")) }];
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
