use proptest::prelude::*;

use super::*;

fn one(text: &str) -> Statement {
    let all = statements(text, None, None, 5);
    assert_eq!(all.len(), 1, "{text}: {all:#?}");
    all[0].clone()
}

fn texts(text: &str) -> Vec<String> {
    statements(text, None, None, 10).into_iter().map(|statement| statement.text).collect()
}

#[test]
fn kinds_as_the_scoring_rules_say() {
    for (text, kind, claim) in [
        ("The Earth is flat", ClaimKind::Factual, "The Earth is flat"),
        ("Minecraft is the best game", ClaimKind::Opinion, "Minecraft is the best game"),
        ("Minecraft is the best 2D game", ClaimKind::Mixed, "Minecraft is a 2D game"),
        ("It's true", ClaimKind::Ambiguous, "It's true"),
        ("Water boils at 50C", ClaimKind::Factual, "Water boils at 50C"),
        ("Paris is the most beautiful city in France.", ClaimKind::Mixed, "Paris is a city in France."),
        ("I think this law is unfair", ClaimKind::Opinion, "I think this law is unfair"),
        ("I think the museum opened in 1991", ClaimKind::Mixed, "The museum opened in 1991"),
        ("The government should ban smoking", ClaimKind::Opinion, "The government should ban smoking"),
        ("The government shouldn’t ban smoking", ClaimKind::Opinion, "The government shouldn’t ban smoking"),
        ("It is the best-selling game of 2011", ClaimKind::Factual, "It is the best-selling game of 2011"),
        ("Everest is the highest mountain", ClaimKind::Factual, "Everest is the highest mountain"),
        ("Я считаю, что этот закон несправедлив", ClaimKind::Opinion, "Я считаю, что этот закон несправедлив"),
        ("Это лучший фильм", ClaimKind::Opinion, "Это лучший фильм"),
        ("Minecraft — лучшая игра в мире", ClaimKind::Opinion, "Minecraft — лучшая игра в мире"),
        ("Путин — лучший президент России", ClaimKind::Mixed, "Путин — президент России"),
        ("На мою думку, це чудова ідея", ClaimKind::Opinion, "На мою думку, це чудова ідея"),
        ("Це правда", ClaimKind::Ambiguous, "Це правда"),
        ("Это правда", ClaimKind::Ambiguous, "Это правда"),
        ("He did it", ClaimKind::Ambiguous, "He did it"),
        ("Вакцины вызывают аутизм", ClaimKind::Factual, "Вакцины вызывают аутизм"),
        ("Київ — столиця України", ClaimKind::Factual, "Київ — столиця України"),
        ("Vaccines cause autism", ClaimKind::Factual, "Vaccines cause autism"),
        ("Forcings combined show good correlation", ClaimKind::Factual, "Forcings combined show good correlation"),
        ("Doctors say that children should sleep", ClaimKind::Factual, "Doctors say that children should sleep"),
        ("I believe Russia blew up the Kakhovka dam.", ClaimKind::Mixed, "Russia blew up the Kakhovka dam."),
        ("I think Trump will win.", ClaimKind::Opinion, "I think Trump will win."),
        ("Я думаю, что Россия взорвала Каховскую ГЭС.", ClaimKind::Mixed, "Россия взорвала Каховскую ГЭС."),
        ("На мою думку, Росія підірвала Каховську ГЕС.", ClaimKind::Mixed, "Росія підірвала Каховську ГЕС."),
        ("Ну и дела", ClaimKind::Ambiguous, "Ну и дела"),
        ("I want to buy the 2016 key", ClaimKind::Opinion, "I want to buy the 2016 key"),
    ] {
        let found = one(text);
        assert_eq!((found.kind, found.text.as_str()), (kind, claim), "{text}");
    }
}

#[test]
fn questions_greetings_and_calls_claim_nothing() {
    for text in [
        "Is the Earth flat?",
        "Hello everyone!",
        "Привет!",
        "Доброго ранку, друзі!",
        "Подписаться на канал",
        "👉 Subscribe",
        "",
        "🔥🔥",
        "Правда ли это?",
    ] {
        assert!(statements(text, None, None, 5).is_empty(), "{text}: {:?}", texts(text));
    }
    assert_eq!(one("asdf").kind, ClaimKind::Ambiguous);
}

#[test]
fn a_text_becomes_self_contained_claims() {
    assert_eq!(
        texts(
            "Angela Merkel was born in Hamburg in 1954. She became chancellor in 2005. Is that so? She likes hiking in South Tyrol."
        ),
        [
            "Angela Merkel was born in Hamburg in 1954.",
            "Angela Merkel became chancellor in 2005.",
            "Angela Merkel likes hiking in South Tyrol."
        ]
    );
    assert_eq!(
        texts("Владимир Зеленский родился в Кривом Роге. Он стал президентом Украины в 2019 году."),
        ["Владимир Зеленский родился в Кривом Роге.", "Владимир Зеленский стал президентом Украины в 2019 году."]
    );
    // With two people "he" is ambiguous.
    assert!(
        texts("Joe Biden met Donald Trump in Washington. He won the election in 2020 by a margin.")[1]
            .starts_with("He won")
    );
    assert_eq!(texts("Viral posts claim that vaccines contain microchips."), ["Vaccines contain microchips."]);
    assert_eq!(texts("Утверждается, что вакцины содержат чипы."), ["Вакцины содержат чипы."]);
}

#[test]
fn the_best_are_kept_in_order_and_nothing_twice() {
    let text = "We met in the morning at the old place. Inflation rose to 12 % in Germany in 2022. Inflation rose to 12 % in Germany in 2022! \
                The budget deficit of France reached 5 % of GDP. People were talking about various things.";
    let found = statements(text, None, Some("en"), 2);
    assert_eq!(
        found.iter().map(|statement| statement.text.as_str()).collect::<Vec<_>>(),
        ["Inflation rose to 12 % in Germany in 2022.", "The budget deficit of France reached 5 % of GDP."]
    );
    let titled =
        statements("It rained in Kyiv all day on Monday.", Some("Russia shelled Kharkiv with 10 missiles"), None, 5);
    assert_eq!(titled.len(), 2);
    assert_eq!(titled[0].text, "Russia shelled Kharkiv with 10 missiles");
    let repeated = statements(
        "Russia shelled Kharkiv on Monday with 10 missiles.",
        Some("Russia shelled Kharkiv with 10 missiles"),
        None,
        5,
    );
    assert_eq!(repeated.len(), 1);
    assert_eq!(texts("50 people died in the fire. 100 people died in the fire.").len(), 2);
}

#[test]
fn posts_are_cleaned() {
    for (text, expected) in [
        ("🔥 Kyiv was hit https://t.co/abc #Ukraine #News @channel", "Kyiv was hit"),
        ("Explosions in #Kyiv this morning", "Explosions in Kyiv this morning"),
        ("President @JoeBiden said so", "President JoeBiden said so"),
        ("Взрыв в Киеве\n\nПодписаться | Прислать новость", "Взрыв в Киеве"),
        ("Взрыв в Киеве | Подписаться на канал", "Взрыв в Киеве"),
        ("**Bold** claim ⚡️  with   spaces .", "Bold claim with spaces."),
        ("A dam broke in Texas https://t.co/x — Ann Lee (@annlee) May 3, 2016", "A dam broke in Texas"),
        ("RT @BBCBreaking: Queen Elizabeth II dies aged 96 #BreakingNews", "Queen Elizabeth II dies aged 96"),
        (".@NASA says the moon has water", "NASA says the moon has water"),
        ("Write to me@example.org today", "Write to me@example.org today"),
        ("Temperature of −5 °C — fine", "Temperature of −5 °C — fine"),
    ] {
        assert_eq!(clean(text), expected, "{text}");
    }
}

#[test]
fn a_single_claim_stays_as_it_is() {
    for text in [
        "Barack Obama was born in Kenya; he was president.",
        "The U.S. spent $5bn on aid, 3.5 % of the budget.",
        "Население Земли — 8 миллиардов, а Луны — ноль.",
    ] {
        assert_eq!(one(text).text, text);
        assert_eq!(one(text).original, text);
    }
}

proptest! {
    #[test]
    fn any_text_gives_bounded_statements(text in "[A-Za-zа-яА-Яії0-9 .,!?@#\n—%]{0,160}", max in 0usize..5) {
        let found = statements(&text, Some("Title here"), None, max);
        prop_assert!(found.len() <= max);
        for statement in found {
            prop_assert!((0.0..=1.0).contains(&statement.check_worthiness));
            prop_assert!(!statement.text.trim().is_empty());
        }
    }

    #[test]
    fn cleaning_is_done_once(text in "\\PC{0,80}") {
        let once = clean(&text);
        prop_assert!(!once.contains("https://"));
        prop_assert_eq!(once.trim(), once.as_str());
    }
}

#[test]
fn what_cannot_be_checked_alone_comes_with_the_sentence_it_leans_on() {
    for (text, title, expected) in [
        (
            "A bus crashed in Peru on Monday. Five people died.",
            None,
            "A bus crashed in Peru on Monday. Five people died.",
        ),
        (
            "Private companies did not pay for Anwar Ibrahim’s travels, minister Fahmi Fadzil said today. He said the government still covered the cost of the delegation while companies paid for their own portion.",
            None,
            "Private companies did not pay for Anwar Ibrahim’s travels, minister Fahmi Fadzil said today. He said the government still covered the cost of the delegation while companies paid for their own portion.",
        ),
        (
            "Reporters heard explosions in Kyiv. The attack included 600 drones and 90 missiles.",
            Some("Russia attacks Kyiv with missiles"),
            "Russia attacks Kyiv with missiles. The attack included 600 drones and 90 missiles.",
        ),
        (
            "Лофнер предстал перед судом в Тусоне. Были ранены еще 13 человек.",
            None,
            "Лофнер предстал перед судом в Тусоне. Были ранены еще 13 человек.",
        ),
        (
            "Spain said its stand \"rests with the UN\" It did so after the vote in the parliament.",
            None,
            "Spain said its stand \"rests with the UN\" It did so after the vote in the parliament.",
        ),
    ] {
        let found = statements(text, title, None, 10);
        let last = found.last().unwrap();
        assert_eq!(last.text, expected);
    }
    let found = statements("A bus crashed in Peru on Monday. Five people died.", None, None, 10);
    assert_eq!((found[0].lead.as_deref(), found[1].own()), (None, "Five people died."));
    assert_eq!(found.len(), 2, "the second holds the words of the first and is not the same");
    // A permanent fact needs no lead.
    assert_eq!(texts("It rained all day long. Five people died there.")[1], "Five people died there.");
    assert_eq!(texts("Ann Lee spoke in Texas. Vaccines cause autism.")[1], "Vaccines cause autism.");
}

#[test]
fn person_gets_no_pronoun_of_a_thing() {
    // "She" is the party, "he" the treaty, "it" the video.
    for (text, wrong) in [
        (
            "Ангела Меркель осудила Россию. Партия ХДС проиграла выборы. Она набрала 22% голосов.",
            "Ангела Меркель набрала",
        ),
        (
            "Дмитрий Медведев раскритиковал договор. Документ подписали в Хельсинки. Он вступит в силу в 2027 году.",
            "Дмитрий Медведев вступит",
        ),
        (
            "A viral video is being shared as footage of Israeli strikes on Tehran. It was filmed in Beirut in 2020.",
            "in 2020. It",
        ),
        (
            "• Умер актёр Владимир Симонов\n• Ставка снижена до 16,5%\n• Пострадали 12 человек при взрыве газа",
            "Симонов. ",
        ),
    ] {
        let found = texts(text);
        assert!(found.iter().all(|claim| !claim.contains(wrong)), "{found:#?}");
    }
    let filmed = texts(
        "A viral video is being shared as footage of Israeli strikes on Tehran. It was filmed in Beirut in 2020.",
    );
    assert!(filmed[1].starts_with("A viral video is being shared"), "{filmed:#?}");
    // A title about something else is not used.
    let about =
        |title: &str| statements("A bus fell into a ravine in Peru on Sunday. Nine people died.", Some(title), None, 9);
    let last = |title: &str| about(title).last().unwrap().text.clone();
    assert_eq!(last("Putin lands in Delhi for talks"), "A bus fell into a ravine in Peru on Sunday. Nine people died.");
    assert_eq!(last("Deadly bus accident in Peru ravine"), "Deadly bus accident in Peru ravine. Nine people died.");
}

#[test]
fn what_differs_in_who_did_it_is_kept_and_what_has_a_speaker_too() {
    assert_eq!(texts("Israel said Hezbollah violated the truce. Hezbollah said Israel violated the truce.").len(), 2);
    assert!(texts("We can confirm that the head of Rosneft Igor Sechin left Russia. It rained.")[0].contains("Sechin"));
    assert_eq!(one("It was the worst attack on a Jewish target in Britain since 1994.").kind, ClaimKind::Factual);
    assert_eq!(
        texts("A 40-year-old man was arrested in Leeds on Thursday. He died in custody on Friday.")[1],
        "A 40-year-old man was arrested in Leeds on Thursday. He died in custody on Friday."
    );
    assert_eq!(
        texts("МОСКВА, 18 ноя — РИА Новости. Правительство России внесло проект бюджета в Думу."),
        ["Правительство России внесло проект бюджета в Думу."]
    );
}

#[test]
fn markup_that_feeds_carry_is_no_part_of_a_claim() {
    assert_eq!(
        clean("<b>Breaking</b>: Messi &amp; Inter<br>won <a href=\"x\">again</a>"),
        "Breaking: Messi & Inter\nwon again"
    );
    assert_eq!(clean("5 < 6 & 7 > 2"), "5 < 6 & 7 > 2");
}
