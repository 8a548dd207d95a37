//! English sentences.

use super::sentence::Sentence;

pub(super) fn render(sentence: Sentence<'_>) -> String {
    match sentence {
        Sentence::Opinion => "This is an opinion, or too vague to be checked, so it was not compared with any source.".into(),
        Sentence::RelatedListed => "A published fact-check of a related claim is listed; it does not decide this one.".into(),
        Sentence::SocialOnly => "Only social media posts mention it. Posts count as context, not as evidence.".into(),
        Sentence::NotDecisive { one_source: true } => "The verdict rests on one source, so it is provisional.".into(),
        Sentence::NotDecisive { one_source: false } => "The evidence is not strong enough for a conclusive verdict.".into(),
        Sentence::Degraded => "Some sources could not be asked or read, so there may be reports that are not listed here.".into(),
        Sentence::Rated { publisher, rating, url, opposite } => {
            let publisher = if publisher.is_empty() { "A fact-checker" } else { publisher };
            let what = if opposite { "the opposite claim" } else { "this claim" };
            format!("{publisher} rated {what} “{rating}” ({url}).")
        }
        Sentence::CheckersDisagree => "The fact-checkers disagree.".into(),
        Sentence::PassagesSupport(sources) => format!("Passages that support it: {sources}."),
        Sentence::PassagesContradict(sources) => format!("Passages that contradict it: {sources}."),
        Sentence::Supported { groups, sources } => format!("{} the claim: {sources}.", independent(groups, "support")),
        Sentence::Uncontradicted => "No source found contradicts it.".into(),
        Sentence::WeaklyContradicted => "A weak contradiction was found as well.".into(),
        Sentence::OutOfContext { groups, sources } => format!(
            "{} the fact, but at another time or place than the claim says: {sources}.",
            independent(groups, "support")
        ),
        Sentence::Refuted(sources) => format!("The claim is contradicted by {sources}."),
        Sentence::FigureDisagrees => "A figure or date in the claim disagrees with the source.".into(),
        Sentence::NoSupport => "No source was found that supports it.".into(),
        Sentence::SupportedLess { groups } => format!("{} it, but less strongly.", independent(groups, "support")),
        Sentence::NewerReportsDiffer { older, newer } => {
            format!("Earlier reports said so ({older}); newer reports say otherwise: {newer}.")
        }
        Sentence::NewerFigure(newer) => format!("Newer reports give a different figure from the claim: {newer}."),
        Sentence::Contested { one_source, supporting, contradicting } => {
            let opening = if one_source { "One source says both" } else { "Sources disagree" };
            let (supports, contradicts) = (ending(supporting, "support"), ending(contradicting, "contradict"));
            format!("{opening}: {supporting} {supports} the claim, {contradicting} {contradicts} it.")
        }
        Sentence::NeitherClear { supporting, contradicting } => {
            let (supports, speaks) = (ending(supporting, "support"), ending(contradicting, "speak"));
            format!("{supporting} {supports} the claim and {contradicting} {speaks} against it; neither side is clear.")
        }
        Sentence::ContestedByDoubt { supporting, doubting } => {
            format!("{supporting} {} the claim, and {doubting} may contradict it.", ending(supporting, "support"))
        }
        Sentence::BothAtOnce(sources) => format!("{sources} {} both for and against the claim.", ending(sources, "speak")),
        Sentence::SupportDoubted { groups, sources, doubting } => {
            format!("{} the claim ({sources}), but {doubting} may contradict it.", independent(groups, "support"))
        }
        Sentence::MayContradict(sources) => {
            format!("No passage found supports the claim, and {sources} may contradict it, though not clearly.")
        }
        Sentence::LeansTowards(sources) => format!("No source says so outright. The passages found tend to support the claim: {sources}."),
        Sentence::LeansAgainst(sources) => format!("No source denies it outright. The passages found tend to contradict the claim: {sources}."),
        Sentence::SingleSource(sources) => {
            format!("One source supports the claim: {sources}. A second, independent one was not found.")
        }
        Sentence::SupportUnclear(sources) => format!("Some support was found, but it is not clear enough: {sources}."),
        Sentence::AgainstUnclear(sources) => {
            format!("{sources} {} against the claim, but not clearly enough to refute it.", ending(sources, "speak"))
        }
        Sentence::NotSearched => {
            "Only published fact-checks were looked up, as far as possible; no source was searched for this claim.".into()
        }
        Sentence::SourcesUnavailable => "Not every source could be asked or read, and the others found nothing. That does not mean that nobody reports it.".into(),
        Sentence::NothingFound => "No source about this was found.".into(),
        Sentence::OffSubject(1) => "One passage was found, and it is not on this subject.".into(),
        Sentence::OffSubject(count) => format!("{count} passages were found, none of them on this subject."),
        Sentence::NeitherSide => "The passages found neither support nor contradict the claim.".into(),
        Sentence::Follows(sources) => format!("This follows from {}.", sources.unwrap_or("the passages found")),
    }
}

fn independent(groups: u32, verb: &str) -> String {
    if groups == 1 { format!("One source {verb}s") } else { format!("{groups} independent sources {verb}") }
}

/// The verb form for one source or several.
fn ending(sources: &str, verb: &str) -> String {
    if sources.matches('[').count() == 1 { format!("{verb}s") } else { verb.to_owned() }
}
