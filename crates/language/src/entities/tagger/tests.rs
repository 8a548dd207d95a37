use super::EntityKind::{Loc, Org, Person};
use super::*;

fn named(sentence: &str) -> Vec<(&str, EntityKind)> {
    let is_ukrainian = crate::entities::cyrillic::is_ukrainian(sentence, None);
    tagged(sentence, is_ukrainian).iter().map(|span| (cut(sentence, span.start, span.end), span.kind)).collect()
}

/// Results of the Python package.
#[test]
fn sentences_are_tagged_as_by_the_network_s_authors() {
    let expected: [(&str, &[(&str, EntityKind)]); 7] = [
        (
            "Президент США Джо Байден прибыл в Киев, сообщает РИА Новости.",
            &[("США", Loc), ("Джо Байден", Person), ("Киев", Loc), ("РИА Новости", Org)],
        ),
        (
            "В Нью-Йорке суд оштрафовал компанию «Рога и копыта» на 5,2 млн рублей.",
            &[("Нью-Йорке", Loc), ("Рога и копыта", Org)],
        ),
        ("Минобороны РФ заявило об ударе по Харькову.", &[("Минобороны", Org), ("РФ", Loc)]),
        ("Об этом сообщил глава ВОЗ Тедрос Гебрейесус...", &[("ВОЗ", Org), ("Тедрос Гебрейесус", Person)]),
        ("Газпром снизил поставки через порт Усть-Луга.", &[("Газпром", Org), ("Усть-Луга", Loc)]),
        ("Вакцины не вызывают аутизм.", &[]),
        (
            "Вчера Верховный суд Российской Федерации отклонил жалобу Алексея Навального.",
            &[("Верховный суд", Org), ("Российской Федерации", Loc), ("Алексея Навального", Person)],
        ),
    ];
    for (sentence, names) in expected {
        assert_eq!(named(sentence), names, "{sentence}");
    }
}

#[test]
fn a_ukrainian_sentence_is_read_by_its_russian_words() {
    assert_eq!(
        named("Президент України Володимир Зеленський зустрівся з Емманюелем Макроном у Парижі."),
        [("України", Loc), ("Володимир Зеленський", Person), ("Емманюелем Макроном", Person), ("Парижі", Loc)]
    );
}

#[test]
fn a_sentence_without_words_and_one_without_end_are_no_trouble() {
    assert!(named("").is_empty());
    assert!(named("...").is_empty());
    let long = "Он ехал в Киев. ".repeat(1000);
    assert!(named(&long).iter().all(|(name, _)| name.contains("Киев")));
}

/// Names beyond the first 256 words, and across windows, are found.
#[test]
fn names_are_found_when_they_are_far_from_the_beginning() {
    let (name, filler) = ("Алексея Навального", "и ещё была жалоба");
    for before in [0, 20, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 110, 300] {
        // Moves the name across window edges.
        for more in ["", "вчера ", "вчера же ", "вчера же вот "] {
            let sentence = format!("{}{more}они видели {name}, {filler}", format!("{filler}, ").repeat(before));
            assert_eq!(named(&sentence), [(name, Person)], "{before} {more:?}");
        }
    }
    let list: Vec<String> = (0..300).map(|number| format!("в Киев приехал участник номер {number}")).collect();
    assert_eq!(named(&list.join(", ")).len(), 300, "each Kyiv once, those in two windows too");
}

#[test]
fn a_sentence_that_was_read_before_gives_the_same_again() {
    let sentence = "Глава МИД Китая Ван И вылетел в Москву.";
    assert_eq!(tagged(sentence, false), tagged(sentence, false));
    assert!(!tagged(sentence, false).is_empty());
}

/// Encyclopaedias stress names; some pages decompose "й" and "ї".
#[test]
fn name_is_found_at_its_place_when_it_is_stressed() {
    for (sentence, names) in [
        (
            "Влади\u{301}мир Зеле\u{301}нский прилетел в Варша\u{301}ву.",
            [("Влади\u{301}мир Зеле\u{301}нский", Person), ("Варша\u{301}ву", Loc)],
        ),
        ("Сергеи\u{306} Лавров выступил в Нью-Йорке.", [("Сергеи\u{306} Лавров", Person), ("Нью-Йорке", Loc)]),
    ] {
        assert_eq!(named(sentence), names, "{sentence}");
    }
    assert_eq!(shape::small("Зеле\u{301}нськии\u{306}"), "зеленський");
}
