//! Names of a claim in another text: found, missing, or another one in their place.

use crate::profile::{SentenceProfile, TextProfile, Word};
use corroborate_language::entities::Entity;
use corroborate_language::names::same_key;
use corroborate_language::tokens;

/// Share of the words beside two names from which they stand in each other's place.
const NEARLY_ALL: f64 = 0.85;

/// Which names of a claim meet which of another text. Comparing names letter by letter is the dearest part of a
/// judgement, so it is done once a pair.
#[derive(Debug)]
pub struct Names {
    /// For each name of the claim, the positions of the same name in the other text.
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

    /// Share of the claim's names that the other text has; 1 of none.
    pub fn found(&self) -> f64 {
        if self.twins.is_empty() {
            return 1.0;
        }
        self.twins.iter().filter(|twins| !twins.is_empty()).count() as f64 / self.twins.len() as f64
    }

    /// The stems of the claim's names that the other text has, as far as `counts` says so: all of a name's where the
    /// whole name is there, the last where only a surname is.
    pub(crate) fn told<'a>(
        &self,
        claim: &'a TextProfile,
        other: &TextProfile,
        counts: impl Fn(&[usize]) -> bool,
    ) -> Vec<&'a String> {
        let mut told = Vec::new();
        for (twins, stems) in self.twins.iter().zip(&claim.name_stems) {
            let most = twins.iter().filter_map(|at| other.name_stems.get(*at)).map(Vec::len).max();
            if let Some(most) = most.filter(|_| counts(twins)) {
                let known = if most >= stems.len() { 0 } else { stems.len().saturating_sub(1) };
                told.extend(stems.get(known..).unwrap_or_default());
            }
        }
        told
    }

    /// Whether every name of the claim stands in that sentence of the other text, or is told by its other sentences while
    /// this one names nobody else, for then "he" or "the city" is it.
    pub(crate) fn stand_in(&self, sentence: &SentenceProfile) -> bool {
        let names_others = sentence.names.iter().any(|position| !self.holds(*position));
        let stands = |twins: &Vec<usize>| twins.iter().any(|position| sentence.names.contains(position));
        self.twins.iter().all(|twins| stands(twins) || (!twins.is_empty() && !names_others))
    }

    /// Whether a position of the other text is a name of the claim.
    pub(crate) fn holds(&self, position: usize) -> bool {
        self.twins.iter().any(|twins| twins.contains(&position))
    }
}

/// Whether a text has that name, in any spelling.
pub fn has_name(text: &TextProfile, name: &Entity) -> bool {
    text.entities.iter().any(|other| same_key(&other.key, &name.key))
}

/// Whether two texts name the same names, neither one more than the other.
pub fn same_names(a: &TextProfile, b: &TextProfile) -> bool {
    a.entities.iter().all(|name| has_name(b, name)) && b.entities.iter().all(|name| has_name(a, name))
}

/// The one name of ours and the one of theirs that have no counterpart, where there is exactly one of each, of one
/// kind, and nearly all other words of ours are in theirs.
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
    let nearly_all = rest.len() >= 2 && held as f64 >= NEARLY_ALL * rest.len() as f64;
    (mine.kind == other.kind && nearly_all).then(|| (mine.text.clone(), other.text.clone()))
}
