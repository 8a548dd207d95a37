//! Consent requests and offers against the labelled pages of `tests/data/walls.jsonl`, and single rules.

use std::fmt::Write as _;

use corroborate_labelled as labelled;
use serde_json::Value;

use super::*;

const NEWS: &str = "https://news.example/2026/11/18/bridge";

fn read_at(address: &str, title: &str, body: &str) -> Option<Junk> {
    let html = format!("<html><head><title>{title}</title></head><body>{body}</body></html>");
    read_page(html.as_bytes(), Some("text/html; charset=utf-8"), &Url::parse(address).unwrap()).err()
}

fn paragraphs(lines: &[&str]) -> String {
    lines.iter().fold(String::new(), |mut out, line| {
        write!(out, "<p>{line}</p>").unwrap();
        out
    })
}

struct LabelledPage {
    kind: String,
    part: String,
    url: Url,
    html: String,
}

fn labelled_pages() -> Vec<LabelledPage> {
    let text = labelled::read("walls.jsonl").unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| {
        let cell = |name: &str| row[name].as_str().unwrap().to_owned();
        let url = Url::parse(&cell("final_url")).unwrap();
        LabelledPage { kind: cell("kind"), part: cell("part"), url, html: cell("html") }
    })
    .collect()
}

#[test]
fn barriers_are_found_in_the_test_half_of_labelled_pages() {
    let (mut found, mut right, mut barriers, mut refused, mut articles) = (0, 0, 0, Vec::new(), 0);
    for page in labelled_pages().into_iter().filter(|page| page.part == "test") {
        let junk = read_page(page.html.as_bytes(), Some("text/html"), &page.url).err();
        let expected = match page.kind.as_str() {
            "consent" => Junk::Consent,
            "offer" => Junk::Paywall,
            _ => {
                articles += 1;
                refused.extend(junk.map(|junk| format!("{junk} {}", page.url)));
                continue;
            }
        };
        barriers += 1;
        found += usize::from(junk.is_some());
        right += usize::from(junk == Some(expected));
        if junk != Some(expected) {
            eprintln!("{junk:?} instead of {expected:?}: {}", page.url);
        }
    }
    eprintln!("barriers: {found} of {barriers}, {right} with their kind; articles refused: {refused:?} of {articles}");
    assert!(found >= 42 && right >= 38, "{found} and {right} of {barriers}");
    assert!(refused.len() <= 1, "{refused:?} of {articles}");
}

fn features_of(bytes: &[u8], url: &Url) -> Option<barrier::Features> {
    let (decoded, _, _) = decode(bytes, None);
    let document = parse::document(&decoded, &Work::default()).ok()?;
    Some(barrier::features(&page::read(&document), &outline::read(&document).blocks, url))
}

/// Writes the input of `training/walls.py` if `CORROBORATE_BARRIER_FEATURES` names a file. Pages that other rules refuse
/// are left out.
#[test]
fn features_of_pages_are_written_if_a_file_is_named() {
    #[expect(clippy::disallowed_methods, reason = "a switch for people who measure")]
    let Some(file) = std::env::var_os("CORROBORATE_BARRIER_FEATURES") else { return };
    let mut out = format!("kind\tpart\t{}\n", barrier::NAMES.join("\t"));
    let mut add = |kind: &str, part: &str, bytes: &[u8], url: &Url| {
        let Some(found) = features_of(bytes, url) else { return };
        write!(out, "{kind}\t{part}").unwrap();
        for value in found.values {
            write!(out, "\t{value:.4}").unwrap();
        }
        out.push('\n');
    };
    for page in labelled_pages() {
        add(&page.kind, &page.part, page.html.as_bytes(), &page.url);
    }
    let is_kept = |bytes: &[u8], url: &Url| {
        matches!(read_page(bytes, Some("text/html"), url), Ok(_) | Err(Junk::Consent | Junk::Paywall))
    };
    for (at, (_, address, bytes)) in measured::real_pages(60).into_iter().enumerate() {
        let Ok(url) = Url::parse(&address) else { continue };
        if is_kept(&bytes, &url) {
            add("article", if at.is_multiple_of(2) { "even" } else { "odd" }, &bytes, &url);
        }
    }
    std::fs::write(file, out).unwrap();
}

#[test]
fn consent_request_is_refused_at_any_length() {
    let lines = [
        "Before you read on, tell us what we may remember about you.",
        "We and 318 partners would like to keep cookies on your device and to read them on your next visits, so that we can show you advertising that fits your interests.",
        "If you accept, we also use your approximate location and the pages that you open to build a profile, to measure the advertising and to improve our services for you.",
        "If you reject, you see the same pages with advertising that does not depend on your data.",
        "You can read all our pages whatever you choose, and we do not hide a story from those who reject.",
        "Your choice is stored in this browser for six months. You can change it whenever you like with the link to the privacy settings on every page of our site.",
        "Some of our partners do not ask for your consent and rely on a legitimate interest. You can object to each of them in the list below, where you also find their privacy policies.",
        "We never sell your name or your postal address. The data that we store is a number in a cookie, the kind of your device and the list of the pages that you opened on our site.",
        "Do you have an account with us? Your choice then holds on all your devices as soon as you sign in, and you can see in your settings on which day you made it.",
        "Why do we ask you? The law of your country requires your consent before we store information on your device, except for what our pages need to work for you.",
        "If you share the device with others, they see the choice that you made, and each of them can change it for all of you until the browser is closed or its data is deleted.",
        "Accept all",
        "Reject all",
        "More options",
    ];
    assert!(lines.concat().len() > 1_500);
    let body = paragraphs(&lines);
    let address = "https://news.example/m?continue=https%3A%2F%2Fnews.example%2Fbridge";
    assert_eq!(read_at(address, "Before you read on", &body), Some(Junk::Consent));
    assert_eq!(read_at(NEWS, "Before you read on", &body), Some(Junk::Consent), "also without an address");
}

#[test]
fn offer_is_refused_when_it_is_longer_than_its_teaser() {
    let lines = [
        "Мост через Ларну закроют на ремонт в марте, но объезд пока не построен.",
        "Дальше для друзей редакции",
        "Выберите, как вы хотите нас поддержать, и этот текст сразу откроется.",
        "Месяц стоит 190 рублей в месяц. Вы читаете все тексты и получаете наше письмо по субботам.",
        "Год стоит 1900 рублей в год. Вы экономите 380 рублей, и мы пришлём вам открытку.",
        "Для семьи год стоит 2900 рублей в год. Доступ можно разделить на четверых.",
        "Могу ли я отменить подписку? Да, в любой день, одной кнопкой в вашем профиле, и мы не спросим почему.",
        "Куда идут деньги? Зарплаты журналистов, поездки и юристы: за прошлый год вы дали нам 2,7 миллиона рублей.",
        "Есть ли скидка студентам? Да, половина цены: пришлите нам фото студенческого билета.",
        "Можно ли подарить доступ? Да, выберите срок, и мы отправим вашему другу письмо в нужный день.",
        "Что открыто для всех? Новости дня, погода и первые абзацы каждого текста.",
        "Оформить",
    ];
    let body = paragraphs(&lines);
    assert_eq!(
        read_at(NEWS, "Мост закроют на ремонт", &format!("<h1>Мост закроют на ремонт</h1>{body}")),
        Some(Junk::Paywall)
    );
}

#[test]
fn article_about_prices_or_consent_is_read() {
    let prices = [
        "The Larn Herald will raise the price of its subscription from 9 to 11 euros a month in May, the publisher said on Monday. It is the first rise in four years.",
        "The paper has 41,000 subscribers, 6 % more than a year ago. About 1,200 of them cancelled in the first week after the announcement, according to its report.",
        "Readers who pay for a year keep the old price of 99 euros a year until December. Students pay half, and libraries have free access.",
        "\"We have no other choice, because paper costs a third more,\" editor Mara Lind said. The company lost 2.1 million euros last year.",
    ];
    assert_eq!(
        read_at(
            NEWS,
            "Larn Herald raises its price",
            &format!("<h1>Larn Herald raises its price</h1>{}", paragraphs(&prices))
        ),
        None
    );
    let consent = [
        "Der Landtag hat am Dienstag ein Gesetz gegen Cookie-Banner beschlossen. Webseiten dürfen künftig nur noch einmal im Jahr nach der Einwilligung fragen.",
        "Die Verbraucherzentrale zählte im Frühjahr 640 Seiten, auf denen das Ablehnen länger dauerte als das Zustimmen. Gegen 31 Anbieter laufen Verfahren.",
        "Verlage warnen vor Ausfällen in der Werbung. „Wir rechnen mit neun Millionen Euro weniger“, sagte Verbandschefin Ute Harms.",
    ];
    assert_eq!(
        read_at(NEWS, "Landtag begrenzt Banner", &format!("<h1>Landtag begrenzt Banner</h1>{}", paragraphs(&consent))),
        None
    );
}

#[test]
fn short_report_that_quotes_we_and_you_is_read() {
    let lines = ["We won, the mayor told us on Monday. You will see the bridge next year, she said to our reporter."];
    assert_eq!(read_at(NEWS, "Bridge approved", &paragraphs(&lines)), None);
    let lines = ["Мы победили, сказал нам мэр. Вы увидите мост в следующем году, пообещал он нашему корреспонденту."];
    assert_eq!(read_at(NEWS, "Мост построят", &paragraphs(&lines)), None);
}

#[test]
fn address_of_a_consent_page_is_a_feature() {
    let marks = |address: &str| {
        let found = features_of(b"<p>Text", &Url::parse(address).unwrap()).unwrap();
        ["consent_address", "return_address"].map(|name| {
            let at = barrier::NAMES.iter().position(|known| *known == name).unwrap();
            found.values[at] > 0.0
        })
    };
    for (address, expected) in [
        ("https://consent.news.example/v2/?continue=https%3A%2F%2Fnews.example%2Fa", [true, true]),
        ("https://news.example/cmp/options?ret=/sport/regatta", [true, true]),
        ("https://news.example/m?continue=a&hl=en", [false, true]),
        ("https://news.example/tech/new-consent-rules", [false, false]),
        ("https://news.example/story?from=newsletter", [false, false]),
    ] {
        assert_eq!(marks(address), expected, "{address}");
    }
}
