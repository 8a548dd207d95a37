use std::collections::BTreeSet;

use super::*;

fn causes() -> Vec<Degradation> {
    let with_name = [
        Degradation::ProviderOpen,
        Degradation::ProviderBusy,
        Degradation::ProviderFailed,
        Degradation::ProviderDisabled,
        Degradation::StoreAway,
    ];
    let named = with_name.into_iter().map(|cause| cause("google_factcheck".to_owned()));
    let models = ["embedder", "stance", "reranker"].map(|model| Degradation::ModelFailed(model.to_owned()));
    let bare = Degradation::BARE.iter().cloned();
    named.chain(models).chain(bare).collect()
}

fn all_labels() -> Vec<(String, Words)> {
    let mut all: Vec<(String, Words)> = Vec::new();
    all.extend(Verdict::ALL.iter().map(|one| (one.to_string(), verdict(*one))));
    all.extend(Tier::ALL.iter().map(|one| (one.to_string(), tier(*one))));
    all.extend(Note::ALL.iter().map(|one| (one.to_string(), note(*one))));
    all.extend(Relation::ALL.iter().map(|one| (one.to_string(), fact_check(*one))));
    all.extend(Phrase::ALL.iter().map(|one| (format!("{one:?}"), one.words())));
    all.extend(causes().iter().map(|one| (one.to_string(), degradation(one))));
    for verdict in Verdict::ALL {
        let both = [true, false].into_iter().filter_map(|sure| decisive(*verdict, sure));
        all.extend(both.map(|words| (format!("decisive {verdict}"), words)));
    }
    for kind in CorrectionType::ALL {
        all.extend(Apply::ALL.iter().map(|apply| (format!("{kind} {apply}"), correction(*kind, *apply))));
    }
    all
}

#[test]
fn every_label_is_in_the_letters_of_its_language_and_none_is_a_name_of_ours() {
    let cyrillic = |text: &str| text.chars().any(|c| matches!(c, 'а'..='я' | 'А'..='Я' | 'і' | 'ї' | 'є'));
    let latin = |text: &str| text.chars().any(|c| c.is_ascii_alphabetic());
    for (of, words) in all_labels() {
        for reader in ReaderLanguage::ALL {
            let label = words.of(reader);
            assert!(!label.is_empty() && !label.contains('_') && label.trim() == label, "{of}: {label:?}");
        }
        for reader in [ReaderLanguage::Russian, ReaderLanguage::Ukrainian] {
            let label = words.of(reader);
            assert!(cyrillic(label) && !latin(label), "{of}: {label:?} mixes two alphabets");
        }
        let russian_only = words.of(ReaderLanguage::Ukrainian).contains(['ы', 'э', 'ё', 'ъ']);
        let ukrainian_only = words.of(ReaderLanguage::Russian).contains(['і', 'ї', 'є', 'ґ']);
        assert!(!russian_only && !ukrainian_only, "{of}: {words:?}");
        assert_ne!(words.of(ReaderLanguage::English), words.of(ReaderLanguage::Portuguese), "{of}");
    }
}

#[test]
fn two_values_of_one_table_never_share_a_label() {
    for reader in ReaderLanguage::ALL {
        let labels: Vec<String> = causes().iter().map(|one| cause(&one.to_string(), reader)).collect();
        assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len(), "{labels:#?}");
        let labels: Vec<&str> = Note::ALL.iter().map(|one| note(*one).of(reader)).collect();
        assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len(), "{labels:#?}");
    }
}

#[test]
fn cause_names_its_component_without_its_stored_form() {
    let label = |stored, language| cause(stored, ReaderLanguage::of(Some(language)));
    assert_eq!(label("provider_failed:feeds", "en"), "news feeds: no usable answer");
    assert_eq!(label("provider_failed:feeds", "ru"), "новостные ленты: не удалось получить ответ");
    assert_eq!(label("provider_open:gdelt", "uk"), "GDELT: запити зараз не приймаються");
    assert_eq!(label("deadline", "pt-BR"), "o tempo se esgotou");
    assert_eq!(label("something_new:x", "ru"), "другой сбой", "a later version's cause");
}

#[test]
fn the_line_for_a_digest_says_which_side_the_sources_take() {
    let line = |supporting, contradicting, language| {
        evidence(supporting, contradicting, ReaderLanguage::of(Some(language))).unwrap_or_default()
    };
    assert_eq!(line(3, 0, "en"), "Evidence: 3 sources support the claim");
    assert_eq!(line(1, 2, "en"), "Evidence: 1 source supports the claim, 2 contradict it");
    assert_eq!(line(0, 1, "ru"), "Источники: противоречат — 1");
    assert_eq!(line(2, 1, "uk"), "Джерела: підтверджують — 2, суперечать — 1");
    assert_eq!(line(0, 0, "pt"), "");
}

#[test]
fn a_quotation_has_the_marks_of_the_reader_s_language() {
    assert_eq!(quoted("Завод «Ярмаш» закрыт", ReaderLanguage::Russian), "«Завод „Ярмаш“ закрыт»");
    assert_eq!(quoted("The plant is shut", ReaderLanguage::English), "“The plant is shut”");
}
