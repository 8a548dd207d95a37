use super::EntityKind::{Loc, Org, Person};
use super::*;

fn named(sentence: &str) -> Vec<(&str, EntityKind)> {
    tagged(sentence).iter().map(|span| (cut(sentence, span.start, span.end), span.kind)).collect()
}

/// What the Python package gives for these sentences with the same words cut from its vectors.
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

#[test]
fn a_sentence_that_was_read_before_gives_the_same_again() {
    let sentence = "Глава МИД Китая Ван И вылетел в Москву.";
    assert_eq!(tagged(sentence), tagged(sentence));
    assert!(!tagged(sentence).is_empty());
}
