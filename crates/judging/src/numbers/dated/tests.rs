use super::super::compare;
use super::*;

fn agrees(claim: &str, passage: &str) -> Option<bool> {
    let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
    compare(&profile(claim), &profile(passage)).num_ok
}

#[test]
fn date_differs_when_it_is_the_only_one_of_its_sentence() {
    let museum = "The museum in Kyiv was opened in 1994.";
    assert_eq!(agrees("The museum in Kyiv was opened in 1995.", museum), Some(false));
    assert_eq!(agrees("The museum in Kyiv was visited in 1995.", museum), None);
    let twice = "The museum in Kyiv was opened in 1934 and opened again in 1944.";
    assert_eq!(agrees("The museum in Kyiv was opened in 1954.", twice), None);
    assert_eq!(agrees("The museum in Kyiv was opened in 1944.", twice), Some(true));
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
