//! Detects pages that are not articles: paywalls, consent walls, logins, errors. Their text must never become evidence.
//!
//! A rule needs the words of a barrier and little other text. A long article about captchas or error 404 thus remains an
//! article. Consent requests and offers of any length are scored in `barrier`. To add a kind, add a variant of [`Junk`],
//! its label and its phrases.

use std::sync::LazyLock;

use regex::Regex;
use url::Url;

use super::barrier;
use super::main_text::MainText;
use super::page::Page;
use super::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Junk {
    Consent,
    /// A paywall with only a teaser.
    Paywall,
    Login,
    /// A captcha, browser check or blocked client.
    BotWall,
    /// No bytes, or no text at all.
    Empty,
    /// A PDF, image, JSON or other body.
    NotHtml,
    TooShort,
    /// "Not found" with status 200.
    SoftNotFound,
    /// A server's error page with status 200.
    ErrorPage,
    /// A domain for sale or with only advertisements.
    Parked,
    /// An empty page that a script fills.
    ScriptOnly,
    /// A redirect by markup or script.
    RedirectPage,
    /// A page with much more parsing work than normal.
    TooCostly,
}

impl Junk {
    pub const ALL: [Self; 13] = [
        Self::Consent,
        Self::Paywall,
        Self::Login,
        Self::BotWall,
        Self::Empty,
        Self::NotHtml,
        Self::TooShort,
        Self::SoftNotFound,
        Self::ErrorPage,
        Self::Parked,
        Self::ScriptOnly,
        Self::RedirectPage,
        Self::TooCostly,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Consent => "consent_wall",
            Self::Paywall => "paywall",
            Self::Login => "login_wall",
            Self::BotWall => "bot_wall",
            Self::Empty => "empty",
            Self::NotHtml => "not_html",
            Self::TooShort => "too_short",
            Self::SoftNotFound => "soft_404",
            Self::ErrorPage => "error_page",
            Self::Parked => "parked",
            Self::ScriptOnly => "script_only",
            Self::RedirectPage => "redirect_page",
            Self::TooCostly => "too_costly",
        }
    }
}

impl std::fmt::Display for Junk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for Junk {}

/// Shorter texts cannot contain a passage and its context.
const MIN_CHARS: usize = 80;
/// A page with more text is an article, whatever its title.
const MAX_WALL_CHARS: usize = 1_500;
/// Browser checks and parked domains have less text.
const MAX_BOT_CHARS: usize = 600;
/// Notices such as "you need to enable JavaScript to run this app" have less text.
const MAX_SHELL_CHARS: usize = 300;
/// Teasers have less text.
const MAX_TEASER_CHARS: usize = 1_000;

static BOT_TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W*(?:just a moment|attention required!|one moment, please|please wait\b.{0,20}|checking your browser|verify(?:ing)? you are (?:a )?human|",
        r"are you (?:a )?(?:robot|human)|robot check|human verification|security check|pardon our interruption|access (?:to this page has been )?denied|",
        r"you have been blocked|request (?:rejected|blocked)|bot verification|captcha\b|ddos-guard|ddos protection|client challenge|",
        r"проверка браузера|вы не робот|подтвердите, что|доступ (?:ограничен|запрещ[её]н|заблокирован)|перевірка браузера|ви не робот|доступ заборонено|",
        r"sicherheitsüberprüfung|einen moment|nur einen moment|zugriff verweigert|un instant|accès refusé|vérification de sécurité|acceso denegado|un momento\b|acesso negado|um momento\b|accesso negato|toegang geweigerd|een ogenblik|odmowa dostępu|chwileczkę|przístup odepřen|přístup odepřen)"
    ))
    .ok()
});
static BOT_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)checking (?:if the site connection is secure|your browser before)|verify(?:ing)? (?:that )?you are (?:a |not a )?(?:human|robot)|",
        r"complete the (?:security check|captcha)|unusual traffic from your|confirm (?:that )?you(?:'re| are) (?:a human|not a robot|human)|",
        r"needs to review the security of your connection|you have been blocked|ray id:|please enable (?:cookies|js|javascript) and (?:disable|reload)|",
        r"press (?:&|and) hold to confirm|подтвердите, что (?:вы не робот|запросы)|докажите, что вы не робот|запросы похожи на автоматические|підтвердьте, що ви не робот|доведіть, що ви не робот|incapsula incident id|reference #\d+\.[0-9a-f]+\.\d+|why did this happen\? please make sure your browser supports javascript|",
        r"проверяем, что вы не (?:робот|бот)|перевіряємо, що ви не (?:робот|бот)|bestätigen sie, dass sie (?:ein mensch|kein roboter)|vérifie[zr] que vous (?:êtes (?:un )?humain|n'êtes pas un robot)|confirm[ae] que (?:eres|es) humano|confirme que (?:você )?(?:é humano|não é um robô)|conferma di (?:essere umano|non essere un robot)|bevestig dat u (?:een mens|geen robot)|potwierdź, że nie jesteś robotem"
    ))
    .ok()
});
static NOT_FOUND_TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W*404\s*(?:$|[\]|:–—.!()-]|error|not |page|страниц|сторінк|ошибк|помилк|nicht|introuvable)|(?:error|http|ошибка|помилка|fehler|erreur|код|code)\W{0,3}404(?:[^\d/]|$)|[\[|:–—(-]\s*404\W*$|404 \(|^\W*(?:error 404|page (?:not found|no longer available|does ?n.t exist)|not found|nothing found|",
        r"(?:the |this )?(?:page|article|content|story) (?:you|could|can|was|is|has) .{0,40}(?:not|n't|no longer|removed|unavailable)|content not found|oops)|",
        r"(?:страница|статья|запись|материал) (?:не найден[ао]?|удал[её]н[ао]?|не существует)|(?:сторінк[уа]|статт[яю]) не (?:знайдено|існує)|нет такой страницы|",
        r"seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouvée)|página no (?:encontrada|existe)|página não encontrada|pagina (?:non trovata|niet gevonden)|nie znaleziono strony|strona nie (?:istnieje|została znaleziona)|stránka (?:nebyla nalezena|neexistuje)|sidan (?:kunde inte hittas|hittades inte)|contenido no (?:encontrado|disponible)|artikel nicht (?:gefunden|mehr verfügbar)|cet article n'(?:existe|est) plus|матеріал (?:не знайдено|видалено)|новост[ьи] не найден[аы]"
    ))
    .ok()
});
static ERROR_TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W*(?:(?:http )?(?:error )?5\d\d\b.{0,40}(?:error|gateway|unavailable|timeout|timed out|server)|(?:error|ошибка|помилка) (?:5\d\d|403)\b|internal server error|bad gateway|",
        r"service (?:temporarily )?unavailable|gateway time-?out|web server is down|403 forbidden|forbidden$|database error|site (?:is )?(?:under maintenance|temporarily unavailable)|",
        r"application error|something went wrong|an error (?:has )?occurred|account suspended|domain (?:is )?for sale|ведутся технические работы|технические работы|сайт временно недоступен)|",
        r"\| 5\d\d: "
    ))
    .ok()
});
static PAYWALL_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)subscribe (?:now )?to (?:continue|read|keep reading|unlock|access)|(?:this|the) (?:article|content|story) is (?:only )?(?:for|available to|reserved for|exclusive to) (?:\w+ )?(?:subscribers|members)|",
        r"(?:to (?:continue|keep) reading|continue reading).{0,60}(?:subscri|sign (?:in|up)|log ?in|register|account)|subscriber[- ](?:only|exclusive)|become a (?:subscriber|member) to|unlock this article|",
        r"you have (?:reached|read) your .{0,30}(?:limit|articles)|(?:материал|статья|текст) доступ(?:ен|на) (?:только )?(?:по подписке|подписчикам)|оформите подписку|доступно (?:тільки|лише) (?:за передплатою|передплатникам)|",
        r"nur für (?:abonnent|registrierte)|weiterlesen mit|jetzt (?:weiterlesen|abonnieren|testen)|exklusiv für abonnenten|réservé(?:e)? aux abonnés|il vous reste .{0,20} de cet article|",
        r"(?:contenido|artículo) (?:exclusivo|solo) para suscriptores|(?:conteúdo|matéria) (?:exclusiv[oa]|para) (?:para )?assinantes|contenuto riservato agli abbonati|alleen voor abonnees|artykuł dostępny (?:tylko )?dla|tylko dla (?:prenumeratorów|subskrybentów)|dostęp do (?:tego )?artykułu|abbonati per (?:continuare|leggere)|abonnez-vous pour (?:lire|continuer)|suscríbete para (?:seguir|leer|continuar)|assine para (?:continuar|ler)|word abonnee|lees verder met|pro předplatitele|endast för prenumeranter|",
        r"чтобы (?:читать|прочитать|продолжить).{0,40}(?:подпи|оформ|зарегистрир|войд)|полный текст (?:доступен|статьи).{0,30}(?:подпис|подписк)|щоб (?:читати|продовжити).{0,40}(?:передплат|підпи|зареєстр|увійд)|for subscribers? only|(?:premium|plus)[- ](?:artikel|article|inhalt|content|artículo)\b.{0,60}(?:abo|subscri|suscri)|mit (?:einem )?abo weiterlesen|your free articles|free articles? (?:left|remaining)|this is a (?:premium|subscriber)"
    ))
    .ok()
});
/// Words under a teaser. Some papers have them in every page's head, so that only the main text is searched.
static SUBSCRIBER_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)already a (?:subscriber|member)\?|bereits abonnent|déjà abonné|¿ya eres suscriptor|já é assinante|hai già un abbonamento|",
        r"al abonnee\?|masz już (?:konto|prenumeratę)|уже есть подписка|вже (?:є|маєте) передплат"
    ))
    .ok()
});
static LOGIN_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b(?:log ?in|sign ?in)\b|forgot(?:ten)? (?:your )?password|create (?:an |a new )?account|you must (?:be logged|log) in|",
        r"войти|вход в|авторизаци|забыли пароль|зарегистрир|увійти|забули пароль|anmelden|einloggen|passwort vergessen|connexion|se connecter|mot de passe|iniciar sesión|contraseña|fazer login|entrar|accedi\b|zaloguj|inloggen|přihlá(?:sit|šení)|logga in|password dimenticata|nie pamiętasz hasła"
    ))
    .ok()
});
static PARKED_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:this |the )?domain(?: name)? (?:\S+ )?(?:is|may be) (?:for sale|parked|available for (?:purchase|sale))|buy this domain|domain has expired|this (?:web ?page|domain) is parked|",
        r"(?:этот )?домен (?:\S+ )?(?:прода[её]тся|припаркован|свободен|зарегистрирован в)|купить (?:этот )?домен|домен (?:\S+ )?(?:продається|припарковано)|",
        r"diese domain (?:steht zum verkauf|ist zu verkaufen|kaufen)|ce (?:nom de )?domaine est à vendre|este dominio está (?:a la|en) venta|este domínio está à venda|questo dominio è in vendita|dit domein is te koop|ta domena jest na sprzedaż"
    ))
    .ok()
});
static SCRIPT_NOTICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:enable|turn on|requires?|need to (?:enable|run)|activate|without) javascript|javascript (?:is (?:disabled|required|not enabled)|to run this app|enabled)|",
        r"(?:включите|требуется|необходимо включить|отключ[её]н|увімкніть|потрібен) javascript|javascript (?:отключ[её]н|вимкнено|deaktiviert|désactivé)|",
        r"(?:aktivieren sie|bitte) javascript|activez javascript|(?:activa|habilita|ative|abilita|attiva) (?:el |o )?javascript|włącz (?:obsługę )?javascript|schakel javascript"
    ))
    .ok()
});

/// Words of a page that replaces a missing one. [`WAY_ON_TEXT`] has its links.
static GONE_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:can(?:no|['’])?t|could ?n[o'’]t|unable to) find (?:that|this|the) (?:page|article|story)|",
        r"(?:page|article|story|content) (?:that )?you(?:['’]re| are| were|['’]ve| have)? (?:looking for|requested|tried|trying)|",
        r"(?:page|article|story) (?:has been|was|may have been|might have been) (?:removed|moved|deleted)|",
        r"(?:запрашиваем|запрошенн)\w+ (?:вами )?(?:страниц|материал|документ)\w*|(?:такой|данной|этой) страницы .{0,30}(?:не существует|нет)|",
        r"страниц\w+ (?:была |возможно, )?(?:удалена|перемещена|не найдена|не существует)|",
        r"(?:такої|цієї) сторінки .{0,30}(?:немає|нема|не існує|не знайдено)|запит\w+ (?:вами )?сторінк\w+|",
        r"сторінк\w+ (?:було |була )?(?:видален|переміщен|не знайден|не існує)\w*"
    ))
    .ok()
});
static WAY_ON_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:use (?:our|the)|try (?:the|our|a)) (?:site )?search|(?:go|return|back|head|visit) (?:back )?(?:to )?(?:the|our) (?:front|home|main) ?page|",
        r"воспользу\w+ поиском|попробу\w+ поиск|(?:на|к) главн(?:ую|ой)(?: страниц\w+)?(?:[.,;!]|$)|скориста\w+ пошуком|спробу\w+ пошук|на головну(?: сторінку)?(?:[.,;!]|$)"
    ))
    .ok()
});

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArticleMarkup {
    /// `isAccessibleForFree`.
    pub(super) is_free: Option<bool>,
    /// The markup dates the article with the page's title.
    pub(super) is_article: bool,
}

const MIN_ARTICLE_CHARS: usize = 200;
/// Letters after the bot-check words. Bot checks have fewer.
const MAX_BOT_TITLE_REST: usize = 20;

/// True if the title continues after the bot-check words: "Just a moment that changed the war".
fn goes_on(title: &str) -> bool {
    let Some(found) = BOT_TITLE.as_ref().and_then(|regex| regex.find(title)) else { return false };
    let rest = title.get(found.end()..).unwrap_or_default();
    let rest = [" | ", " - ", " — ", " – ", " · "]
        .iter()
        .filter_map(|mark| rest.split(mark).next())
        .min_by_key(|part| part.len());
    rest.is_some_and(|rest| text::letters(rest).chars().count() > MAX_BOT_TITLE_REST)
}

/// Judges a page by its title, forms, address and text. `whole` returns the page's bounded text, needed only if the main
/// text is short.
pub(super) fn judge(
    page: &Page,
    main: &MainText,
    stated: ArticleMarkup,
    url: &Url,
    whole: impl FnOnce() -> String,
) -> Option<Junk> {
    let paragraphs = main.paragraphs.as_slice();
    let chars: usize = paragraphs.iter().map(|paragraph| paragraph.chars().count()).sum();
    let is_match = |regex: &Option<Regex>, text: &str| regex.as_ref().is_some_and(|regex| regex.is_match(text));
    let titles = || page.title.iter().chain(&page.headings);
    let is_article = stated.is_article && chars >= MIN_ARTICLE_CHARS;
    let titled = |regex: &Option<Regex>| {
        !is_article && titles().any(|title| title.chars().count() <= 120 && is_match(regex, title))
    };
    let in_text = |regex: &Option<Regex>| paragraphs.iter().any(|paragraph| is_match(regex, paragraph));
    // Extraction drops a barrier's own text as boilerplate.
    let whole = if chars < MAX_TEASER_CHARS / 2 { whole() } else { String::new() };
    let anywhere = |regex: &Option<Regex>| in_text(regex) || is_match(regex, &whole);
    if chars < MAX_WALL_CHARS {
        // Articles about captchas contain these words too.
        let words = [titled(&BOT_TITLE), anywhere(&BOT_TEXT), page.has_challenge];
        let is_title_alone = matches!(words, [true, false, _]) && titles().any(|title| goes_on(title));
        let needed = if chars < MAX_BOT_CHARS && !is_title_alone { 1 } else { 2 };
        // Many sites have a challenge script on all pages.
        let counted = words.into_iter().filter(|word| *word).count() - usize::from(words == [false, false, true]);
        if counted >= needed || (page.has_challenge && chars < MIN_CHARS * 3) {
            return Some(Junk::BotWall);
        }
        if chars < MAX_BOT_CHARS && (titled(&PARKED_TEXT) || anywhere(&PARKED_TEXT))
            || (page.has_parking && chars < MAX_TEASER_CHARS)
        {
            return Some(Junk::Parked);
        }
        if titled(&NOT_FOUND_TITLE) {
            return Some(Junk::SoftNotFound);
        }
        if titled(&ERROR_TITLE) {
            return Some(Junk::ErrorPage);
        }
        if chars < MAX_BOT_CHARS && !stated.is_article && is_replacement_page(page, paragraphs) {
            return Some(Junk::SoftNotFound);
        }
    }
    if chars < MAX_TEASER_CHARS {
        if chars < MAX_TEASER_CHARS / 2
            && ((page.has_password_field && (titled(&LOGIN_TEXT) || chars < 200))
                || (is_login_path(url) && (in_text(&LOGIN_TEXT) || titled(&LOGIN_TEXT))))
        {
            return Some(Junk::Login);
        }
        // A free page has subscription offers in its header and footer.
        let is_walled = if stated.is_free == Some(true) { in_text(&PAYWALL_TEXT) } else { anywhere(&PAYWALL_TEXT) };
        if is_walled || in_text(&SUBSCRIBER_TEXT) || stated.is_free == Some(false) {
            return Some(Junk::Paywall);
        }
    }
    if chars < MAX_SHELL_CHARS {
        // Redirects in the page are not followed.
        if page.meta(&["refresh"]).is_some_and(leads_elsewhere) || (page.leaves_by_script && chars < MIN_CHARS) {
            return Some(Junk::RedirectPage);
        }
        if anywhere(&SCRIPT_NOTICE) || (chars < MIN_CHARS && (page.has_script_root || page.requires_scripts)) {
            return Some(Junk::ScriptOnly);
        }
    }
    if let Some(barrier) = barrier::kind(page, &main.blocks, paragraphs, url) {
        return Some(barrier);
    }
    match chars {
        0 => Some(Junk::Empty),
        _ if chars < MIN_CHARS => Some(Junk::TooShort),
        _ => None,
    }
}

/// True if the page says that an article is gone and, next to it, where to go instead.
fn is_replacement_page(page: &Page, paragraphs: &[String]) -> bool {
    let is_match = |regex: &Option<Regex>, text: &str| regex.as_ref().is_some_and(|regex| regex.is_match(text));
    let sends_on = |some: &[String]| some.iter().any(|paragraph| is_match(&WAY_ON_TEXT, paragraph));
    let is_gone = |(at, paragraph): (usize, &String)| {
        let near = paragraphs.get(at.saturating_sub(1)..(at + 2).min(paragraphs.len())).unwrap_or_default();
        is_match(&GONE_TEXT, paragraph) && sends_on(near)
    };
    page.headings.iter().any(|head| is_match(&GONE_TEXT, head)) && sends_on(paragraphs)
        || paragraphs.iter().enumerate().any(is_gone)
}

fn is_login_path(url: &Url) -> bool {
    const LOGINS: [&str; 9] =
        ["login", "signin", "sign-in", "log-in", "auth", "sso", "accounts", "login.php", "wp-login.php"];
    url.path_segments().into_iter().flatten().any(|part| LOGINS.contains(&part))
}

/// True for `5; url=/there`. Longer delays are reloads of a live page.
fn leads_elsewhere(refresh: &str) -> bool {
    let (delay, rest) = refresh.split_once([';', ',']).unwrap_or((refresh, ""));
    delay.trim().parse::<f64>().is_ok_and(|seconds| seconds <= 15.0) && rest.to_ascii_lowercase().contains("url")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Plain,
    Other,
}

/// Uses the `Content-Type` only if the body is ambiguous.
pub(super) fn kind_of(bytes: &[u8], content_type: Option<&str>) -> Kind {
    const SIGNATURES: [&[u8]; 14] = [
        b"%PDF-",
        b"\x89PNG",
        b"GIF8",
        b"\xff\xd8\xff",
        b"PK\x03\x04",
        b"\x1f\x8b",
        b"RIFF",
        b"\x00\x00\x00",
        b"OggS",
        b"ID3",
        b"BZh",
        b"\xd0\xcf\x11\xe0",
        b"wOFF",
        b"\x7fELF",
    ];
    // UTF-16 markup begins with a byte-order mark or `<\0`.
    if SIGNATURES.iter().any(|signature| bytes.starts_with(signature)) {
        return Kind::Other;
    }
    let head = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let essence = content_type.and_then(|value| value.split(';').next()).map(|value| value.trim().to_ascii_lowercase());
    let looks_like_json = matches!(head.first(), Some(b'{' | b'['))
        && serde_json::from_slice::<serde::de::IgnoredAny>(head.get(..).unwrap_or_default()).is_ok();
    if looks_like_json {
        return Kind::Other;
    }
    let looks_like_markup = head.first() == Some(&b'<');
    let looks_like_feed = looks_like_markup && {
        let start = head.get(..400).unwrap_or(head);
        [b"<rss".as_slice(), b"<feed", b"<rdf:RDF", b"<urlset", b"<sitemapindex"]
            .iter()
            .any(|root| start.windows(root.len()).any(|part| part == *root))
    };
    if looks_like_feed {
        return Kind::Other;
    }
    match essence.as_deref() {
        None
        | Some(
            "" | "text/html" | "application/xhtml+xml" | "application/octet-stream" | "text/xml" | "application/xml",
        ) => Kind::Html,
        Some("text/plain") => {
            if looks_like_markup {
                Kind::Html
            } else {
                Kind::Plain
            }
        }
        Some(_) => {
            if looks_like_markup
                && head.get(..1024).unwrap_or(head).to_ascii_lowercase().windows(5).any(|part| part == b"<html")
            {
                Kind::Html
            } else {
                Kind::Other
            }
        }
    }
}
