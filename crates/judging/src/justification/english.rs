//! English sentences.

use super::sayings::Saying;

pub(super) fn say(saying: Saying<'_>) -> String {
    match saying {
        Saying::Opinion => "This is an opinion, or too vague to be checked, so it was not compared with any source.".into(),
        Saying::RelatedListed => "A published fact-check of a related claim is listed; it does not decide this one.".into(),
        Saying::SocialOnly => "Only social media posts mention it. Posts count as context, not as evidence.".into(),
        Saying::NotDecisive { one_source: true } => "The verdict rests on one source, so it is provisional.".into(),
        Saying::NotDecisive { one_source: false } => "The evidence is not strong enough for a conclusive verdict.".into(),
        Saying::Degraded => "Some sources could not be asked or read, so there may be reports that are not listed here.".into(),
        Saying::Rated { who, rating, url, opposite } => {
            let who = if who.is_empty() { "A fact-checker" } else { who };
            let what = if opposite { "the opposite claim" } else { "this claim" };
            format!("{who} rated {what} “{rating}” ({url}).")
        }
        Saying::CheckersDisagree => "The fact-checkers disagree.".into(),
        Saying::PassagesSupport(sources) => format!("Passages that support it: {sources}."),
        Saying::PassagesContradict(sources) => format!("Passages that contradict it: {sources}."),
        Saying::Supported { groups, sources } => format!("{} the claim: {sources}.", independent(groups, "support")),
        Saying::Uncontradicted => "No source found contradicts it.".into(),
        Saying::WeaklyContradicted => "A weak contradiction was found as well.".into(),
        Saying::OutOfContext { groups, sources } => format!(
            "{} the fact, but at another time or place than the claim says: {sources}.",
            independent(groups, "support")
        ),
        Saying::Refuted(sources) => format!("The claim is contradicted by {sources}."),
        Saying::FigureDisagrees => "A figure or date in the claim disagrees with the source.".into(),
        Saying::NobodySupports => "No source was found that supports it.".into(),
        Saying::SupportedLess { groups } => format!("{} it, but less strongly.", independent(groups, "support")),
        Saying::NewerSayOtherwise { older, newer } => {
            format!("Earlier reports said so ({older}); newer reports say otherwise: {newer}.")
        }
        Saying::NewerFigure(newer) => format!("Newer reports give a different figure from the claim: {newer}."),
        Saying::Contested { one_source, supporting, contradicting } => {
            let who = if one_source { "One source says both" } else { "Sources disagree" };
            let (supports, contradicts) = (ending(supporting, "support"), ending(contradicting, "contradict"));
            format!("{who}: {supporting} {supports} the claim, {contradicting} {contradicts} it.")
        }
        Saying::NeitherClear { supporting, contradicting } => {
            let (supports, speaks) = (ending(supporting, "support"), ending(contradicting, "speak"));
            format!("{supporting} {supports} the claim and {contradicting} {speaks} against it; neither side is clear.")
        }
        Saying::ContestedByDoubt { supporting, doubting } => {
            format!("{supporting} {} the claim, and {doubting} may contradict it.", ending(supporting, "support"))
        }
        Saying::BothAtOnce(sources) => format!("{sources} {} both for and against the claim.", ending(sources, "speak")),
        Saying::SupportDoubted { groups, sources, doubting } => {
            format!("{} the claim ({sources}), but {doubting} may contradict it.", independent(groups, "support"))
        }
        Saying::MayContradict(sources) => {
            format!("No passage found supports the claim, and {sources} may contradict it, though not clearly.")
        }
        Saying::LeansTowards(sources) => format!("No source says so outright. The passages found tend to support the claim: {sources}."),
        Saying::LeansAgainst(sources) => format!("No source denies it outright. The passages found tend to contradict the claim: {sources}."),
        Saying::SingleSource(sources) => {
            format!("One source supports the claim: {sources}. A second, independent one was not found.")
        }
        Saying::SupportUnclear(sources) => format!("Some support was found, but it is not clear enough: {sources}."),
        Saying::AgainstUnclear(sources) => {
            format!("{sources} {} against the claim, but not clearly enough to refute it.", ending(sources, "speak"))
        }
        Saying::NotSearched => {
            "Only published fact-checks were looked up, as far as possible; no source was searched for this claim.".into()
        }
        Saying::NobodyCouldBeAsked => "Not every source could be asked or read, and the others found nothing. That does not mean that nobody reports it.".into(),
        Saying::NothingFound => "No source about this was found.".into(),
        Saying::OffSubject(1) => "One passage was found, and it is not on this subject.".into(),
        Saying::OffSubject(count) => format!("{count} passages were found, none of them on this subject."),
        Saying::NeitherSide => "The passages found neither support nor contradict the claim.".into(),
        Saying::Follows(sources) => format!("This follows from {}.", sources.unwrap_or("the passages found")),
    }
}

fn independent(groups: u32, verb: &str) -> String {
    if groups == 1 { format!("One source {verb}s") } else { format!("{groups} independent sources {verb}") }
}

/// The verb form for one source or several.
fn ending(sources: &str, verb: &str) -> String {
    if sources.matches('[').count() == 1 { format!("{verb}s") } else { verb.to_owned() }
}
