//! Finds other articles on a page, such as the next ones of an endless page or older blog entries.

use std::ops::Range;

use super::naming::ContainerKind;
use super::outline::{Block, Kind, Outline, Part};
use super::text;

/// Shorter titles may be above anything.
const MIN_LETTERS: usize = 8;
/// Minimum characters outside links of a separate article.
const MIN_ARTICLE_CHARS: usize = 200;

/// Characters of a line above a heading: a date, a name, a kicker.
const MAX_LINE_CHARS: usize = 100;

/// Returns the parts that are articles under another heading. Empty if no heading has the page's title.
pub(super) fn others(outline: &Outline, title: Option<&str>) -> Vec<Range<usize>> {
    let Some(title) = title.map(text::letters).filter(|title| title.chars().count() >= MIN_LETTERS) else {
        return Vec::new();
    };
    let heading =
        |kind: Kind| outline.blocks.iter().position(|block| block.kind == kind && text::letters(&block.text) == title);
    let Some((at, kind)) = [Kind::Title, Kind::Heading].into_iter().find_map(|kind| Some((heading(kind)?, kind)))
    else {
        return Vec::new();
    };
    let articles = || outline.parts.iter().filter(|part| is_article(outline, part));
    // Elements precede their content: the last one is the innermost.
    let Some(own) = articles().rfind(|part| part.blocks.contains(&at)) else { return Vec::new() };
    let is_other = |part: &&Part| {
        let is_apart = part.blocks.end <= own.blocks.start || part.blocks.start >= own.blocks.end;
        let is_alike = part.kind == own.kind && part.names.container == own.names.container;
        // The heading must come before the text.
        let is_text = |block: &&Block| block.chars.saturating_sub(block.linked) > MAX_LINE_CHARS;
        let heads = within(outline, part)
            .iter()
            .take_while(|block| is_heading(block) || !is_text(block))
            .find(|block| is_heading(block));
        // Chapters' headings are not links, and `div`s contain chapters of every level.
        is_apart
            && is_alike
            && heads.is_some_and(|head| {
                head.kind == kind
                    && text::letters(&head.text) != title
                    && (kind == Kind::Title && part.kind == Kind::Other || head.linked * 10 > head.chars * 8)
            })
    };
    articles().filter(is_other).map(|part| part.blocks.clone()).collect()
}

fn is_heading(block: &Block) -> bool {
    matches!(block.kind, Kind::Title | Kind::Heading)
}

fn within<'a>(outline: &'a Outline, part: &Part) -> &'a [Block] {
    outline.blocks.get(part.blocks.clone()).unwrap_or_default()
}

fn is_article(outline: &Outline, part: &Part) -> bool {
    let plain = || within(outline, part).iter().map(|block| block.chars.saturating_sub(block.linked)).sum::<usize>();
    part.names.container <= ContainerKind::Story && plain() >= MIN_ARTICLE_CHARS
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::super::{main_text, outline};
    use super::*;

    fn story(head: &str, word: &str) -> String {
        let line =
            format!("The {word} was opened on Tuesday by the council, and many people came to see it in the rain. ");
        format!("<article class=\"post\">{head}<p>{line}</p><p>{}</p></article>", line.repeat(3))
    }

    fn read(title: &str, body: &str) -> String {
        let document = Document::from(format!("<html><body>{body}</body></html>"));
        main_text::read(&document, None, None, Some(title)).paragraphs.join("\n")
    }

    #[test]
    fn the_next_articles_of_an_endless_page_are_left_out() {
        let title = "Council opens the new bridge";
        let own = story(&format!("<h1>{title}</h1>"), "bridge");
        let next = story("<h1>Storm closes the harbour</h1>", "harbour").replace("<p>", "<p>Longer than the first. ");
        let found = read(title, &format!("{own}{next}{next}"));
        assert!(found.contains("bridge") && !found.contains("harbour"), "{found}");
        let older = story("<h2><a href=/older>Storm closes the harbour</a></h2>", "harbour");
        let found = read(title, &format!("{}{older}", own.replace("h1>", "h2>")));
        assert!(found.contains("bridge") && !found.contains("harbour"), "{found}");
    }

    #[test]
    fn chapters_and_pages_without_the_title_stay_whole() {
        let title = "Council opens the new bridge";
        let own = story(&format!("<h2>{title}</h2>"), "bridge");
        let chapter = story("<h2>How it was built</h2>", "harbour");
        let outline = outline::read(&Document::from(format!("<html><body>{own}{chapter}</body></html>")));
        for title in [Some(title), Some("Another title altogether"), Some("News"), None] {
            assert!(others(&outline, title).is_empty(), "{title:?}");
        }
        let parts = format!("{own}{chapter}").replace("article", "div").replace("h2", "h1");
        let outline = outline::read(&Document::from(format!("<html><body>{parts}</body></html>")));
        assert!(others(&outline, Some(title)).is_empty());
    }
}
