//! Distinguishes counts of the dead, injured, missing and detained, in any order of a sentence.

use crate::profile::TextProfile;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Quantity, Unit};

use super::sentence_at;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Dead,
    Hurt,
    Missing,
    Held,
}

static FATES: [(Fate, Words); 4] = [
    (Fate::Dead, Words::of("figures.fate.dead")),
    (Fate::Hurt, Words::of("figures.fate.hurt")),
    (Fate::Missing, Words::of("figures.fate.missing")),
    (Fate::Held, Words::of("figures.fate.held")),
];

/// The fate of the counted people: by the word before the figure ("killing two and injuring 14"), else after it ("two
/// killed and 14 injured"). No other figure may be between.
pub(super) fn fate(text: &TextProfile, figure: &Quantity) -> Option<Fate> {
    let sentence = sentence_at(text, figure.start).filter(|_| figure.unit == Unit::None)?;
    let mut own: Vec<&Quantity> =
        text.quantities.iter().filter(|other| (sentence.start..sentence.end).contains(&other.start)).collect();
    own.sort_by_key(|other| other.start);
    let place = own.iter().position(|other| other.start == figure.start)?;
    let end = |at: usize| own.get(at).map(|other| other.start + other.text.len());
    let before = |at: usize| {
        let from = at.checked_sub(1).and_then(end).unwrap_or(sentence.start);
        own.get(at).and_then(|other| text.text.get(from..other.start)).unwrap_or_default()
    };
    let behind = || {
        let to = own.get(place + 1).map_or(sentence.end, |next| next.start);
        end(place).and_then(|from| text.text.get(from..to)).unwrap_or_default()
    };
    let leads = named(before(0), true).is_some();
    let (ahead, after) = (named(before(place), true), named(behind(), false));
    if leads { ahead.or(after) } else { after.or(ahead) }
}

/// The first or last fate that a stretch names.
fn named(stretch: &str, is_last: bool) -> Option<Fate> {
    let lower = stretch.to_lowercase();
    let fate_of = |word: &str| FATES.iter().find(|(_, words)| words.has(word)).map(|(fate, _)| *fate);
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter_map(fate_of);
    if is_last { words.next_back() } else { words.next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_own() {
        let of = |text: &str, language: &str| -> Vec<Option<Fate>> {
            let profile = TextProfile::new(text, Some(language), None, &[]);
            profile.quantities.iter().map(|figure| fate(&profile, figure)).collect()
        };
        let both = [Some(Fate::Dead), Some(Fate::Hurt)];
        assert_eq!(of("The blast in Kyiv killed two people and injured 14.", "en"), both);
        assert_eq!(of("Two people were killed and 14 were wounded in Kyiv.", "en"), both);
        assert_eq!(of("В Запорожье погибли двое и ранены 14 человек.", "ru"), both);
        assert_eq!(of("Під час атаки загинули 14 людей, двоє поранені.", "uk"), both);
        assert_eq!(of("The factory made 14 cars and two buses.", "en"), [None, None]);
    }
}
