//! Texts that the rules judge, and texts that they leave neutral.

use proptest::prelude::*;

use corroborate_domain::verdict::Stance;
use corroborate_language::hashed::HashedEmbedder;

use super::order::longest_ascent;
use super::*;
use crate::relations::roles::swapped_roles;

fn profile(text: &str) -> TextProfile {
    TextProfile::new(text, None, None, &[]).with_embedding(HashedEmbedder::default().embed_one(text))
}

fn judged(claim: &str, passage: &str) -> StanceProbabilities {
    rule_stance(&profile(claim), &profile(passage), 0.65)
}

fn stance(claim: &str, passage: &str) -> Stance {
    let p = judged(claim, passage);
    if p.contradict >= 0.6 {
        Stance::Contradicts
    } else if p.entail >= 0.6 && p.contradict < 0.5 {
        Stance::Supports
    } else {
        Stance::Neutral
    }
}

#[test]
fn reports_denials_and_everything_between() {
    use Stance::{Contradicts, Neutral, Supports};
    let rows = [
        (
            "The mayor of Odesa resigned on Monday.",
            "The mayor of Odesa resigned on Monday, the council said.",
            Supports,
        ),
        ("Мэр Одессы подал в отставку.", "Как сообщил горсовет, мэр Одессы подал в отставку.", Supports),
        ("Мер Одеси подав у відставку.", "Мер Одеси подав у відставку, повідомила міська рада.", Supports),
        ("The mayor of Odesa resigned.", "The mayor of Odesa has not resigned.", Contradicts),
        ("The mayor of Odesa has not resigned.", "The mayor of Odesa resigned.", Contradicts),
        ("The mayor of Odesa has not resigned.", "The mayor of Odesa has not resigned.", Supports),
        ("Мэр Одессы подал в отставку.", "Мэр Одессы не подал в отставку.", Contradicts),
        ("Vaccines cause autism.", "There is no evidence that vaccines cause autism.", Contradicts),
        // Hedged, asked, or called untrue.
        ("The mayor of Odesa resigned.", "Rivals claimed that the mayor of Odesa resigned.", Neutral),
        ("The mayor of Odesa resigned.", "Has the mayor of Odesa resigned?", Neutral),
        ("The mayor of Odesa resigned.", "If the mayor of Odesa resigned, voters would cheer.", Neutral),
        ("Мэр Одессы подал в отставку.", "Якобы мэр Одессы подал в отставку.", Neutral),
        // Other names, other roles, wider claims, other words.
        ("The mayor of Odesa resigned.", "The mayor of Lviv resigned.", Neutral),
        ("Russia invaded Ukraine.", "Ukraine invaded Russia.", Neutral),
        ("All schools in Odesa closed.", "Schools in Odesa closed.", Neutral),
        ("The mayor of Odesa resigned.", "The mayor of Odesa opened a bridge.", Neutral),
        ("The mayor of Odesa resigned.", "", Neutral),
        ("", "The mayor of Odesa resigned.", Neutral),
    ];
    for (claim, passage, expected) in rows {
        assert_eq!(stance(claim, passage), expected, "{claim} / {passage}: {:?}", judged(claim, passage));
    }
}

#[test]
fn a_figure_that_differs_contradicts_and_one_that_is_missing_does_not_support() {
    let claim = "The fire in Odesa killed 37 people.";
    assert_eq!(stance(claim, "The fire in Odesa killed 37 people, doctors said."), Stance::Supports);
    assert_eq!(stance(claim, "The fire in Odesa killed 12 people, doctors said."), Stance::Contradicts);
    assert_eq!(stance(claim, "The fire in Odesa killed people."), Stance::Neutral);
}

#[test]
fn a_passive_keeps_the_roles() {
    assert_eq!(stance("Russia invaded Ukraine.", "Ukraine was invaded by Russia."), Stance::Supports);
    assert!(swapped_roles(&profile("Russia invaded Ukraine."), &profile("Ukraine invaded Russia.")));
    assert!(!swapped_roles(&profile("Russia invaded Ukraine."), &profile("Ukraine was invaded by Russia.")));
}

#[test]
fn a_higher_bar_supports_less() {
    let (claim, passage) = ("The mayor of Odesa resigned.", "The mayor of Odesa resigned after a vote, reports say.");
    assert!(rule_stance(&profile(claim), &profile(passage), 0.65).entail >= 0.6);
    assert!(rule_stance(&profile(claim), &profile(passage), 0.99).entail < 0.6);
}

#[test]
fn the_longest_ascent_is_found() {
    assert_eq!(longest_ascent(&[]), 0);
    assert_eq!(longest_ascent(&[3, 1, 2, 5, 4]), 3);
    assert_eq!(longest_ascent(&[1, 1, 1]), 1);
}

proptest! {
    #[test]
    fn figures_are_probabilities(claim in "\\PC{0,60}", passage in "\\PC{0,120}", bar in 0.0..=1.0f64) {
        let p = rule_stance(&profile(&claim), &profile(&passage), bar);
        for figure in [p.entail, p.contradict, p.neutral] {
            prop_assert!((0.0..=1.0).contains(&figure), "{:?}", p);
        }
        prop_assert!(p.entail + p.contradict + p.neutral <= 1.0 + 1e-9, "{:?}", p);
        prop_assert!(p.entail < 0.6 || p.contradict < 0.5);
    }

    #[test]
    fn a_denied_copy_never_supports(words in prop::collection::vec("[a-z]{4,9}", 3..7), at in 1usize..3) {
        // "Not only" denies nothing.
        prop_assume!(!words.iter().any(|word| matches!(word.as_str(), "only" | "just" | "merely" | "simply")));
        let plain = words.join(" ");
        let mut denied = words.clone();
        denied.insert(at, "not".to_owned());
        let p = judged(&plain, &denied.join(" "));
        prop_assert!(p.entail < 0.6, "{plain} / {}: {:?}", denied.join(" "), p);
    }
}

#[test]
fn a_claim_of_some_is_not_turned_round_by_what_holds_in_general() {
    assert_eq!(stance("Some vaccines are not safe.", "Vaccines are safe."), Stance::Neutral);
    assert_eq!(stance("Vaccines are not safe.", "Vaccines are safe."), Stance::Contradicts);
    assert_eq!(stance("Некоторые мосты не закрыты.", "Мосты закрыты."), Stance::Neutral);
    assert_eq!(stance("Деякі мости не закриті.", "Мости закриті."), Stance::Neutral);
    assert_eq!(stance("Some schools in Odesa closed.", "No schools in Odesa closed."), Stance::Contradicts);
}

#[test]
fn another_score_or_time_of_day_is_not_borne_out() {
    for (claim, same, other) in [
        (
            "Поезд в Киев отправился в 10:30.",
            "Поезд в Киев отправился в 10.30, сообщили в депо.",
            "Поезд в Киев отправился в 14:45.",
        ),
        ("«Динамо» обыграло «Шахтёр» 2:1.", "«Динамо» обыграло «Шахтёр» 2-1.", "«Динамо» обыграло «Шахтёр» 3:1."),
    ] {
        assert_eq!(stance(claim, same), Stance::Supports, "{same}");
        assert_ne!(stance(claim, other), Stance::Supports, "{other}");
    }
}

#[test]
fn a_bridge_is_no_city() {
    let city = "Росіяни захопили місто біля Херсона, повідомив Генштаб.";
    assert_ne!(stance("Росіяни захопили міст біля Херсона.", city), Stance::Supports);
    assert_eq!(stance("Росіяни захопили місто біля Херсона.", city), Stance::Supports);
    assert_ne!(stance("Росіяни захопили місто біля Херсона.", "Росіяни захопили міст біля Херсона."), Stance::Supports);
}

/// Words that only look like doubt: May, lieutenant, a research institute, a jammed signal.
#[test]
fn words_that_only_look_like_doubt_are_none() {
    for (claim, passage) in [
        (
            "The Orrin Bridge opened to traffic on 3 May.",
            "The Orrin Bridge opened to traffic on 3 May, the council said.",
        ),
        ("Theresa May visited Leeds.", "Theresa May visited Leeds, her office said."),
        ("Denys Shmyhal visited Leeds.", "Denys Shmyhal visited Leeds, the council said."),
        ("A lieutenant visited Leeds.", "A lieutenant visited Leeds, the council said."),
        ("Ипсос провёл опрос в Томске.", "Компания Ипсос провела опрос: Ипсос провёл опрос в Томске."),
        ("The jet lost its signal near Leeds.", "The jet lost its signal near Leeds amid GPS spoofing."),
    ] {
        let sure = StanceProbabilities { entail: 0.9, contradict: 0.05, neutral: 0.05 };
        assert_eq!(crate::caps::capped(&profile(claim), &profile(passage), sure), sure, "{passage}");
        let said = profile(passage);
        assert!(!hedged(&said.sentences[0], &profile("Something else was said.")), "{passage}");
    }
    let doubted = profile("The Orrin Bridge may open on 3 May.");
    assert!(hedged(&doubted.sentences[0], &profile("The Orrin Bridge opened on 3 May.")));
}
