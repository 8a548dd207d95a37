//! Recognises, by their words, lines that are not part of an article's content.
//!
//! All patterns avoid `\b`, because it makes lines with non-ASCII letters many times slower.

use std::sync::LazyLock;

use regex::Regex;

use super::dates;

/// Headings of what follows an article. Any words may come after these.
static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:(?:",
        r"you (?:may|might) also|read (?:more|next|also)|see also|further reading|also read|(?:leave|post|add|write) a (?:reply|comment)|share this|about the author",
        r"|weiterführende (?:artikel|informationen|links|literatur|themen)|das könnte (?:sie|dich|ihnen|euch)|lesen sie (?:auch|mehr)|lies auch|kommentar (?:schreiben|verfassen|hinterlassen)|schreibe? einen kommentar|über den autor",
        r"|(?:le|te|les) puede interesar|también (?:te|le) puede|le(?:a|e|er) (?:también|más)|ver también|te recomendamos",
        r"|à lire (?:aussi|également)|lire (?:aussi|la suite|également)|voir aussi|sur le même (?:sujet|thème)",
        r"|leia (?:também|mais)|veja (?:também|mais)|saiba mais|leggi anche|(?:ti )?potrebbe(?:ro)? interessar\w*",
        r"|zobacz (?:też|również|także|więcej)|czytaj (?:też|również|także|więcej|dalej)",
        r"|lees (?:ook|meer|verder)|läs (?:också|mer)|les (?:også|mer)|læs (?:også|mere)|lue myös|ilgili haberler",
        r"|чита(?:йте|ть) (?:также|ещ[её]|далее)|смотрите также|чита(?:йте|ти) (?:також|ще|далі)|дивіться також",
        r")(?:\W.*)?",
        r"|(?:\d+ |view |all |no )?comments?|zum thema|(?:\d+ |keine )?kommentare?|(?:artikel |beitrag |news )?teilen|comentarios|(?:\d+ )?commentaires?|comentários|commenti|komentarze|reacties|комментари(?:и|ев)|коментарі|подробнее",
        r"|(?:相关(?:阅读|新闻|文章|链接)|推荐阅读|延伸阅读|関連(?:記事|ニュース)|おすすめ).*",
        r")\W*$"
    ))
    .ok()
});

/// Headings whose words may also begin a sentence. Only certain nouns, a colon or nothing may follow.
static END_OR_NEWS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:(?:",
        r"(?:related|recommended|trending|latest|similar|other|most (?:read|popular))(?: news)? (?:articles|content|coverage|links|news|now|posts|reading|stories|today|topics|videos)|recommended (?:for you|by)|more (?:from|on|stories|news|articles|like this)",
        r"|weitere (?:\w+ )?(?:beiträge|artikel|themen|links|tipps|meldungen|nachrichten|pressemitteilungen|informationen|infos)|mehr (?:zum thema|themen|artikel|beiträge|aus|von|zu)|zum weiterlesen|auch interessant|passend dazu|ähnliche (?:artikel|beiträge)",
        r"|más (?:noticias|información|sobre)|(?:contenido|noticias|artículos) relacionad[oa]s?|compart(?:ir|e) (?:en|est[ae])",
        r"|articles? (?:liés|similaires|associés|connexes)|partager (?:sur|cet)|articoli correlati|condividi su|udostępnij na|gerelateerde? (?:artikelen|berichten|nieuws|onderwerpen)",
        r"|(?:похожие|другие) (?:новости|статьи|материалы|записи)|материалы по теме|ещ[её] по теме|поделиться (?:в|с|на)",
        r"|(?:схожі|інші) (?:новини|статті|матеріали|записи)|поділитися (?:в|у|з|на)",
        r")(?:\W.*)?|(?:",
        r"related|recommended|trending|most (?:read|popular)|weiterführende\w*|meistgelesen\w*|compart(?:ir|e)|etiquetas|partager|condividi|przeczytaj|polecamy|udostępnij|gerelateerd|по теме|поделиться|схожі|поділитися",
        r")(?:\s*:.*)?)\W*$"
    ))
    .ok()
});

static NOTE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:",
        r"(?:fotos?|bild(?:er|quelle|nachweis)?|quellen?(?:angaben?)?|photos?|(?:photo |image |picture |video )?(?:credits?|source|caption)|image|picture|abbildung|crédits?(?: photos?)?|crédito|foto(?:grafía)?|fonte|fuente|źródło|zdjęci[ea]|(?:источник )?фото|источник|джерело|autor(?:en|in)?|text|redaktion|kontakt|pressekontakt|tags?|schlagwörter|kategorien?|category|categories|filed under|posted in|rubrik|stand)\s*:.{0,100}",
        r"|by (?-i:\p{Lu}[\p{L}.'’-]+(?:,? (?:and |& )?\p{Lu}[\p{L}.'’-]*){1,6})",
        r"|\d{1,4}[./-]\d{1,2}[./-]\d{2,4}(?:[\s,|–-]+\d{1,2}[:.]\d\d)?(?:uhr|h|am|pm|\s)*",
        r"|(?:share|tweet|pin|print|e-?mail)(?:\W+(?:article|copy|e-?mail|facebook|it|linkedin|page|pin|print|save|share|story|this|to a friend|tweet|twitter|whatsapp|(?:on|to|via|with) (?:e-?mail|facebook|friends|linkedin|pinterest|reddit|telegram|twitter|whatsapp|x)|\d+)){0,6}",
        r"|(?:advertisement|advert|реклама|werbung|anzeige|publicité|publicidad|publicidade)(?:\s*[-–—:|.(].{0,40}| на сайте)?",
        r"|pdf|drucken|drukuj|imprimir|imprimer|stampa|распечатать|nach oben|zurück|back to top|perma(?:link|lien).{0,60}|нашли ошибку.{0,100}",
        r")\W*$"
    ))
    .ok()
});

/// Credits whose words may also begin a sentence.
static CREDIT_OR_NEWS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W{0,3}(?:photo(?:graph)? (?:by|credit)|getty images|image (?:source|caption))(?:\W|$)").ok()
});

/// Times of publication or change. A date or time must follow.
static STAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:veröffentlicht|veröffentlichung|aktualisiert|zuletzt aktualisiert|letzte (?:änderung|aktualisierung)|published|updated|last (?:updated|modified|edited)|posted (?:on|by|at)|publicado|actualizado|atualizado|publié|mis à jour|pubblicato|aggiornato|opublikowan[oy]|aktualizacja|опубликован[оа]?|обновлено|опубліковано|оновлено|gepubliceerd)",
        r"\W(?P<rest>.{0,40}\d.{0,20})$"
    ))
    .ok()
});
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|\s)\d{1,2}[:.][0-5]\d(?:$|\D)|\d (?:min(?:ute)?|hour|day|week|month|year)s? ago").ok()
});

/// Lines that name the text's agency. They are kept, because they identify the independent source.
static ORIGIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:(?:sources?|источники?|джерел[оа]|fontes?|fuentes?|quellen?|źródło)\s*:\s*|(?:by|por|par|von|via|com informações d[aeo]|автор\s*:)\s+)",
        r"(?:the |a |o |la |l['’]|«|(?:news )?agency |(?:новостное |інформаційне )?агент?[сц]тво |agência |agencia |agence )*",
        r"(?:reuters|рейтер|associated press|ap|ассошиэйтед пресс|agence france-presse|afp|афп|tass|тасс|ria|риа|ріа|interfax|интерфакс|інтерфакс|ukrinform|укринформ|укрінформ|unian|униан|уніан|dpa|efe|ansa|lusa|xinhua|синьхуа|сіньхуа|anadolu|анадолу|belta|белта|upi|united press international|kyodo|киодо|yonhap|pti|press trust of india|brasil|estadão conteúdo|folhapress|bloomberg|блумберг)(?:\P{L}|$)",
    ))
    .ok()
});

/// Requests to follow, subscribe or install. Only imperatives at the start of a line match, because reports name the
/// same services.
static ASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:[^.!?]{0,80}[!?]\s+|for (?:the latest|more (?:information|news|on|stories|updates))[^.!?]{0,60}[\s,])?",
        r"(?:please |also |and |then |dann |you can (?:also )?|don['’]t forget to |не забудьте |также |а также |не забудьте также )?",
        r"(?:follow|join|subscribe|sign up|like us|download (?:the|our|your)|get the|click here|folgt? uns|folge uns|folgen sie|abonnier(?:e|en|t)|melde[nt]? (?:dich|sie)|síg(?:u|a)enos|únete|sigue|suscr[ií]b(?:e|a|ase|ete|irse|irte)|descarga|mira (?:el|la|los|las|en|nuestr[oa]s?)|suivez|abonnez|inscrivez|téléchargez|seguici|iscriviti|siga|inscreva|assine|baixe|śledź|zapisz|подпи(?:сывай(?:ся|тесь)|ш(?:ись|итесь)|саться)|следите|присоединяйтесь|скачай(?:те)?|підпи(?:суй(?:ся|тесь)|ш(?:ись|іться)|сатися)|приєднуйтес[ья]|стежте|volg ons|schrijf)",
        r"(?:\s.{0,120})?(?:twitter|facebook|instagram|telegram|телеграм|whatsapp|viber|youtube|tiktok|linkedin|google news|newsletter|рассылк|розсилк|inbox|\Wapps?(?:\W|$)|\W(?:канал|canal|boletín))"
    ))
    .ok()
});

static NOTICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)©|all rights reserved|alle rechte vorbehalten|todos los derechos reservados|tous droits réservés|todos os direitos reservados|tutti i diritti riservati|wszelkie prawa zastrzeżone|все права защищены|усі права захищено|alle angaben ohne gewähr",
        r"|^(?:copyright|\(c\))\W|^(?:we|this (?:site|website)) uses? cookies|^.{0,40}(?:enable|activate) javascript"
    ))
    .ok()
});

fn is_match(regex: &LazyLock<Option<Regex>>, line: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(line))
}

/// True for a complete sentence, which no heading, button or credit is.
fn is_sentence(line: &str) -> bool {
    let bare = line.trim_end_matches(['"', '”', '»', '“', ')', ' ']);
    let Some(before) = bare.strip_suffix(['.', '!', '?']) else { return false };
    // Excludes "Read more..." and "10:15 a.m.".
    before.chars().rev().take_while(|letter| letter.is_alphanumeric()).count() >= 3
}

pub(super) fn is_end(line: &str) -> bool {
    is_match(&END, line) || is_match(&END_OR_NEWS, line) && !is_sentence(line)
}

fn is_stamp(line: &str) -> bool {
    let rest = STAMP.as_ref().and_then(|regex| regex.captures(line)).and_then(|found| found.name("rest"));
    rest.is_some_and(|rest| dates::parse_dated(rest.as_str()).is_some() || is_match(&TIME, rest.as_str()))
}

pub(super) fn is_origin(line: &str) -> bool {
    line.len() < 130 && is_match(&ORIGIN, line)
}

/// True for a line without content of its own.
pub(super) fn is_boilerplate(line: &str) -> bool {
    let is_short = || {
        is_match(&NOTE, line) || is_stamp(line) || is_end(line) || is_match(&CREDIT_OR_NEWS, line) && !is_sentence(line)
    };
    (line.len() < 130 && is_short() || line.len() < 250 && (is_match(&ASK, line) || is_match(&NOTICE, line)))
        && !is_origin(line)
}

/// Maximum calls of `goes_on`, each of which examines the whole page.
const MAX_CALLS: usize = 30;

/// Returns the number of lines before the heading of what follows the article. It counts only in the last 30 % of the
/// text, and if the article does not continue after it.
pub(super) fn end_of(lines: &[&str], goes_on: impl Fn(usize) -> bool) -> usize {
    let total: usize = lines.iter().map(|line| line.len()).sum();
    let (mut seen, mut calls) = (0, 0);
    for (at, line) in lines.iter().enumerate() {
        if seen * 10 > total * 7 && line.len() < 70 && is_end(line) {
            calls += 1;
            if calls > MAX_CALLS || !goes_on(at) {
                return at;
            }
        }
        seen += line.len();
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_part_of_an_article() {
        for line in [
            "Related articles",
            "Read more: Another bridge",
            "Weitere Artikel zum Thema",
            "Читайте также: Новый мост открыт",
            "Le puede interesar: otro puente",
            "3 Comments",
            "Kommentare:",
            "相关阅读",
            "Foto: Jane Doe",
            "(Credit: Jane Doe / Paper)",
            "Veröffentlichung: 2. Februar 2022",
            "Updated on 3 May 2024, 10:15",
            "By Jane Doe and John Roe",
            "23.10.2018",
            "24.01.2022 11:38 Uhr",
            "Advertisement",
            "Follow The Paper on Twitter and Instagram",
            "Подписывайтесь на наш Telegram-канал",
            "Get the latest news with our app",
            "Lee Elder in 1997. | © Jane Doe",
            "This site uses cookies to make it better.",
            "Please follow us on Facebook",
            "Want to know more? Follow us on Facebook",
            "For the latest stories download our app",
            "Підписуйтесь на наш канал",
            "Folgen Sie uns auf Instagram",
            "Related",
            "Related: a bridge in Kherson",
            "More from Politics",
            "Recommended stories",
            "Схожі новини",
            "Поделиться в Facebook",
            "Updated 10:15 a.m.",
            "Published 3 hours ago",
            "Опубликовано 12 мая 2024",
            "Share on Facebook",
            "Share Tweet Pin",
            "Print this article",
            "Advertisement - scroll on",
            "Getty Images / Jane Doe",
            "Read more...",
            "Photo: Reuters",
        ] {
            assert!(is_boilerplate(line), "{line}");
        }
    }

    #[test]
    fn news_that_begins_like_a_button_or_a_stamp_is_kept() {
        for line in [
            "By the end of the day the bridge was open",
            "By Monday",
            "Printing was invented in the fifteenth century",
            "Comments by the mayor did not help",
            "Published authors met on Monday",
            "+81 158-23-2012",
            "286,35 €",
            "Zum Thema Wasserstoff gibt es viele Fragen",
            "The party wants to get the vote out on Monday.",
            "Канал имени Москвы построен в 1937 году.",
            "Президент подписал указ, сообщил телеканал «Россия 1».",
            "Зеленский подписал закон о мобилизации, сообщается в телеграм-канале Рады.",
            "Sweden will join NATO in March, Prime Minister Kristersson wrote on Facebook on Monday.",
            "For more than a year fans of the band join its Facebook group.",
            "Download speeds fell in March, the regulator wrote on Facebook.",
            "Следите, чтобы дети не смотрели телеканал допоздна.",
            "Updated toll: 41 dead, 120 injured.",
            "Share prices fell 3 % on Monday.",
            "Print sales fell 12% in 2023.",
            "Published in 1865, the novel sold 30,000 copies.",
            "Recommended daily intake of salt is 5 grams, the WHO says.",
            "Related deaths rose to 41,000 in 2023, the ministry said.",
            "Related deaths",
            "Опубликовано 12 новых документов.",
            "Реклама алкоголя запрещена с 2013 года.",
            "Схожі випадки зафіксовано у Львові та Одесі.",
            "Схожі випадки",
            "More stories of the kind came out on Monday.",
            "Getty Images sued the company in London.",
            "Source: Reuters",
            "Источник: ТАСС",
            "Джерело: Укрінформ",
            "Fonte: Agência Brasil",
            "Quelle: dpa",
            "By The Associated Press",
        ] {
            assert!(!is_boilerplate(line), "{line}");
        }
    }

    #[test]
    fn an_article_ends_at_the_heading_of_the_next_only_near_its_end() {
        let prose = "The council voted on Tuesday to build the bridge, and work will begin in the spring.";
        assert_eq!(end_of(&[prose, prose, prose, "Related", prose], |_| false), 3);
        assert_eq!(end_of(&[prose, "Related", prose, prose, prose], |_| false), 5);
        for line in ["Related deaths", "Схожі випадки"] {
            assert_eq!(end_of(&[prose, prose, prose, line, prose], |_| false), 5, "{line}");
        }
    }
}
