//! Sentences of the claim's words about another place, another group or a time long past: what they say differs, and refutes
//! nothing.

use chrono::TimeDelta;

use crate::numbers::repeating::{Occasion, occasion};
use crate::numbers::{Recurrence, recurrence};
use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::entities::{Entity, EntityKind};
use corroborate_language::numbers::Unit;
use corroborate_language::{cut, transliterate};

use super::Names;

/// Beginnings of words of two groups of which a figure is told apart: what holds of one says nothing of the other. English
/// words whole.
const GROUPS: [(&str, &str); 6] = [
    (
        "men man male males boys boy мужчин мальчик чоловік хлопч",
        "women woman female females girls girl женщин женск девоч девуш жінк жіноч дівч",
    ),
    ("north northern север північ", "south southern юг южн південь півден"),
    ("east eastern восточн восток схід східн", "west western запад захід західн"),
    ("import imports импорт імпорт", "export exports экспорт експорт"),
    ("children child pupils дети детей детск діти дітей дитяч", "adults adult взросл доросл"),
    ("urban городск міськ", "rural сельск сільськ"),
];

/// A claim without a date speaks of about now; what a passage dates longer ago than this is of another time.
const LONG_BEFORE: TimeDelta = TimeDelta::days(200);

/// Whether the claim counts or measures something, years aside.
fn has_figure(claim: &TextProfile) -> bool {
    claim.quantities.iter().any(|quantity| !matches!(quantity.unit, Unit::Year | Unit::Ordinal | Unit::Identifier))
}

/// Whether the sentence gives a figure of the other group than the claim's: men's for women's, the south's for the north's.
pub fn is_of_another_group(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let is = |word: &str, known: &str| if known.is_ascii() { word == known } else { word.starts_with(known) };
    let any = |list: &str, word: &str| list.split(' ').any(|known| is(word, known));
    let ours = |list: &str| claim.sentences.iter().flat_map(|own| &own.spoken).any(|own| any(list, &own.text));
    let theirs = |list: &str| sentence.spoken.iter().any(|own| any(list, &own.text));
    let other = |one: &str, other: &str| ours(one) && !ours(other) && theirs(other) && !theirs(one);
    has_figure(claim) && GROUPS.iter().any(|(one, two)| other(one, two) || other(two, one))
}

/// Whether a name stands behind a word that makes a place of it.
fn is_where(text: &str, name: &Entity) -> bool {
    const WHERE: [&str; 12] = ["in", "at", "near", "off", "outside", "в", "во", "у", "під", "под", "возле", "біля"];
    let before = text.find(&name.text).and_then(|at| text.get(..at)).unwrap_or_default();
    before.split_whitespace().next_back().is_some_and(|word| WHERE.contains(&word.to_lowercase().as_str()))
}

/// Whether the claim counts something at a place that the passage never names, and the sentence speaks of another: 400 jobs in
/// Poland refute no 3,000 in Germany.
pub(super) fn is_counted_elsewhere(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let has = |text: &TextProfile, name: &Entity| {
        text.entities.iter().any(|other| transliterate::same_key(&other.key, &name.key))
            || text.text.contains(&name.text)
    };
    let text = cut(&passage.text, sentence.start, sentence.end);
    let there = |name: &&Entity| text.contains(&name.text) && is_where(text, name) && !has(claim, name);
    has_figure(claim)
        && claim.entities.iter().any(|name| is_where(&claim.text, name) && !has(passage, name))
        && passage.entities.iter().any(|name| there(&name))
}

/// Whether the sentence tells, by its own dates, of long before the claim, which has none, and what it tells of comes again: last
/// year's price.
pub(super) fn is_of_long_before(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let Some(now) =
        claim.reference.or(passage.reference).filter(|_| claim.dates.is_empty() && claim.negations.is_multiple_of(2))
    else {
        return false;
    };
    let text = cut(&passage.text, sentence.start, sentence.end);
    let mut dates = passage.dates.iter().filter(|date| text.contains(&date.text)).peekable();
    dates.peek().is_some()
        && dates.all(|date| now.date_naive().signed_duration_since(date.end) > LONG_BEFORE)
        && recurrence(claim) == Recurrence::Again
}

/// Whether the claim gives a figure of what may come again on any day, and the passage is of another one: a strike of ten days ago
/// wounded as many as it wounded. A denial of later days is of this one.
pub(super) fn is_of_another_day(claim: &TextProfile, passage: &TextProfile) -> bool {
    has_figure(claim)
        && match occasion(claim, passage) {
            Occasion::Earlier => true,
            Occasion::LongAfter => passage.negations.is_multiple_of(2),
            Occasion::Same | Occasion::Later => false,
        }
}

/// Whether a claim of "a fire" somewhere is held against a passage that names other places only: another fire is no reason to
/// say that this one was not. What is one of its kind ("the treaty", "Euro 2024") has one place.
pub(super) fn is_elsewhere(claim: &TextProfile, passage: &TextProfile) -> bool {
    let may_be_place = |kind: EntityKind| matches!(kind, EntityKind::Loc | EntityKind::Misc);
    let first = claim.sentences.first().and_then(|own| own.spoken.first()).map_or("", |word| word.text.as_str());
    matches!(first, "a" | "an")
        && passage.negations == 0
        && !claim.entities.is_empty()
        && claim.entities.iter().all(|name| may_be_place(name.kind))
        && passage.entities.iter().any(|name| may_be_place(name.kind))
        && Names::new(claim, passage).found() <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_another_place_group_or_time_answers_nothing() {
        let apart = |claim: &str, passage: &str| {
            let at = |text: &str, day: &str| TextProfile::new(text, Some("en"), day.parse().ok(), &[]);
            let (claim, passage) = (at(claim, "2026-10-14T09:00:00Z"), at(passage, "2026-10-14T09:00:00Z"));
            passage.sentences.iter().all(|own| {
                is_of_another_group(&claim, own)
                    || is_counted_elsewhere(&claim, &passage, own)
                    || is_of_long_before(&claim, &passage, own)
            })
        };
        for (claim, passage) in [
            ("Telisk has 12 million customers.", "Telisk had 8 million customers in 2018."),
            ("Brimm employs 22,000 people.", "At the end of 2012 Brimm had a workforce of 17,000."),
            ("Norvatel will cut 3,000 jobs in Germany.", "Norvatel will cut 1,200 jobs in Spain."),
            (
                "Two people died in a helicopter crash near Verga.",
                "Five people died in a helicopter crash near Halden.",
            ),
            ("Women in Kastoria live to 84 on average.", "Average male life expectancy in Kastoria is 77 years."),
            ("The north tower is 180 metres tall.", "The south tower is 150 metres tall."),
        ] {
            assert!(apart(claim, passage), "{passage}");
        }
        for (claim, passage) in [
            ("Telisk has 12 million customers.", "Telisk has 8 million customers in 2026."),
            ("Telisk has 12 million customers.", "Telisk has 8 million customers."),
            ("Norvatel will cut 3,000 jobs in Germany.", "Norvatel will cut 1,200 jobs in Germany, it said in Berlin."),
            ("Albert Einstein was born in Berlin.", "Albert Einstein was born in Ulm in 1879."),
            ("Kastoria has never hosted the Lorne festival.", "Kastoria hosted the Lorne festival in 2004."),
            ("The summit took place in Geneva.", "The summit took place in Vienna."),
            ("The north tower is 180 metres tall.", "The north tower is 150 metres tall and the south one 90."),
        ] {
            assert!(!apart(claim, passage), "{passage}");
        }
    }
}
