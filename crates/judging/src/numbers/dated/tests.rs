use super::super::{NumberCheck, compare};
use super::*;

fn held(claim: &str, passage: &str, language: &str) -> NumberCheck {
    let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
    compare(&profile(claim), &profile(passage))
}

fn agrees(claim: &str, passage: &str) -> Option<bool> {
    held(claim, passage, "en").num_ok
}

#[test]
fn a_sentence_with_two_dates_has_one_for_each_event() {
    let passage =
        "Gray Matter Studios was a game developer founded in 1994, and acquired by Activision in January 2002.";
    let rows = [
        ("Gray Matter Studios was founded in 1995.", Some(false)),
        ("Gray Matter Studios was founded in 1994.", Some(true)),
        ("Gray Matter Studios was acquired by Activision in 2003.", Some(false)),
        ("Gray Matter Studios was sold in 2005.", None),
    ];
    for (claim, expected) in rows {
        assert_eq!(agrees(claim, passage), expected, "{claim}");
    }
}

#[test]
fn the_same_event_of_another_thing_is_another_event() {
    let rows = [
        (
            "Elon Musk founded SpaceX in 2002.",
            "Elon Musk founded Tesla in 2003, a year after SpaceX, and sold Zip2 in 1999.",
            "en",
        ),
        ("Elon Musk founded SpaceX in 2002.", "Elon Musk founded Tesla in 2003, a year after SpaceX.", "en"),
        (
            "Elon Musk founded SpaceX in 2004.",
            "Elon Musk founded Tesla in 2003 and, with others, SpaceX in 2002.",
            "en",
        ),
        (
            "Ivan Petrov joined Dynamo Kyiv in 2005.",
            "Ivan Petrov joined Arsenal in 2003 and left for Dynamo Kyiv two years later, retiring in 2010.",
            "en",
        ),
        ("Илон Маск основал SpaceX в 2002 году.", "Илон Маск основал Tesla в 2003 году, через год после SpaceX.", "ru"),
        (
            "Ілон Маск заснував SpaceX у 2002 році.",
            "Ілон Маск заснував Tesla у 2003 році, через рік після SpaceX.",
            "uk",
        ),
    ];
    for (claim, passage, language) in rows {
        assert_eq!(held(claim, passage, language).num_ok, None, "{claim} / {passage}");
    }
}

#[test]
fn event_is_found_in_the_clause_when_word_order_is_free() {
    let rows = [
        (
            "Мост в Херсоне открыт в 1936 году.",
            "Мост в Херсоне в 1934 году открыт, а в 1944 году взорван.",
            Some(false),
        ),
        (
            "Мост в Херсоне взорван в 1944 году.",
            "Мост в Херсоне в 1934 году открыт, а в 1944 году взорван.",
            Some(true),
        ),
        ("Завод в Одессе закрыт в 1995 году.", "Завод в Одессе в 2003 году был закрыт.", Some(false)),
        (
            "Владимир Путин 24 февраля 2022 года объявил о начале операции.",
            "Владимир Путин 23 февраля 2022 года объявил о начале операции.",
            Some(false),
        ),
    ];
    for (claim, passage, expected) in rows {
        assert_eq!(held(claim, passage, "ru").num_ok, expected, "{claim} / {passage}");
    }
    let rows = [
        ("Завод в Одесі закрито в 1995 році.", "Завод в Одесі у 2003 році закрито.", Some(false)),
        (
            "24 лютого 2022 року Володимир Зеленський оголосив воєнний стан.",
            "Володимир Зеленський 23 лютого 2022 року оголосив воєнний стан.",
            Some(false),
        ),
    ];
    for (claim, passage, expected) in rows {
        assert_eq!(held(claim, passage, "uk").num_ok, expected, "{claim} / {passage}");
    }
}

#[test]
fn the_date_of_another_event_is_no_other_date() {
    let siege = "The Siege of Fort Stanwix began on August 2, 1777, and ended in the same month.";
    assert_eq!(agrees("The Siege of Fort Stanwix ended on August 22, 1777.", siege), None);
    let sequel = "It is the sequel to 1982's Blade Runner and stars Ryan Gosling.";
    assert_eq!(agrees("Ryan Gosling stars in Blade Runner 2049.", sequel), None);
    let twice = "The bridge over the Dnipro was opened in 1934 and opened again in 1944.";
    assert_eq!(agrees("The bridge over the Dnipro was opened in 1954.", twice), None);
}

#[test]
fn what_a_date_dates_may_follow_it() {
    let first = "In 1994 the bridge over the Dnipro was opened.";
    assert_eq!(agrees("The bridge over the Dnipro was opened in 1995.", first), Some(false));
    let adjective = "Gray Matters is a 2006 comedy film directed by Sue Kramer.";
    assert_eq!(agrees("Gray Matters was directed by Sue Kramer in 2001.", adjective), Some(false));
    assert_eq!(agrees("Gray Matters is a 2001 comedy film.", adjective), Some(false));
    // The prize's year is not the film's.
    assert_eq!(
        agrees("Gray Matters is a 2001 comedy film.", "Gray Matters, a comedy film, won a prize in 2007."),
        None
    );
}

#[test]
fn date_is_found_at_its_place_when_its_digits_occur_twice() {
    let passage = "There are 11994 items. The museum in Kyiv was opened in 1994.";
    assert_eq!(agrees("The museum in Kyiv was opened in 1994.", passage), Some(true));
}

#[test]
fn events_recur_or_happen_once() {
    for (claim, expected) in [
        ("Macron visited Kyiv in 2022.", Some(Recurrence::Again)),
        ("Siemens had 300,000 employees in 2020.", Some(Recurrence::Again)),
        ("Ofwat fined Thames Water in 2024.", Some(Recurrence::Unknown)),
        ("The euro was launched in 2001.", Some(Recurrence::Unknown)),
        ("Apollo 11 landed on the Moon in 1968.", None),
        ("Obama was first elected president in 2006.", None),
        ("World War II ended in 1944.", None),
        ("The Moscow metro opened in 1935.", None),
        ("The Titanic was a ship that sank in 1912.", None),
        ("Олимпийский победитель Иванов умер в 1990 году.", None),
        ("Победа над Данией была в 2018 году.", Some(Recurrence::Again)),
        ("Meryl Streep won her first Oscar in 1975.", None),
        ("A ferry sank off Indonesia in 2018.", Some(Recurrence::Unknown)),
        ("Юрий Гагарин полетел в космос в 1963 году.", None),
        ("A landslide hit Nepal in 2018.", Some(Recurrence::Unknown)),
    ] {
        let language = if has_cyrillic(claim) { "ru" } else { "en" };
        let found = recurrence(&TextProfile::new(claim, Some(language), None, &[]));
        assert_eq!((found != Recurrence::Once).then_some(found), expected, "{claim}");
    }
}
