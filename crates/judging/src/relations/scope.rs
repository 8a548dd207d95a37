//! Compares place, group and part: the whole or a part, all or some.

use corroborate_language::entities::kind::EntityKind;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::Unit;
use corroborate_language::word_list::WordList;

use crate::names::Names;
use crate::profile::{SentenceProfile, TextProfile};
use crate::stance::lexicon::{partial, widened};

use super::{Answer, Rule};

/// A figure of another group: men's for women's.
pub const OTHER_GROUP: &str = "scope.other_group";

pub const ELSEWHERE: &str = "scope.elsewhere";

/// The surest first.
pub(super) const RULES: &[Rule] = &[
    Rule {
        id: OTHER_GROUP,
        answer: Answer::Differs,
        holds: |held, at| held.at(at).is_some_and(|own| is_of_another_group(held.claim, own)),
    },
    Rule { id: ELSEWHERE, answer: Answer::Differs, holds: |held, _| is_elsewhere(held.claim, held.passage) },
    Rule {
        id: "scope.of_a_part",
        answer: Answer::Differs,
        holds: |held, at| held.at(at).is_some_and(|own| partial(held.claim, own)),
    },
    Rule {
        id: "scope.wider",
        answer: Answer::Differs,
        holds: |held, at| held.at(at).is_some_and(|own| widened(held.claim, own)),
    },
];

/// Words of groups with separate figures.
static GROUPS: [(Words, Words); 6] = [
    (Words::of("scope.men"), Words::of("scope.women")),
    (Words::of("scope.north"), Words::of("scope.south")),
    (Words::of("scope.east"), Words::of("scope.west")),
    (Words::of("scope.import"), Words::of("scope.export")),
    (Words::of("scope.children"), Words::of("scope.adults")),
    (Words::of("scope.urban"), Words::of("scope.rural")),
];

/// Whether the claim counts or measures something other than years.
pub(super) fn has_figure(claim: &TextProfile) -> bool {
    claim.quantities.iter().any(|quantity| !matches!(quantity.unit, Unit::Year | Unit::Ordinal | Unit::Identifier))
}

/// Whether the figure is of another group: men's for women's, the south's for the north's.
pub fn is_of_another_group(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ours = |list: &WordList| claim.sentences.iter().flat_map(|own| &own.spoken).any(|own| list.has(&own.text));
    let theirs = |list: &WordList| sentence.spoken.iter().any(|own| list.has(&own.text));
    let other = |one: &WordList, other: &WordList| ours(one) && !ours(other) && theirs(other) && !theirs(one);
    has_figure(claim) && GROUPS.iter().any(|(one, two)| other(one, two) || other(two, one))
}

/// Whether a claim about one of many ("a fire in Leeds") meets only other places. A unique thing ("the treaty") has one
/// place. Only English, whose article shows the difference.
fn is_elsewhere(claim: &TextProfile, passage: &TextProfile) -> bool {
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
    use proptest::prelude::*;

    use super::*;
    use crate::relations::{Relation, relations};

    fn rule(claim: &str, passage: &str) -> &'static str {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        let found = relations(&profile(claim), &profile(passage));
        found.findings().iter().find(|finding| finding.relation == Relation::Scope).map_or("", |finding| finding.rule)
    }

    #[test]
    fn another_group_a_part_and_all_are_told_apart() {
        for (claim, passage, expected) in [
            (
                "Women in Kastoria live to 84 on average.",
                "Average male life expectancy in Kastoria is 77 years.",
                "scope.other_group",
            ),
            ("The north tower is 180 metres tall.", "The south tower is 150 metres tall.", "scope.other_group"),
            ("The north tower is 180 metres tall.", "The north tower is 150 metres tall and the south one 90.", ""),
            (
                "A mosque was set on fire in Birmingham.",
                "In Malmö in Sweden a fire broke out in a school, police said.",
                ELSEWHERE,
            ),
            ("A mosque was set on fire in Birmingham.", "No mosque was set on fire in Birmingham, police said.", ""),
            ("Some vaccines are unsafe.", "Vaccines are safe.", "scope.of_a_part"),
            ("All schools in Odesa closed.", "Schools in Odesa closed.", "scope.wider"),
            ("Schools in Odesa closed.", "All schools in Odesa closed.", ""),
        ] {
            assert_eq!(rule(claim, passage), expected, "{claim} / {passage}");
        }
    }

    proptest! {
        #[test]
        fn a_text_is_of_its_own_scope(words in "[a-z]{3,9}( [a-z]{3,9}){2,8}") {
            let profile = TextProfile::new(&words, Some("en"), None, &[]);
            prop_assert!(!relations(&profile, &profile).differs(Relation::Scope));
        }
    }
}
