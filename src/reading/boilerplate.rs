//! Lines that stand in articles and are not part of what they say, known by their words.

use std::sync::LazyLock;

use regex::Regex;

/// What follows an article, by its heading: other articles, comments, buttons to share.
// No `\b` here and below: with it a line with other letters than ASCII's is read many times slower.
static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:(?:",
        r"related|more (?:from|on|stories|news|articles|like this)|recommended|you (?:may|might) also|read (?:more|next|also)|see also|further reading|also read|most (?:read|popular)|latest (?:news|stories|articles)|trending|(?:leave|post|add|write) a (?:reply|comment)|share this|about the author",
        r"|weitere (?:\w+ )?(?:beiträge|artikel|themen|links|tipps|meldungen|nachrichten|pressemitteilungen|informationen|infos)|mehr (?:zum thema|themen|artikel|beiträge|aus|von|zu)|zum weiterlesen|weiterführende\w*|das könnte (?:sie|dich|ihnen|euch)|auch interessant|passend dazu|lesen sie (?:auch|mehr)|lies auch|ähnliche (?:artikel|beiträge)|kommentar (?:schreiben|verfassen|hinterlassen)|schreibe? einen kommentar|über den autor|meistgelesen\w*",
        r"|(?:le|te|les) puede interesar|también (?:te|le) puede|le(?:a|e|er) (?:también|más)|ver también|más (?:noticias|información|sobre)|(?:contenido|noticias|artículos) relacionad[oa]s?|te recomendamos|compart(?:ir|e)|etiquetas",
        r"|à lire (?:aussi|également)|lire (?:aussi|la suite|également)|voir aussi|sur le même (?:sujet|thème)|articles? (?:liés|similaires|associés|connexes)|partager",
        r"|leia (?:também|mais)|veja (?:também|mais)|saiba mais|leggi anche|(?:ti )?potrebbe(?:ro)? interessar\w*|articoli correlati|condividi",
        r"|zobacz (?:też|również|także|więcej)|czytaj (?:też|również|także|więcej|dalej)|przeczytaj|polecamy|udostępnij",
        r"|lees (?:ook|meer|verder)|gerelateerd\w*|läs (?:också|mer)|les (?:også|mer)|læs (?:også|mere)|lue myös|ilgili haberler",
        r"|чита(?:йте|ть) (?:также|ещ[её]|далее)|смотрите также|(?:похожие|другие) (?:новости|статьи|материалы|записи)|(?:материалы |ещ[её] )?по теме|поделиться|чита(?:йте|ти) (?:також|ще|далі)|дивіться також|схожі|поділитися",
        r")(?:\W.*)?",
        r"|(?:\d+ |view |all |no )?comments?|zum thema|(?:\d+ |keine )?kommentare?|(?:artikel |beitrag |news )?teilen|comentarios|(?:\d+ )?commentaires?|comentários|commenti|komentarze|reacties|комментари(?:и|ев)|коментарі|подробнее",
        r"|(?:相关(?:阅读|新闻|文章|链接)|推荐阅读|延伸阅读|関連(?:記事|ニュース)|おすすめ).*",
        r")\W*$"
    ))
    .ok()
});

/// Lines of credits, dates, authors and buttons.
static NOTE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\W{0,3}(?:",
        r"(?:fotos?|bild(?:er|quelle|nachweis)?|quellen?(?:angaben?)?|photos?|(?:photo |image |picture |video )?(?:credits?|source|caption)|image|picture|abbildung|crédits?(?: photos?)?|crédito|foto(?:grafía)?|fonte|fuente|źródło|zdjęci[ea]|(?:источник )?фото|источник|джерело|autor(?:en|in)?|text|redaktion|kontakt|pressekontakt|tags?|schlagwörter|kategorien?|category|categories|filed under|posted in|rubrik|stand)\s*:.{0,100}",
        r"|(?:veröffentlicht|veröffentlichung|aktualisiert|zuletzt aktualisiert|letzte (?:änderung|aktualisierung)|published|updated|last (?:updated|modified|edited)|posted (?:on|by|at)|publicado|actualizado|atualizado|publié|mis à jour|pubblicato|aggiornato|opublikowan[oy]|aktualizacja|опубликован[оа]?|обновлено|опубліковано|оновлено|gepubliceerd)\W.{0,40}\d.{0,20}",
        r"|(?:photo(?:graph)? (?:by|credit)|getty images|image (?:source|caption)).{0,100}",
        r"|by (?-i:\p{Lu}[\p{L}.'’-]+(?:,? (?:and |& )?\p{Lu}[\p{L}.'’-]*){1,6})",
        r"|\d{1,4}[./-]\d{1,2}[./-]\d{2,4}(?:[\s,|–-]+\d{1,2}[:.]\d\d)?(?:uhr|h|am|pm|\s)*",
        r"|(?:share|tweet|pin|print|e-?mail|advertisement|advert|реклама|werbung|anzeige|publicité|publicidad|publicidade)(?:\W.{0,40})?",
        r"|pdf|drucken|drukuj|imprimir|imprimer|stampa|распечатать|nach oben|zurück|back to top|perma(?:link|lien).{0,60}|нашли ошибку.{0,100}",
        r")\W*$"
    ))
    .ok()
});

/// Asks to follow, subscribe, install.
static ASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:^|\W)(?:follow|join|subscribe|sign up|like us|download|get the|click here|folg(?:e|en|t)|abonnier(?:e|en|t)|melde[nt]? (?:dich|sie)|síg(?:u|a)enos|únete|sigue|suscr[ií]b\w*|descarga|mira|suivez|abonnez|inscrivez|téléchargez|seguici|iscriviti|siga|inscreva|assine|baixe|śledź|zapisz|подпи[сш]\w+|следите|присоединяйтесь|скачай\w*|підпи[сш]\w+|приєднуйтесь|стежте|volg|schrijf)",
        r"\W.{0,120}(?:twitter|facebook|instagram|telegram|телеграм|whatsapp|viber|youtube|tiktok|linkedin|google news|newsletter|рассылк|розсилк|inbox|\Wapps?(?:\W|$)|канал|canal|boletín)"
    ))
    .ok()
});

/// Rights, consents, and what pages say to readers without scripts.
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

/// Whether a line of an article says nothing of its own.
pub(super) fn is_boilerplate(line: &str) -> bool {
    (line.len() < 130 && (is_match(&NOTE, line) || is_match(&END, line)))
        || (line.len() < 250 && (is_match(&ASK, line) || is_match(&NOTICE, line)))
}

/// How many of an article's lines come before the heading of what follows it. Only in the last part of an article is such
/// a heading its end; before, it is a line in it.
pub(super) fn end_of(lines: &[&str]) -> usize {
    let total: usize = lines.iter().map(|line| line.len()).sum();
    let mut seen = 0;
    for (at, line) in lines.iter().enumerate() {
        if seen * 10 > total * 7 && line.len() < 70 && is_match(&END, line) {
            return at;
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
        ] {
            assert!(is_boilerplate(line), "{line}");
        }
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
        ] {
            assert!(!is_boilerplate(line), "{line}");
        }
    }

    #[test]
    fn an_article_ends_at_the_heading_of_the_next_only_near_its_end() {
        let prose = "The council voted on Tuesday to build the bridge, and work will begin in the spring.";
        assert_eq!(end_of(&[prose, prose, prose, "Related", prose]), 3);
        assert_eq!(end_of(&[prose, "Related", prose, prose, prose]), 5);
    }
}
