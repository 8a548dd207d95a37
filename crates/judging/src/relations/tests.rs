//! Properties of all relations.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn every_rule_has_an_id_of_its_relation_and_of_its_own() {
    let ids: Vec<&str> = rule_ids().collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    for relation in Relation::ALL {
        for rule in rules_of(relation) {
            assert!(rule.id.starts_with(&format!("{}.", relation.as_str())), "{}", rule.id);
        }
    }
}

proptest! {
    #[test]
    fn answers_come_with_a_rule_and_a_span_within_the_passage(claim in "\\PC{0,80}", passage in "\\PC{0,160}") {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        let found = relations(&profile(&claim), &profile(&passage));
        for finding in found.findings() {
            prop_assert!(passage.get(finding.span.0..finding.span.1).is_some());
            prop_assert!(finding.answer == Answer::Unknown || rule_ids().any(|id| id == finding.rule));
        }
    }
}
