//! Tests of [`read_page`] as a whole.

use proptest::prelude::*;

use super::*;

const SENTENCE: &str =
    "The council voted on Tuesday to build the bridge, and work will begin in the spring of next year. ";

fn address() -> Url {
    Url::parse("https://news.example/2026/11/18/bridge").unwrap()
}

fn read(html: &str) -> Result<Article, Junk> {
    read_page(html.as_bytes(), Some("text/html; charset=utf-8"), &address())
}

fn junk(title: &str, body: &str) -> Option<Junk> {
    read(&format!("<html><head><title>{title}</title></head><body>{body}</body></html>")).err()
}

#[test]
fn an_article_is_read_whole() {
    let html = format!(
        r#"<html lang="en-GB"><head><title>Bridge approved - The Example</title><meta property="og:site_name" content="The Example">
        <meta property="article:published_time" content="2026-11-18T07:15:00+03:00"><link rel="canonical" href="/bridge">
        <meta name="description" content="The council has approved the bridge."></head><body><article><h1>Bridge approved</h1>
        <p>{0}</p><p>{0}Cookies were served.</p><p>{0}The end.</p></article></body></html>"#,
        SENTENCE.repeat(3)
    );
    let article = read(&html).unwrap();
    assert_eq!(article.title.as_deref(), Some("Bridge approved"));
    assert_eq!(article.site_name.as_deref(), Some("The Example"));
    assert_eq!(article.language.as_deref(), Some("en"));
    assert_eq!(article.canonical.as_ref().map(Url::as_str), Some("https://news.example/bridge"));
    assert_eq!(article.published_at.unwrap().to_rfc3339(), "2026-11-18T04:15:00+00:00");
    assert_eq!(article.published_day.unwrap().to_string(), "2026-11-18");
    assert_eq!(article.description.as_deref(), Some("The council has approved the bridge."));
    assert_eq!(article.paragraphs.len(), 3);
    assert_eq!((article.charset, article.method), ("UTF-8", Method::Element));
    assert_eq!(passages(&article).len(), 3, "{:?}", passages(&article));
}

#[test]
fn the_agency_that_a_text_is_of_stays_in_it() {
    for line in [
        "Source: Reuters",
        "Источник: ТАСС",
        "Джерело: Укрінформ",
        "Fonte: Agência Brasil",
        "Quelle: dpa",
        "By The Associated Press",
    ] {
        for element in ["p", "p class=source", "div class=byline"] {
            let body = format!("<p>{0}</p><p>{0}Again.</p>", SENTENCE.repeat(3));
            let name = element.split(' ').next().unwrap();
            let line_html = format!("<{element}>{line}</{name}>");
            for html in [format!("{line_html}{body}"), format!("{body}{line_html}<p>Tags: bridge</p>")] {
                let found = read(&format!("<article><h1>Bridge approved</h1>{html}</article>")).unwrap();
                assert!(found.paragraphs.iter().any(|paragraph| paragraph == line), "{html}: {:?}", found.paragraphs);
                assert_eq!(found.paragraphs.len(), 3, "{html}");
            }
        }
    }
}

#[test]
fn a_windows_1251_page_is_read() {
    let sentence = "Совет во вторник проголосовал за строительство моста, работы начнутся весной следующего года. ";
    let html = format!(
        "<html><head><meta charset=windows-1251><title>Мост построят</title></head><body><article><p>{0}</p><p>{0}Всё.</p></article></body></html>",
        sentence.repeat(3)
    );
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(&html);
    for header in [None, Some("text/html"), Some("text/html; charset=utf-8"), Some("text/html; charset=koi8-r")] {
        let article = read_page(&bytes, header, &address()).unwrap();
        assert!(article.text().starts_with("Совет во вторник"), "{header:?}");
        assert_eq!(article.charset, "windows-1251");
    }
}

#[test]
fn walls_and_errors_are_refused() {
    let short = |text: &str| format!("<p>{text}</p>");
    for (title, body, expected) in [
        (
            "Just a moment...",
            short(
                "Checking if the site connection is secure. news.example needs to review the security of your connection before proceeding.",
            ),
            Junk::BotWall,
        ),
        (
            "Attention Required! | Cloudflare",
            short("Sorry, you have been blocked. You are unable to access news.example"),
            Junk::BotWall,
        ),
        (
            "news.example",
            short("Please enable JS and disable any ad blocker to go on, thank you very much for your patience here.")
                + "<script>var dd={'host':'geo.captcha-delivery.com'}</script>",
            Junk::BotWall,
        ),
        (
            "Ой!",
            short(
                "Подтвердите, что запросы отправляли вы, а не робот. Нам очень жаль, но запросы с вашего устройства похожи на автоматические.",
            ),
            Junk::BotWall,
        ),
        (
            "Before you continue to News",
            short("We and our partners use cookies to deliver and measure ads.")
                + &short("Accept all or manage options below to go on reading with us today."),
            Junk::Consent,
        ),
        (
            "Мы заботимся о вас",
            short("Мы используем файлы cookie, чтобы сайт работал лучше для вас и всех.")
                + &short("Нажмите «Принять все» или прочтите политику конфиденциальности, чтобы узнать больше."),
            Junk::Consent,
        ),
    ] {
        assert_eq!(junk(title, &body), Some(expected), "{title}");
    }
}

#[test]
fn pages_without_an_article_are_refused() {
    let short = |text: &str| format!("<p>{text}</p>");
    for (title, body, expected) in [
        (
            "Page not found - The Example",
            short(
                "We are sorry, what you are looking for is not here any more. Try the search or go to the front page.",
            ),
            Junk::SoftNotFound,
        ),
        (
            "Ошибка 404",
            short(
                "Страница не найдена, попробуйте начать с главной страницы сайта или воспользуйтесь поиском по сайту.",
            ),
            Junk::SoftNotFound,
        ),
        (
            "502 Bad Gateway",
            short("nginx and some other words that a server's operator put on this page for the reader to look at."),
            Junk::ErrorPage,
        ),
        (
            "Bridge approved",
            short(SENTENCE) + &short("This article is for subscribers only. Already a subscriber? Log in."),
            Junk::Paywall,
        ),
        (
            "Мост построят",
            short("Совет во вторник проголосовал за строительство моста.")
                + &short("Материал доступен только по подписке. Оформите подписку, чтобы читать дальше."),
            Junk::Paywall,
        ),
        (
            "Log in to The Example",
            short("Welcome back to The Example, dear reader, we are glad to see you once again on our pages today.")
                + "<form><input type=password></form>",
            Junk::Login,
        ),
        ("Bridge", short("Too little."), Junk::TooShort),
        ("Bridge", String::new(), Junk::Empty),
    ] {
        assert_eq!(junk(title, &body), Some(expected), "{title}");
    }
}

#[test]
fn the_day_that_a_page_states_stays_its_day() {
    let on = |stated: &str, shown: &str| {
        let html = format!(
            "<meta property=article:published_time content='{stated}'><article><h1>Bridge approved</h1>{shown}<p>{0}</p><p>{0}</p></article>",
            SENTENCE.repeat(3)
        );
        let article = read_page(html.as_bytes(), None, &Url::parse("https://news.example/bridge").unwrap()).unwrap();
        let [moment, kept] = [article.published_at, article.published_on_its_day()].map(Option::unwrap);
        assert!((moment - kept).num_hours().abs() < 14);
        assert_eq!(kept.date_naive(), article.published_day.unwrap());
        format!("{} {}", moment.format("%dT%H:%M"), kept.format("%dT%H:%M:%S"))
    };
    assert_eq!(on("2026-05-03T00:30:00+03:00", ""), "02T21:30 03T00:00:00");
    assert_eq!(on("2026-05-03T21:30:00-05:00", ""), "04T02:30 03T23:59:59");
    assert_eq!(on("2026-05-03T12:00:00+03:00", ""), "03T09:00 03T09:00:00");
    assert_eq!(on("2026-05-02T21:30:00Z", "<time>3 May 2026</time>"), "02T21:30 03T00:00:00", "as readers see it");
    assert_eq!(on("2026-05-02T17:30:00Z", "<time>3 May 2026</time>"), "02T17:30 02T17:30:00", "the next day's issue");
    assert_eq!(on("2026-05-03T01:00:00+09:00", ""), "02T16:00 03T00:00:00", "its own zone, however far");
    assert_eq!(on("2026-05-03", ""), "03T00:00 03T00:00:00");
}

#[test]
fn a_page_that_would_stop_a_worker_is_refused_as_too_costly() {
    let article = format!("<article><p>{}</p></article>", SENTENCE.repeat(6));
    let deep = format!("{article}<svg><style>{}{}", "<g>".repeat(100_000), "</x>".repeat(100_000));
    assert_eq!(read(&deep), Err(Junk::TooCostly));
    assert_eq!(Junk::TooCostly.as_str(), "too_costly");
    // Values of a deep JSON-LD block are stored once, however many levels describe the page.
    let list = "{\"name\":\"one of many\"},".repeat(5_000);
    let block = format!("{}[{list}0]{}", "{\"mainEntity\":".repeat(100), "}".repeat(100));
    let html = format!("<script type=application/ld+json>{block}</script>{article}");
    assert_eq!(read(&html).unwrap().paragraphs.len(), 1);
}

#[test]
fn a_page_is_read_when_title_or_whole_page_was_encoded_twice() {
    let sentence = "Рада у вівторок проголосувала за новий дах школи, роботи почнуться навесні наступного року. ";
    let page = |title: &str| {
        format!(
            "<html><head><meta charset=utf-8><title>{title}</title><meta property=og:title content=\"{title}\"></head>\
             <body><article><h1>Школа отримає новий дах</h1><p>{0}</p><p>{0}Усе.</p></article></body></html>",
            sentence.repeat(3)
        )
    };
    let twice = |text: &str| text.bytes().map(char::from).collect::<String>();
    let right = page("Школа отримає новий дах");
    let lost = "Школа отримає новий дах".bytes().map(|byte| if byte == 0xB0 { '?' } else { byte.into() });
    for html in [page(&twice("Школа отримає новий дах")), page(&lost.collect::<String>()), twice(&right)]
    {
        let article = read(&html).unwrap();
        assert_eq!(article.title.as_deref(), Some("Школа отримає новий дах"), "{html}");
        assert!(article.text().starts_with("Рада у вівторок"), "{}", article.text());
    }
}

#[test]
fn a_page_is_read_when_it_contains_a_nul() {
    let body = format!("<article><h1>Bridge\0 approved</h1><p>{0}\0</p><p>{0}</p></article>", SENTENCE.repeat(3));
    let article =
        read(&format!("<html><head>\0<title>Bridge\0 approved</title></head><body>{body}</body></html>")).unwrap();
    assert_eq!(article.title.as_deref(), Some("Bridge approved"));
    assert!(!article.text().contains(['\0', '\u{FFFD}']));
}

#[test]
fn what_is_no_page_is_refused() {
    let refuse = |bytes: &[u8], content_type: Option<&str>| read_page(bytes, content_type, &address()).err();
    assert_eq!(refuse(b"", None), Some(Junk::Empty));
    assert_eq!(refuse(b" \r\n ", Some("text/html")), Some(Junk::Empty));
    assert_eq!(refuse(b"%PDF-1.7 ...", Some("text/html")), Some(Junk::NotHtml));
    assert_eq!(refuse(b"{\"error\": \"quota\"}", Some("text/html")), Some(Junk::NotHtml));
    assert_eq!(refuse(b"<?xml version='1.0'?><rss><channel/></rss>", Some("text/xml")), Some(Junk::NotHtml));
    assert_eq!(refuse(b"some bytes", Some("application/pdf")), Some(Junk::NotHtml));
    let labels: Vec<&str> =
        [Junk::Consent, Junk::BotWall, Junk::NotHtml, Junk::SoftNotFound].map(Junk::as_str).to_vec();
    assert_eq!(labels, ["consent_wall", "bot_wall", "not_html", "soft_404"]);
}

#[test]
fn an_article_about_walls_is_an_article() {
    for (title, phrase) in [
        (
            "How cookie banners took over the web",
            "We use cookies, the banners say; accept all or manage preferences, and our partners will know.",
        ),
        ("What a 404 page says about a company", "Page not found is what most readers know."),
        ("Just a moment: the clock that stopped", "Verify you are human, said the machine."),
        ("Subscribers leave the paper", "Subscribe to continue reading, the paper told everyone, and nobody did."),
    ] {
        let body =
            format!("<article><p>{phrase} {0}</p><p>{0}Again.</p><p>{0}And again.</p></article>", SENTENCE.repeat(8));
        assert_eq!(junk(title, &body), None, "{title}");
    }
}

#[test]
fn a_page_with_a_review_is_kept_however_short() {
    let html = r#"<html><head><script type="application/ld+json">{"@type":"ClaimReview","claimReviewed":"c","reviewRating":{"alternateName":"False"}}</script></head><body></body></html>"#;
    let article = read(html).unwrap();
    assert_eq!(article.claim_reviews.len(), 1);
}

#[test]
fn broken_markup_is_reported() {
    let html = format!(
        "<script type='application/ld+json'>{{\"@type\": NewsArticle</script><article><p>{}</p></article>",
        SENTENCE.repeat(6)
    );
    assert!(read(&html).unwrap().unreadable_markup);
}

#[test]
fn plain_text_is_read_by_its_blank_lines() {
    let article =
        read_page(format!("{SENTENCE}\r\n\r\n{SENTENCE}").as_bytes(), Some("text/plain"), &address()).unwrap();
    assert_eq!(article.paragraphs.len(), 2);
}

#[test]
fn hostile_pages_are_read_in_bounded_time() {
    let text = format!("<article><p>{}</p></article>", SENTENCE.repeat(6));
    for (name, html) in [
        ("nested", format!("{}{text}{}", "<div>".repeat(100_000), "</div>".repeat(100_000))),
        ("unclosed", format!("{}{text}", "<div><span>".repeat(100_000))),
        ("formatting", format!("{text}{}", "<div><b a=1><i b=2><u c=3></div>".repeat(20_000))),
        ("attributes", format!("{text}<p{}>", (0..100_000).map(|n| format!(" a{n}=1")).collect::<Vec<_>>().concat())),
        ("quotes", format!("{text}<p a=\"{}", "<p ".repeat(100_000))),
        ("comments", format!("{text}{}", "<!--".repeat(100_000))),
        ("tables", format!("{text}{}", "<table><tr><td>x".repeat(50_000))),
        ("svg", format!("{text}<svg>{}", "<tr>".repeat(100_000))),
        ("foster", format!("{text}<table>{}", "<b>x".repeat(50_000))),
        ("lists", format!("{text}{}", "<ul><li>".repeat(50_000))),
        ("scripts", format!("{text}{}", "<script><".repeat(50_000))),
        // For each short text the rest of its line is visited, which has many empty parts.
        (
            "dates",
            format!(
                "{text}<p><span>{}{SENTENCE}</span><b>{}</b></p>",
                "<i></i>".repeat(40_000),
                "12345<u></u>".repeat(30_000)
            ),
        ),
        ("apps", format!("{text}{}{}", "<div id=app class=date>".repeat(200), "<i class=date></i>".repeat(50_000))),
    ] {
        let article = read(&html);
        assert!(matches!(article, Ok(_) | Err(Junk::TooCostly)), "{name}: {article:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), header in proptest::option::of("[a-z/]{0,12}(; charset=[a-z0-9-]{0,12})?")) {
        let _article = read_page(&bytes, header.as_deref(), &address());
    }

    #[test]
    fn mutated_pages_never_panic(edits in proptest::collection::vec((0_usize..1_200, any::<u8>(), 0_usize..30), 0..24)) {
        let mut page = format!(
            r#"<!doctype html><html lang=en><head><title>T</title><meta property="og:title" content="x"><script type="application/ld+json">{{"@type":"NewsArticle","headline":"x","datePublished":"2026-11-18","articleBody":"{SENTENCE}"}}</script></head>
            <body><h1>T</h1><table><tr><td><a href="/x"><b>x</b></a></table><article itemscope itemtype="http://schema.org/ClaimReview"><p itemprop=claimReviewed>{SENTENCE}<p>{SENTENCE}<br><br>x<ul><li>y</ul></article><svg><p>z</svg></body></html>"#
        ).into_bytes();
        for (at, byte, remove) in edits {
            let at = at % page.len().max(1);
            let end = (at + remove).min(page.len());
            page.splice(at..end, [byte]);
        }
        let _article = read_page(&page, Some("text/html"), &address());
    }

    #[test]
    fn tag_soup_never_panics(html in "(</?(p|div|table|tr|td|a|b|li|ul|svg|math|select|option|template|frameset|body|html|head|title|form|br|img|h1|noscript|iframe|article)( [a-z]{1,5}=\"[a-z ]{0,6}\")?>|[A-Za-zА-я,. ]{1,30}){0,60}") {
        let _article = read(&html);
    }
}
