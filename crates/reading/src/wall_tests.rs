//! Paywalls, shells and error pages in our users' languages, and articles about them.

use super::*;

fn address(path: &str) -> Url {
    Url::parse("https://news.example").unwrap().join(path).unwrap()
}

fn page(head: &str, body: &str) -> Option<Junk> {
    let html = format!("<html><head>{head}</head><body>{body}</body></html>");
    read_page(html.as_bytes(), Some("text/html; charset=utf-8"), &address("/2026/11/18/story")).err()
}

fn titled(title: &str, text: &str) -> Option<Junk> {
    page(&format!("<title>{title}</title>"), &format!("<p>{text}</p>"))
}

/// Text without content, so that a page is not too short.
const FILLER_TEXT: &str =
    " Here stand a few more words of the page, so that there is some text on it, as there is on most.";

#[test]
fn bot_walls_are_known_by_their_words_and_by_their_scripts() {
    for (title, text) in [
        ("Just a moment...", "Enable JavaScript and cookies to continue"),
        ("Einen Moment bitte", "Wir prüfen Ihre Verbindung."),
        ("Access Denied", "You don't have permission to access this server. Reference #18.2d1f1160.1605000000.1a2b3c"),
        ("news.example", "Request unsuccessful. Incapsula incident ID: 123-456"),
        ("Проверка браузера", "Подождите несколько секунд, мы проверяем ваш браузер."),
        ("Новости", "Проверяем, что вы не робот. Это займёт несколько секунд."),
        ("Новини", "Перевіряємо, що ви не робот, зачекайте кілька секунд."),
        ("Nachrichten", "Bitte bestätigen Sie, dass Sie ein Mensch sind."),
        ("Actualités", "Vérifiez que vous êtes humain pour continuer."),
        ("Noticias", "Confirma que eres humano para continuar."),
        ("Notizie", "Conferma di essere umano per continuare."),
        ("Wiadomości", "Potwierdź, że nie jesteś robotem, aby kontynuować."),
    ] {
        assert_eq!(titled(title, &format!("{text}{FILLER_TEXT}")), Some(Junk::BotWall), "{title}: {text}");
    }
    for script in [
        "<script src='https://geo.captcha-delivery.com/c.js'></script>",
        "<script>window._pxAppId='PX1';</script><div id=px-captcha></div>",
        "<iframe src='/_Incapsula_Resource?x=1'></iframe>",
        "<script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'></script>",
        "<script>window.awsWafCookieDomainList=[];AwsWafIntegration.saveReferrer();</script>",
        "<script src='/_sec/cp_challenge/ak-challenge-3-6.js'></script>",
    ] {
        assert_eq!(page("<title>news.example</title>", script), Some(Junk::BotWall), "{script}");
    }
}

#[test]
fn consent_walls_are_known_in_many_languages() {
    for (title, first, second) in [
        ("Wir brauchen Ihre Einwilligung", "Wir und unsere 214 Partner verarbeiten Ihre Daten.", "Alle akzeptieren"),
        ("Le respect de votre vie privée", "Nous et nos partenaires utilisons des cookies.", "Continuer sans accepter"),
        ("Tu privacidad", "Nosotros y nuestros socios guardamos datos. Utilizamos cookies.", "Aceptar y continuar"),
        ("La tua privacy", "Noi e i nostri partner archiviamo informazioni.", "Accetta e continua la lettura"),
        ("Twoja prywatność", "My i nasi partnerzy przechowujemy informacje.", "Akceptuję i przejdź do serwisu"),
        ("Jouw privacy", "Wij en onze partners bewaren gegevens op je apparaat.", "Alles accepteren"),
        ("Ваша конфіденційність", "Ми використовуємо файли cookie.", "Прийняти всі, або ми та наші партнери підемо"),
        ("Ваши данные", "Мы и наши партнёры используем файлы cookie.", "Принять все и продолжить"),
    ] {
        let body = format!("<p>{first} {first}</p><p>{second}, {first}</p>");
        assert_eq!(page(&format!("<title>{title}</title>"), &body), Some(Junk::Consent), "{title}");
    }
}

#[test]
fn paywalls_are_known_by_their_words_and_by_their_markup() {
    let teaser = "The council voted on Tuesday to build the bridge, and work will begin in the spring of next year. ";
    for words in [
        "Subscribe to continue reading.",
        "This is a premium article.",
        "You have 2 free articles left this month.",
        "Weiterlesen mit PLUS: jetzt testen",
        "Article réservé aux abonnés. Il vous reste 85% de cet article à lire.",
        "Abonnez-vous pour lire la suite.",
        "Contenido exclusivo para suscriptores",
        "Matéria exclusiva para assinantes",
        "Contenuto riservato agli abbonati",
        "Abbonati per continuare a leggere",
        "Alleen voor abonnees",
        "Artykuł dostępny tylko dla prenumeratorów",
        "Материал доступен только по подписке",
        "Чтобы прочитать статью полностью, оформите подписку",
        "Доступно лише за передплатою",
        "Щоб читати далі, увійдіть або зареєструйтеся",
    ] {
        let body = format!("<p>{teaser}</p><p>{words}</p>");
        assert_eq!(page("<title>Bridge</title>", &body), Some(Junk::Paywall), "{words}");
    }
    let markup = |free: &str| {
        format!(
            "<script type='application/ld+json'>{{\"@context\":\"https://schema.org\",\"@type\":\"NewsArticle\",\"headline\":\"Bridge\",\"isAccessibleForFree\":{free}}}</script>"
        )
    };
    let body = format!("<article><p>{}</p></article>", teaser.repeat(6));
    assert_eq!(page(&markup("false"), &body), Some(Junk::Paywall));
    assert_eq!(page(&markup("\"False\""), &body), Some(Junk::Paywall));
    assert_eq!(page(&markup("true"), &body), None);
    let whole = format!("<article><p>{0}</p><p>It went on: {0}</p></article>", teaser.repeat(8));
    assert_eq!(page(&markup("false"), &whole), None, "all of it is there, whatever the markup says");
}

#[test]
fn login_walls_are_known_by_title_and_field_or_by_their_address() {
    let form = "<form><input name=user><input type=password></form>";
    for title in [
        "Log in to The Example",
        "Sign in",
        "Вход в личный кабинет",
        "Увійти на сайт",
        "Anmelden",
        "Se connecter",
        "Iniciar sesión",
        "Fazer login",
        "Accedi al tuo account",
        "Zaloguj się",
        "Inloggen",
    ] {
        assert_eq!(
            page(&format!("<title>{title}</title>"), &format!("<p>{FILLER_TEXT}</p>{form}")),
            Some(Junk::Login),
            "{title}"
        );
    }
    let html = format!("<title>The Example</title><p>Please sign in to read on.{FILLER_TEXT}</p>");
    let read = |path: &str| read_page(html.as_bytes(), Some("text/html"), &address(path)).err();
    assert_eq!(read("/login?next=/story"), Some(Junk::Login));
    assert_eq!(read("/story"), None);
    let article = "The council voted on Tuesday to build the bridge, and work will begin in the spring of next year. ";
    let body = format!("<article><h1>Bridge</h1><p>{0}</p><p>Then {0}</p></article>{form}", article.repeat(4));
    assert_eq!(page("<title>Bridge approved</title>", &body), None, "a form in the page's head");
}

#[test]
fn page_without_content_gets_its_kind() {
    for (head, body, expected) in [
        (
            "<title>news.example</title>",
            "<p>This domain is for sale. Make an offer and own it today.</p>",
            Junk::Parked,
        ),
        ("<title>новости.рф</title>", "<p>Домен новости.рф продаётся. Оставьте заявку на покупку.</p>", Junk::Parked),
        ("<title>news.example</title>", "<p>Diese Domain steht zum Verkauf, machen Sie ein Angebot.</p>", Junk::Parked),
        (
            "<script src='https://www.sedoparking.com/x.js'></script>",
            "<p>Related searches: news, bridge</p>",
            Junk::Parked,
        ),
        ("<title>App</title>", "<div id=root></div><script src=/main.js></script>", Junk::ScriptOnly),
        ("", "<noscript>You need to enable JavaScript to run this app.</noscript><div id=app></div>", Junk::ScriptOnly),
        (
            "",
            "<p>Для работы сайта требуется JavaScript. Включите его в настройках вашего браузера.</p>",
            Junk::ScriptOnly,
        ),
        ("", "<p>Bitte aktivieren Sie JavaScript, um diese Seite in Ihrem Browser anzuzeigen.</p>", Junk::ScriptOnly),
        ("<meta http-equiv=refresh content='0; url=https://news.example/real'>", "", Junk::RedirectPage),
        ("<meta http-equiv=Refresh content='3;URL=/real'>", "<p>You are being redirected.</p>", Junk::RedirectPage),
        ("<script>window.location.replace('/real')</script>", "<p>Moment.</p>", Junk::RedirectPage),
        ("<script>top.location = '/real';</script>", "", Junk::RedirectPage),
        (
            "<title>Strona nie istnieje</title>",
            "<p>Przepraszamy, ale tej strony już tutaj nie ma. Wróć na stronę główną serwisu.</p>",
            Junk::SoftNotFound,
        ),
        (
            "<title>Сторінку не знайдено</title>",
            "<p>На жаль, такої сторінки немає. Спробуйте почати з головної сторінки сайту.</p>",
            Junk::SoftNotFound,
        ),
        (
            "<title>Seite nicht gefunden</title>",
            "<p>Diese Adresse gibt es hier nicht mehr. Bitte versuchen Sie es mit der Suche dort oben.</p>",
            Junk::SoftNotFound,
        ),
        ("<title>x</title>", "", Junk::Empty),
    ] {
        assert_eq!(page(head, body), Some(expected), "{head} {body}");
    }
}

#[test]
fn a_live_page_that_reloads_itself_is_an_article() {
    let text =
        "<article><p>The council voted on Tuesday to build the bridge, and work will begin in spring.</p></article>";
    for head in [
        "<meta http-equiv=refresh content=300>",
        "<meta http-equiv=refresh content='120; url=/live'>",
        "<script>function go(){window.location.href='/x'}</script>",
    ] {
        assert_eq!(page(head, text), None, "{head}");
    }
}

#[test]
fn article_is_read_when_it_is_about_walls_or_has_banners() {
    let sentence =
        "The editors discussed it for hours, asked three lawyers, and in the end nobody could say who was right. ";
    for (title, words) in [
        (
            "Paywalls are back",
            "Subscribe to continue reading, say most papers now. Already a subscriber? Log in, they add.",
        ),
        ("Captchas and the blind", "Verify you are human, the page said, and please confirm you are not a robot."),
        ("Why this domain is for sale", "This domain is for sale, it said where the paper used to be."),
        ("The web without scripts", "Please enable JavaScript, most pages say to those who switched it off."),
        (
            "The end of the cookie banner",
            "We use cookies. Accept all, reject all, manage preferences: our partners decide.",
        ),
        ("Почему капчи не работают", "Подтвердите, что вы не робот, просят сайты. Докажите, что вы не робот."),
        ("Как продают домены", "Домен продаётся, написано на странице бывшей газеты."),
    ] {
        let article = format!(
            "<article><h1>{title}</h1><p>{words} {0}</p><p>Then {0}</p><p>Later {0}</p></article>",
            sentence.repeat(6)
        );
        assert_eq!(page(&format!("<title>{title}</title>"), &article), None, "{title}");
    }
    let banner = "<div class=cookie-banner><p>We and our 200 partners use cookies. Accept all. Reject all. Manage preferences.</p></div>";
    let body = format!("{banner}<article><h1>Bridge</h1><p>{0}</p><p>Then {0}</p></article>", sentence.repeat(4));
    assert_eq!(page("<title>Bridge approved</title>", &body), None, "a banner beside the text");
}

#[test]
fn every_kind_has_a_word_of_its_own() {
    let words: std::collections::HashSet<&str> = Junk::ALL.into_iter().map(Junk::as_str).collect();
    assert_eq!(words.len(), Junk::ALL.len());
}

#[test]
fn page_is_not_found_when_its_words_lead_elsewhere() {
    for (title, text) in [
        ("Daily News", "Sorry, we can't find that page. Try our search, or go back to the front page."),
        ("Новости дня", "Запрашиваемая вами страница была удалена. Воспользуйтесь поиском или перейдите на главную."),
        (
            "Новини дня",
            "Сторінку було видалено або переміщено. Скористайтеся пошуком чи перейдіть на головну сторінку.",
        ),
    ] {
        assert_eq!(titled(title, &format!("{text}{FILLER_TEXT}")), Some(Junk::SoftNotFound), "{text}");
    }
    for story in [
        "The story was removed from the paper's home page within an hour, and its author was let go on Monday.",
        "Поліція продовжує пошуки дівчини з Одеси. Її сторінку видалено з Instagram, кажуть рідні.",
        "Страница чиновника была удалена в понедельник. Вечером сотни людей вышли на главную площадь города.",
        "Запрошенные документы переданы следствию, поиск улик на месте продолжается, сообщили в полиции города.",
    ] {
        assert_eq!(titled("A story disappears", &format!("{story}{FILLER_TEXT}")), None, "{story}");
    }
}

#[test]
fn an_article_whose_title_has_the_words_of_a_wall_is_one() {
    let text =
        "The council voted on Tuesday to build the bridge, and work will begin in the spring of next year. ".repeat(3);
    let dated = "<meta property=article:published_time content=2026-05-01>";
    for title in ["Page not found: how links die", "Access denied", "Service unavailable as trains stop"] {
        let head = format!("<title>{title}</title>");
        let body = format!("<p>{text}</p>");
        assert!(page(&head, &body).is_some(), "{title}");
        assert_eq!(page(&format!("{head}{dated}"), &body), None, "{title}");
    }
    assert_eq!(titled("Just a moment that changed the course of the war", &text), None);
}
