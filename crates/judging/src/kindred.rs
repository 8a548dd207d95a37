//! Maps Ukrainian words to related Russian ones. Names, figures and dates match without this.

use std::collections::BTreeMap;

use corroborate_language::cognates;

use super::profile::{SentenceWord, TextProfile};

/// A Ukrainian profile with Russian stems; text, names, figures and dates stay. A word without a relative matches
/// nothing.
#[must_use]
pub fn in_russian(profile: &TextProfile) -> TextProfile {
    let all_words = || profile.sentences.iter().flat_map(|sentence| &sentence.words);
    let mut table: BTreeMap<&str, String> = BTreeMap::new();
    for SentenceWord { text, stem, .. } in all_words() {
        table.entry(stem.as_str()).or_insert_with(|| cognates::stem(text));
    }
    let map_stem = |stem: &mut String| {
        if let Some(russian) = table.get(stem.as_str()) {
            stem.clone_from(russian);
        }
    };
    let mut shared = profile.clone();
    shared.words.iter_mut().for_each(|word| map_stem(&mut word.stem));
    shared.words.sort_by(|a, b| a.stem.cmp(&b.stem).then_with(|| b.weight.total_cmp(&a.weight)));
    shared.words.dedup_by(|later, earlier| later.stem == earlier.stem);
    shared.name_stems.iter_mut().flatten().for_each(map_stem);
    for sentence in &mut shared.sentences {
        sentence.stems.iter_mut().for_each(map_stem);
        sentence.stems.sort_unstable();
        sentence.stems.dedup();
        sentence.words.iter_mut().for_each(|word| map_stem(&mut word.stem));
    }
    shared
}

/// The mapped words in order, for an embedder that hashes words.
pub fn words_in_russian(profile: &TextProfile) -> String {
    let words = profile.sentences.iter().flat_map(|sentence| &sentence.words);
    words.map(|word| cognates::word(&word.text)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::coverage;

    fn profile(text: &str, language: &str) -> TextProfile {
        TextProfile::new(text, Some(language), None, &[])
    }

    #[test]
    fn the_same_news_meet_across_the_two_languages() {
        for (russian, ukrainian) in [
            ("Министр обороны заявил о новой помощи.", "Міністр оборони заявив про нову допомогу."),
            ("Президент подписал закон о выборах.", "Президент підписав закон про вибори."),
            ("Полиция задержала директора компании.", "Поліція затримала директора компанії."),
        ] {
            let (claim, passage) = (profile(russian, "ru"), profile(ukrainian, "uk"));
            let (plain, shared) = (coverage(&claim, &passage), coverage(&claim, &in_russian(&passage)));
            assert!(shared > plain && shared >= 0.6, "{russian}: {plain:.2} {shared:.2}");
        }
    }

    /// Prints figures for `docs/quality.md`: sentences in both languages, each with its twin and a stranger.
    #[test]
    fn sentences_meet_their_twins_and_no_strangers() {
        let Some(text) = corroborate_labelled::read("parallel_ru_uk/pairs.tsv.gz") else { return };
        for source in ["ntrex", "wmt22", "wmt23"] {
            let of_source =
                text.lines().filter_map(|line| line.strip_prefix(source)?.strip_prefix('\t')?.split_once('\t'));
            let pairs: Vec<(TextProfile, TextProfile)> = of_source
                .filter(|(russian, _)| (40..200).contains(&russian.chars().count()))
                .step_by(5)
                .take(300)
                .map(|(russian, ukrainian)| (profile(russian, "ru"), profile(ukrainian, "uk")))
                .collect();
            if pairs.is_empty() {
                continue;
            }
            let mean = |shift: usize, kindred: bool| -> f64 {
                let twins = pairs.iter().cycle().skip(shift).map(|(_, ukrainian)| ukrainian);
                let shared = pairs.iter().zip(twins).map(|((russian, _), ukrainian)| {
                    if kindred { coverage(russian, &in_russian(ukrainian)) } else { coverage(russian, ukrainian) }
                });
                shared.sum::<f64>() / pairs.len() as f64
            };
            let (plain, shared) = (mean(0, false), mean(0, true));
            let (strange, strange_shared) = (mean(7, false), mean(7, true));
            println!(
                "{source}: {} pairs; share of the Russian words found in the Ukrainian twin {plain:.3}, by kindred words \
                 {shared:.3}; in another sentence {strange:.3}, {strange_shared:.3}",
                pairs.len()
            );
            assert!(shared > plain + 0.1 && strange_shared < 0.1, "{source}: {shared:.3} {strange_shared:.3}");
        }
    }

    #[test]
    fn the_text_its_names_and_its_figures_stay() {
        let passage = profile("У Києві 12 травня закрили 3 школи, сказав міністр.", "uk");
        let shared = in_russian(&passage);
        assert_eq!((&shared.text, &shared.entities), (&passage.text, &passage.entities));
        assert_eq!((&shared.quantities, &shared.dates), (&passage.quantities, &passage.dates));
        assert!(shared.words.windows(2).all(|pair| pair[0].stem < pair[1].stem));
    }
}
