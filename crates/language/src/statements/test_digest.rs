//! Digests, signatures and markup of channels and feeds, and prose that stays whole.

use proptest::prelude::*;

use super::*;

fn texts(text: &str) -> Vec<String> {
    statements(text, None, None, 20).into_iter().map(|statement| statement.text).collect()
}

#[test]
fn a_point_of_a_digest_is_a_text_of_its_own() {
    let ru = ["В Милбруке эвакуировали 3400 человек", "Курс доллара превысил 100 рублей", "Пострадали 12 человек"];
    let uk = ["У Мілбруку евакуювали 3400 людей", "Курс долара перевищив 45 гривень", "Загинули двоє людей"];
    let en = ["Larkhaven evacuates 3400 people", "The dollar rose above 100 roubles", "Five people died in a fire"];
    for points in [ru, uk, en] {
        let [a, b, c] = points;
        for digest in [
            format!("• {a}\n• {b}\n• {c}"),
            format!("• {a}\n• {b}"),
            format!("{a}.\n• {b}\n• Подписывайтесь на наш канал"),
            format!("Коротко:\n• {a}\n\n• {b}\n\n• {c}\n\nПодписаться | Чат | Прислать новость"),
            format!("▪️ {a}\n▪️ {b}\n▪️ {c}"),
            format!("— {a};\n— {b};\n— {c}."),
            format!("- {a}\n- {b}\n- {c}\n"),
            format!("Главное за день\n\n1. {a}\n2. {b}\n3. {c}"),
            format!("1️⃣ {a}\n2️⃣ {b}\n3️⃣ {c}"),
            format!("1) {a}\n2) {b}\n3) {c}"),
            format!("🔥 {a}\n⚡️ {b}\n🚗 {c}\n\n📲 Милбрук LIVE | Підписатися"),
            format!("❗️{a}.\n\n❗️{b}.\n\n❗️{c}."),
            format!("{a}\n{b}\n{c}"),
            format!("{a}\n\n{b}\n\n{c}\n\n@milbrook"),
            format!(
                "**Main news:**\n\n* [{a}](https://a.example/1)\n* [{b}](https://a.example/2)\n* [{c}](https://a.example/3)"
            ),
            format!("<p>News:</p><ul><li>{a}</li><li>{b}</li><li>{c}</li></ul>"),
            format!("Коротко: • {a} • {b} • {c}"),
        ] {
            let found = texts(&digest);
            let claims: Vec<&str> = found.iter().map(|claim| claim.trim_end_matches([';', '.'])).collect();
            assert!(claims.starts_with(&[a, b]) && claims.len() <= 3, "{digest}\n{found:#?}");
        }
    }
}

#[test]
fn a_point_keeps_the_sentences_that_belong_to_it() {
    let found = texts(
        "🔹 A bus crashed in Peru on Monday. Five people died.\n\n🔹 Inflation in Germany rose to 5 %\nIt was 3 % in May.\n\n🔹 Ann Lee resigned in Texas.",
    );
    assert!(found.contains(&"A bus crashed in Peru on Monday. Five people died.".to_owned()), "{found:#?}");
    assert!(found.iter().all(|claim| !claim.contains("died. Inflation")), "{found:#?}");
    let found = texts(
        "После удара по Харькову:\n• погибли 5 человек\n• повреждены 12 домов\n\nМэр Игорь Терехов объявил траур 4 мая.",
    );
    assert_eq!(
        found,
        [
            "После удара по Харькову: погибли 5 человек",
            "После удара по Харькову: повреждены 12 домов",
            "Мэр Игорь Терехов объявил траур 4 мая."
        ]
    );
}

#[test]
fn statement_is_absent_when_text_addresses_the_reader() {
    let claim = "The Orrin Bridge opened in Larkhaven on 4 May 2026.";
    for text in [
        format!("<script>alert('Vaccines killed 3400 people');</script><p>{claim}</p><style>p{{color:red}}</style>"),
        format!("{claim} SHARE before they DELETE this!!!"),
        format!("{claim}\n\nПодписывайтесь на наш канал"),
        format!("{claim}\nhttps://a.example/bridge\n[Full story](https://a.example/2)"),
        format!("{claim}\n\nПодписаться | Чат | Прислать новость"),
        format!("{claim}\n\nМилбрук LIVE"),
        format!("{claim}\n\nВидео: https://youtu.be/x"),
        format!("{claim}\n\n👉 [Subscribe](https://t.me/x) | [Chat](https://t.me/y)"),
        format!("{claim} Поширюйте цю новину!"),
        format!("&lt;b&gt;{claim}&lt;/b&gt;<img src=\"x.png\" alt=\"5 died\"/>"),
    ] {
        assert_eq!(texts(&text), [claim], "{text}");
    }
    for text in ["SHARE before they DELETE this!!!", "<script>x()</script>", "Подписаться | Чат", "https://a.example"]
    {
        assert!(texts(text).is_empty(), "{text}: {:?}", texts(text));
    }
}

#[test]
fn wrapped_prose_is_not_cut() {
    let english = "The council of Larkhaven said on Monday that the new bridge over the\nOrrin had been opened by the mayor of the town, Helen\nDrummond, after seven years of work. A crane fell on the bridge in\nMarch 2025, and the works were stopped for 11 weeks while the county\ninspected it.";
    assert_eq!(
        texts(english)[0],
        "The council of Larkhaven said on Monday that the new bridge over the Orrin had been opened by the mayor of the town, Helen Drummond, after seven years of work."
    );
    let russian = "Власти Милбрука сообщили в понедельник, что новый мост через реку\nОррин открыла мэр города Хелен Драммонд. Строительство заняло\n7 лет, и движение по нему началось в четверг, 5 мая, как и обещала\nмэрия.";
    assert_eq!(
        texts(russian)[0],
        "Власти Милбрука сообщили в понедельник, что новый мост через реку Оррин открыла мэр города Хелен Драммонд."
    );
    // No bullet.
    assert_eq!(
        texts("Мэр открыла мост через Оррин\n— самый длинный в Милбруке, 700 метров."),
        ["Мэр открыла мост через Оррин — самый длинный в Милбруке, 700 метров."]
    );
}

#[test]
fn paragraphs_of_one_story_still_lean_on_each_other() {
    assert_eq!(
        texts("Взрыв произошёл в Киеве 3 мая.\n\nПострадали пять человек.")[1],
        "Взрыв произошёл в Киеве 3 мая. Пострадали пять человек."
    );
    assert_eq!(
        texts("🔥 A bus crashed in Peru on Monday.\n\nFive people died.\n\nThe driver fled.")[1],
        "A bus crashed in Peru on Monday. Five people died."
    );
}

fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn the_column_at_which_prose_is_wrapped_changes_nothing(width in 50_usize..100) {
        let prose = "The council of Larkhaven said on Monday that the new bridge over the Orrin had been opened by Helen \
            Drummond, the mayor of Larkhaven, after seven years of work. A crane fell on the Orrin Bridge in March 2025, and \
            the works were stopped for 11 weeks while the county of Pellworth inspected it. Larkhaven paid 41 million pounds.";
        prop_assert_eq!(texts(&wrapped(prose, width)), texts(prose));
    }

    #[test]
    fn any_digest_is_read(text in "(?:[•—▪🔥1-3. a-zА-Яб:|]{0,30}\n){0,8}") {
        let _count = texts(&text).len();
    }
}
