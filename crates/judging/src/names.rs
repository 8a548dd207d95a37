//! Finds names of a claim in another text: present, missing or replaced.

use crate::profile::{SentenceProfile, TextProfile, Word};
use corroborate_language::entities::Entity;
use corroborate_language::names::same_key;
use corroborate_language::tokens;

/// Minimum common words if one name replaces another.
const MIN_COMMON_SHARE: f64 = 0.85;

/// The matching names of a claim and a text. Computed once per pair, because comparison by letters is the most
/// expensive step.
#[derive(Debug)]
pub struct Names {
    /// Per name of the claim, its positions in the other text.
    twins: Vec<Vec<usize>>,
}

impl Names {
    pub fn new(claim: &TextProfile, other: &TextProfile) -> Self {
        let twins_of = |name: &Entity| -> Vec<usize> {
            let positions = |same: &dyn Fn(&Entity) -> bool| -> Vec<usize> {
                other.entities.iter().enumerate().filter(|(_, twin)| same(twin)).map(|(at, _)| at).collect()
            };
            let exact = positions(&|twin| twin.key == name.key);
            if exact.is_empty() { positions(&|twin| same_key(&twin.key, &name.key)) } else { exact }
        };
        Self { twins: claim.entities.iter().map(twins_of).collect() }
    }

    /// Share of the claim's names in the other text; 1 without names.
    pub fn found(&self) -> f64 {
        if self.twins.is_empty() {
            return 1.0;
        }
        self.twins.iter().filter(|twins| !twins.is_empty()).count() as f64 / self.twins.len() as f64
    }

    /// Stems accepted by `counts`: all of a whole name, the last of a surname.
    pub(crate) fn accepted_stems<'a>(
        &self,
        claim: &'a TextProfile,
        other: &TextProfile,
        counts: impl Fn(&[usize]) -> bool,
    ) -> Vec<&'a String> {
        let mut accepted = Vec::new();
        for (twins, stems) in self.twins.iter().zip(&claim.name_stems) {
            let most = twins.iter().filter_map(|at| other.name_stems.get(*at)).map(Vec::len).max();
            if let Some(most) = most.filter(|_| counts(twins)) {
                let known = if most >= stems.len() { 0 } else { stems.len().saturating_sub(1) };
                accepted.extend(stems.get(known..).unwrap_or_default());
            }
        }
        accepted
    }

    /// Whether the sentence has all names, or other sentences do and it has no other name, so that "he" or "the city"
    /// refers to it.
    pub(crate) fn are_covered_by(&self, sentence: &SentenceProfile) -> bool {
        let names_others = sentence.names.iter().any(|position| !self.holds(*position));
        let is_named = |twins: &Vec<usize>| twins.iter().any(|position| sentence.names.contains(position));
        self.twins.iter().all(|twins| is_named(twins) || (!twins.is_empty() && !names_others))
    }

    pub(crate) fn holds(&self, position: usize) -> bool {
        self.twins.iter().any(|twins| twins.contains(&position))
    }
}

/// Whether the text has the name in any spelling.
pub fn has_name(text: &TextProfile, name: &Entity) -> bool {
    text.entities.iter().any(|other| same_key(&other.key, &name.key))
}

pub fn same_names(a: &TextProfile, b: &TextProfile) -> bool {
    a.entities.iter().all(|name| has_name(b, name)) && b.entities.iter().all(|name| has_name(a, name))
}

/// Whether both texts have their shared names in one order: "A sued B" is not "B sued A".
pub fn in_order(a: &TextProfile, b: &TextProfile) -> bool {
    let place = |name: &Entity| b.entities.iter().position(|other| same_key(&other.key, &name.key));
    a.entities.iter().filter_map(place).is_sorted()
}

/// The only unmatched names, if of one kind and nearly all other words match.
pub fn differing_names(ours: &TextProfile, theirs: &TextProfile) -> Option<(String, String)> {
    let without = |from: &TextProfile, other: &TextProfile| -> Vec<Entity> {
        from.entities.iter().filter(|name| !has_name(other, name)).cloned().collect()
    };
    let (mine, other) = (without(ours, theirs), without(theirs, ours));
    let ([mine], [other]) = (mine.as_slice(), other.as_slice()) else {
        return None;
    };
    let own_words = tokens::content_stems(&mine.text, ours.language.as_deref());
    let rest: Vec<&Word> = ours.words.iter().filter(|word| !own_words.contains(&word.stem)).collect();
    let held = rest.iter().filter(|word| theirs.has_stem(&word.stem)).count();
    let nearly_all = rest.len() >= 2 && held as f64 >= MIN_COMMON_SHARE * rest.len() as f64;
    (mine.kind == other.kind && nearly_all).then(|| (mine.text.clone(), other.text.clone()))
}
