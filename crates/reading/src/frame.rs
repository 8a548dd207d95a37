//! Finds the article's element on a page, and the article's lines in it.
//!
//! Content systems use well-known names for the article and for its surroundings ([`super::naming`]), but also for
//! other elements. The amount of text in an element decides whether its name is trusted. [`article`] trusts fewer names
//! in each pass, until it finds enough text.

use std::ops::{Range, RangeInclusive};

use dom_query::NodeId;

use super::boilerplate;
use super::naming::{ContainerKind, Noise};
use super::others::others;
use super::outline::{Block, Kind, Outline, Part};

/// Minimum weight of an element that is named as the article.
const MIN_ARTICLE_WEIGHT: usize = 200;
/// With fewer characters, the article may have been dropped.
const MIN_COMPLETE_CHARS: usize = 250;
/// With fewer characters, nothing was found.
const MIN_FOUND_CHARS: usize = 100;
/// Minimum characters of a paragraph that is a sentence.
const MIN_SENTENCE: usize = 25;
/// Blocks between a title and its article.
const MAX_LEAD_BLOCKS: usize = 25;

struct Sums(Vec<Sum>);

#[derive(Clone, Copy, Default)]
struct Sum {
    chars: usize,
    linked: usize,
    titles: usize,
    /// Characters of prose, plus a quarter of the other characters outside links.
    weight: usize,
}

impl Sums {
    fn of(blocks: &[Block]) -> Self {
        let mut sum = Sum::default();
        let mut sums = vec![sum];
        for block in blocks {
            sum.titles += usize::from(block.kind == Kind::Title);
            if block.dropped == Noise::None {
                sum.chars += block.chars;
                sum.linked += block.linked;
                if block.linked * 2 <= block.chars {
                    let plain = block.chars - block.linked;
                    sum.weight += if is_prose(block) { plain } else { plain / 4 };
                }
            }
            sums.push(sum);
        }
        Self(sums)
    }

    fn within(&self, range: &Range<usize>) -> Sum {
        let at = |position: usize| self.0.get(position).copied().unwrap_or_default();
        let (first, end) = (at(range.start), at(range.end));
        Sum {
            chars: end.chars.saturating_sub(first.chars),
            linked: end.linked.saturating_sub(first.linked),
            titles: end.titles.saturating_sub(first.titles),
            weight: end.weight.saturating_sub(first.weight),
        }
    }
}

fn is_prose(block: &Block) -> bool {
    block.chars >= 60 && block.text.chars().any(|c| matches!(c, '.' | '!' | '?' | '…' | '。' | '।'))
}

/// Returns the article's lines without its title. `scope` is the element that the markup declares as the article's
/// body.
pub(super) fn article(outline: &mut Outline, scope: Option<NodeId>, title: Option<&str>) -> Vec<String> {
    let mut others = others(outline, title);
    others.extend(hidden(outline));
    let mut best: Vec<String> = Vec::new();
    let mut dropped: Vec<Noise> = Vec::new();
    // A theme may name the article like surroundings, and a thread consists of comments.
    let passes = [
        (Noise::Line..=Noise::Comments, usize::MAX),
        (Noise::Certain..=Noise::Comments, MIN_COMPLETE_CHARS),
        (Noise::Comments..=Noise::Comments, MIN_COMPLETE_CHARS),
        (Noise::Certain..=Noise::Certain, MIN_FOUND_CHARS),
    ];
    for (believed, least) in passes {
        if length(&best) >= least {
            break;
        }
        for block in &mut outline.blocks {
            block.dropped = Noise::None;
        }
        drop(&mut outline.blocks, others.iter().map(|range| (range.clone(), Noise::Certain)).collect());
        let found = lines(outline, scope, &believed);
        if best.is_empty() || length(&found) > length(&best) * 3 {
            best = found;
            dropped = outline.blocks.iter().map(|block| block.dropped).collect();
        }
    }
    for (block, why) in outline.blocks.iter_mut().zip(dropped) {
        block.dropped = why;
    }
    best
}

/// Returns the hidden ranges. Empty if the page has little visible prose, because scripts show some articles.
fn hidden(outline: &Outline) -> Vec<Range<usize>> {
    let ranges: Vec<Range<usize>> =
        outline.parts.iter().filter(|part| part.names.is_hidden).map(|part| part.blocks.clone()).collect();
    if ranges.is_empty() {
        return ranges;
    }
    // 0: visible. 1: surroundings. 2: hidden.
    let mut kinds = vec![0_u8; outline.blocks.len()];
    let mut mark = |range: &Range<usize>, kind: u8| {
        kinds.get_mut(range.clone()).unwrap_or_default().iter_mut().for_each(|held| *held = kind.max(*held));
    };
    outline.parts.iter().filter(|part| part.names.noise >= Noise::Likely).for_each(|part| mark(&part.blocks, 1));
    for range in &ranges {
        mark(range, 2);
    }
    let prose = |kind: u8| {
        let blocks = outline.blocks.iter().zip(&kinds).filter(|(block, held)| **held == kind && is_prose(block));
        blocks.map(|(block, _)| block.chars.saturating_sub(block.linked)).sum::<usize>()
    };
    let seen = prose(0);
    if seen >= MIN_ARTICLE_WEIGHT && seen * 2 >= prose(2) { ranges } else { Vec::new() }
}

/// Returns every prose line outside the parts that [`article`] dropped.
pub(super) fn prose(outline: &Outline) -> Vec<String> {
    let is_kept = |block: &&Block| block.dropped == Noise::None && is_prose(block);
    outline.blocks.iter().filter(is_kept).map(|block| block.text.clone()).collect()
}

fn length(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count()).sum()
}

/// True if the line is a heading of links only, and the article continues after them in the same element.
fn goes_on(outline: &Outline, kept: &[usize], nth: usize) -> bool {
    let block = |nth: usize| kept.get(nth).and_then(|at| outline.blocks.get(*at));
    let is_link = |nth: usize| block(nth).is_some_and(|block| block.linked * 3 > block.chars);
    let Some(before) = (0..nth).rev().find(|nth| block(*nth).is_some_and(is_prose)) else { return false };
    let mut last = nth;
    while is_link(last) && is_link(last + 1) && block(last + 1).is_some_and(|next| boilerplate::is_end(&next.text)) {
        last += 1;
    }
    let (Some(before), Some(line), Some(next)) = (kept.get(before), kept.get(last), kept.get(last + 1)) else {
        return false;
    };
    let between = outline.blocks.get(line + 1..*next).unwrap_or_default();
    let (chars, linked) = between.iter().fold((0, 0), |sum, block| (sum.0 + block.chars, sum.1 + block.linked));
    let heads_links = if between.is_empty() { is_link(last) } else { linked * 10 > chars * 6 };
    let is_text = block(last + 1)
        .is_some_and(|next| is_prose(next) && next.linked * 4 < next.chars && !boilerplate::is_boilerplate(&next.text));
    let home = |at: usize| outline.parts.iter().rposition(|part| part.blocks.len() > 1 && part.blocks.contains(&at));
    heads_links && is_text && home(*before) == home(*next)
}

fn lines(outline: &mut Outline, scope: Option<NodeId>, believed: &RangeInclusive<Noise>) -> Vec<String> {
    drop_noise(outline, believed);
    drop_links(outline);
    let sums = Sums::of(&outline.blocks);
    let frame = frame(outline, &sums, scope);
    restore(outline.blocks.get_mut(frame.clone()).unwrap_or_default());
    let is_kept = |block: &Block| block.dropped == Noise::None && block.kind != Kind::Title;
    let mut kept: Vec<usize> = lead(&outline.blocks, &sums, &frame)
        .into_iter()
        .chain(frame)
        .filter(|at| outline.blocks.get(*at).is_some_and(is_kept))
        .collect();
    let texts: Vec<&str> =
        kept.iter().filter_map(|at| outline.blocks.get(*at)).map(|block| block.text.as_str()).collect();
    kept.truncate(boilerplate::end_of(&texts, |nth| goes_on(outline, &kept, nth)));
    let mut found: Vec<&Block> = kept.into_iter().filter_map(|at| outline.blocks.get(at)).collect();
    let is_idle = |block: &&Block| {
        block.kind == Kind::Heading || block.text.ends_with(':') || boilerplate::is_boilerplate(&block.text)
    };
    while found.last().is_some_and(is_idle) {
        found.pop();
    }
    found.into_iter().map(|block| block.text.clone()).collect()
}

fn drop(blocks: &mut [Block], ranges: Vec<(Range<usize>, Noise)>) {
    for (range, why) in ranges {
        for block in blocks.get_mut(range).unwrap_or_default() {
            block.dropped = block.dropped.max(why);
        }
    }
}

/// Drops elements that are named like surroundings, unless they contain too much of the article.
fn drop_noise(outline: &mut Outline, believed: &RangeInclusive<Noise>) {
    let sums = Sums::of(&outline.blocks);
    let anchor = anchor(outline, &sums).unwrap_or(0..outline.blocks.len());
    let total = sums.within(&anchor).weight;
    // A line that names the text's agency is kept.
    let is_origin = |range: &Range<usize>| {
        let blocks = outline.blocks.get(range.clone()).unwrap_or_default();
        blocks.iter().any(|block| boilerplate::is_origin(&block.text))
    };
    let mut dropped = Vec::new();
    let mut until = 0;
    for part in outline.parts.iter().filter(|part| believed.contains(&part.names.noise)) {
        let (range, noise) = (&part.blocks, part.names.noise);
        let inside = sums.within(range);
        let is_around = range.start <= anchor.start && range.end >= anchor.end;
        let is_apart = range.end <= anchor.start || range.start >= anchor.end;
        // Largest share of the article's weight, in tenths.
        let most = match noise {
            _ if is_around || inside.titles > 0 => 3,
            _ if is_apart => 100,
            Noise::Certain | Noise::Comments if part.names.container <= ContainerKind::Story => 3,
            Noise::Comments => 9,
            Noise::Certain => 6,
            Noise::Teaser | Noise::Teasers | Noise::Likely => 5,
            Noise::Line | Noise::None => 10,
        };
        let fits = match noise {
            Noise::Line => inside.chars <= 100 && !is_origin(range),
            Noise::Likely => inside.chars > 100 || !is_origin(range),
            Noise::Teaser => inside.linked * 4 > inside.chars,
            _ => true,
        };
        // Reader comments may be longer than the article.
        let is_thread = is_apart && noise == Noise::Comments;
        if fits && range.start >= until && (is_thread || inside.weight * 10 <= total * most) {
            until = range.end;
            dropped.push((range.clone(), noise));
        }
    }
    drop(&mut outline.blocks, dropped);
}

fn drop_links(outline: &mut Outline) {
    let sums = Sums::of(&outline.blocks);
    let is_menu = |part: &&Part| {
        let inside = sums.within(&part.blocks);
        let most = match part.kind {
            Kind::List => 6,
            Kind::Table | Kind::Division | Kind::Other => 7,
            _ => return false,
        };
        inside.weight < 60 && inside.linked * 10 > inside.chars * most
    };
    let menus = outline.parts.iter().filter(is_menu).map(|part| (part.blocks.clone(), Noise::Certain)).collect();
    drop(&mut outline.blocks, menus);
    for block in &mut outline.blocks {
        if block.kind != Kind::Row && block.linked * 10 > block.chars * 8 {
            block.dropped = Noise::Certain;
        }
    }
}

/// Restores slides, captions and the like if they are most of the article.
fn restore(blocks: &mut [Block]) {
    let weight = |why: Noise| -> usize {
        let some = blocks.iter().filter(|block| block.dropped == why && is_prose(block));
        some.map(|block| block.chars).sum()
    };
    if weight(Noise::Likely) > weight(Noise::None) {
        for block in blocks.iter_mut().filter(|block| block.dropped == Noise::Likely) {
            block.dropped = Noise::None;
        }
    }
}

/// Returns the element most surely named as the article, unless most of the prose is elsewhere.
fn frame(outline: &Outline, sums: &Sums, scope: Option<NodeId>) -> Range<usize> {
    let container = |part: &Part| if Some(part.id) == scope { ContainerKind::Body } else { part.names.container };
    let named =
        surest(outline.parts.iter().filter(|part| part.names.container < ContainerKind::Elsewhere), sums, container);
    let widest = widest(outline, sums);
    named.filter(|named| sums.within(named).weight * 2 >= sums.within(&widest).weight).unwrap_or(widest)
}

/// As [`frame`], but only for elements outside surroundings.
fn anchor(outline: &Outline, sums: &Sums) -> Option<Range<usize>> {
    let mut until = 0;
    let clean = outline.parts.iter().filter(|part| {
        if part.names.noise >= Noise::Likely {
            until = until.max(part.blocks.end);
        }
        part.blocks.start >= until && part.names.container <= ContainerKind::Story
    });
    surest(clean, sums, |part| part.names.container)
}

/// Returns the heaviest part in the best place, or the innermost part with 95 % of its weight.
fn surest<'a>(
    parts: impl Iterator<Item = &'a Part>,
    sums: &Sums,
    container: impl Fn(&Part) -> ContainerKind,
) -> Option<Range<usize>> {
    let mut best: Option<(ContainerKind, usize, &Part)> = None;
    for part in parts {
        let (container, weight) = (container(part), sums.within(&part.blocks).weight);
        let is_better = |(other, most, last): (ContainerKind, usize, &Part)| {
            let is_inside = part.blocks.end <= last.blocks.end && weight * 20 >= most * 19;
            container < other || (container == other && (weight > most || is_inside))
        };
        if weight >= MIN_ARTICLE_WEIGHT && best.is_none_or(is_better) {
            best = Some((container, weight, part));
        }
    }
    best.map(|(_, _, part)| part.blocks.clone())
}

/// Returns the innermost element that contains 70 % of the prose. A single paragraph is not the article if a sentence is
/// next to it.
fn widest(outline: &Outline, sums: &Sums) -> Range<usize> {
    let mut range = 0..outline.blocks.len();
    let total = sums.within(&range).weight;
    for part in &outline.parts {
        let is_inside = part.blocks.start >= range.start && part.blocks.end <= range.end;
        let is_sentence = |at: usize| range.contains(&at) && outline.blocks.get(at).is_some_and(is_sentence);
        let is_joined = part.blocks.len() == 1
            && (part.blocks.start.checked_sub(1).is_some_and(is_sentence) || is_sentence(part.blocks.end));
        if is_inside && !is_joined && sums.within(&part.blocks).weight * 10 >= total * 7 {
            range = part.blocks.clone();
        }
    }
    range
}

/// Whether the block is a kept paragraph that ends like a sentence.
fn is_sentence(block: &Block) -> bool {
    block.dropped == Noise::None
        && block.kind == Kind::Paragraph
        && block.linked == 0
        && block.chars >= MIN_SENTENCE
        && block.text.trim_end().ends_with(['.', '!', '?', '…'])
}

/// Returns the sentences between the title and an article that begins after it.
fn lead(blocks: &[Block], sums: &Sums, frame: &Range<usize>) -> Vec<usize> {
    if sums.within(frame).titles > 0 {
        return Vec::new();
    }
    let is = |at: usize, what: fn(&Block) -> bool| blocks.get(at).is_some_and(what);
    let before = frame.start.saturating_sub(MAX_LEAD_BLOCKS)..frame.start;
    let Some(title) = before.rev().find(|at| is(*at, |block| block.kind == Kind::Title)) else { return Vec::new() };
    let is_lead = |block: &Block| block.dropped == Noise::None && block.chars >= 50 && block.linked * 3 < block.chars;
    (title + 1..frame.start).filter(|at| is(*at, is_lead)).take(3).collect()
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::*;
    use crate::outline;

    const SENTENCE: &str = "The council voted on Tuesday to build the bridge, and work will begin in the spring.";

    fn read(inner: &str) -> String {
        let document = Document::from(format!("<html><body>{inner}</body></html>"));
        article(&mut outline::read(&document), None, None).join("|")
    }

    /// `count` different paragraphs of `what`.
    fn prose(what: &str, count: usize) -> String {
        (0..count).map(|nth| format!("<p>{what} {nth}: {SENTENCE}</p>")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn surroundings_are_left_out_and_the_article_stays() {
        let text = prose("news", 4);
        for (html, why) in [
            (format!("<nav>{0}</nav><article>{text}</article><aside>{0}</aside>", prose("odd", 1)), "elements"),
            (
                format!("<div class=entry-content>{text}<div class=related-posts>{}</div></div>", prose("odd", 1)),
                "names",
            ),
            (format!("<article>{text}</article><div id=comments>{}</div>", prose("odd", 30)), "long comments"),
            (format!("<article>{text}</article><div id=comments>{}</div>", prose("odd", 60)), "very long comments"),
            (format!("<div>{text}</div><div class=sidebar>{}</div>", prose("odd", 2)), "no named article"),
            (
                format!("<article>{text}<ul><li><a href=/a>odd page</a><li><a href=/b>odd too</a></ul></article>"),
                "links",
            ),
            (format!("<article>{text}<h2>Related</h2>{}</article>", prose("odd", 1)), "what follows"),
            (format!("<article><figure><figcaption>odd {SENTENCE}</figcaption></figure>{text}</article>"), "captions"),
            (format!("<article><h1>odd title</h1>{text}<h3>odd heading of nothing</h3></article>"), "headings"),
        ] {
            let found = read(&html);
            assert_eq!(found.matches("news").count(), 4, "{why}: {found}");
            assert!(!found.contains("odd"), "{why}: {found}");
        }
    }

    #[test]
    fn what_is_hidden_is_not_read_unless_all_is() {
        let text = prose("news", 6);
        for hidden in [
            format!("<div itemscope itemtype=http://schema.org/Article style='display:none'>{}</div>", prose("odd", 9)),
            format!("<div hidden><div itemprop=articleBody>{}</div></div>", prose("odd", 6)),
            format!("<section class=article-body style='display: none;'>{}</section>", prose("odd", 10)),
        ] {
            for html in [format!("{hidden}<div>{text}</div>"), format!("<article>{text}{hidden}</article>")] {
                let found = read(&html);
                assert_eq!((found.matches("news").count(), found.matches("odd").count()), (6, 0), "{html}: {found}");
            }
        }
        let page =
            format!("<p>Cookies are used here, and they are many. Accept.</p><div style='display:none'>{text}</div>");
        assert_eq!(read(&page).matches("news").count(), 6);
    }

    #[test]
    fn lists_of_teasers_are_not_read() {
        let text = prose("news", 8);
        let teaser = |nth: usize, tag: &str| {
            format!(
                "<{tag}><h3><a href=/{nth}>An odd story of another day {nth}</a></h3><p>odd {nth}: {SENTENCE}</p></{tag}>"
            )
        };
        for (list, tag) in [("ul", "li"), ("div", "div"), ("section", "article")] {
            let teasers = (0..4).map(|nth| teaser(nth, tag)).collect::<Vec<_>>().concat();
            let found = read(&format!("<article>{text}<{list}>{teasers}</{list}></article>"));
            assert_eq!((found.matches("news").count(), found.matches("odd").count()), (8, 0), "{list}: {found}");
            // A page of nothing else is a list, and a single one a reference.
            assert_eq!(read(&format!("<main><{list}>{teasers}</{list}></main>")).matches("odd").count(), 4, "{list}");
            let single = format!("<article>{text}<{list}>{}</{list}></article>", teaser(0, tag));
            assert_eq!(read(&single).matches("odd 0").count(), 1, "{list}");
        }
    }

    #[test]
    fn an_article_in_what_is_named_like_surroundings_is_found() {
        let text = prose("news", 6);
        for html in [
            format!("<div class='content right-sidebar'><h1>T</h1><div>{text}</div><div class=sidebar>x</div></div>"),
            format!("<div class='entry themeform share'>{text}</div>"),
            format!("<form id=aspnetForm><div>{text}</div></form>"),
            // A gallery of captions, and a thread.
            text.replace("<p>", "<figure><figcaption>").replace("</p>", "</figcaption></figure>"),
            text.replace("<p>", "<div class=comment>").replace("</p>", "</div>"),
        ] {
            assert_eq!(read(&html).matches("news").count(), 6, "{html}");
        }
    }

    #[test]
    fn the_lead_between_title_and_article_belongs_to_it() {
        let text = prose("news", 4);
        let page = |lead: &str| format!("<header><h1>T</h1>{lead}</header><div class=article-body>{text}</div>");
        assert!(read(&page(&format!("<p class=article-teaser>lead {SENTENCE}</p>"))).starts_with("lead"));
        assert!(read(&page("<p>By us</p>")).starts_with("news"), "a short line is no lead");
        assert!(
            read(&page(&format!("<p><a href=/x>lead {SENTENCE}</a></p>"))).starts_with("news"),
            "a link is no lead"
        );
    }

    #[test]
    fn a_short_first_paragraph_is_read() {
        let short = "The crane in Larn can lift 120 tonnes.";
        for html in [format!("<div><p>{short}</p><p>{SENTENCE}</p></div>"), format!("<p>{short}</p><p>{SENTENCE}</p>")]
        {
            assert_eq!(read(&html), format!("{short}|{SENTENCE}"));
        }
        assert_eq!(read(&format!("<p>{SENTENCE}</p><p>{short}</p>")), format!("{SENTENCE}|{short}"));
    }

    #[test]
    fn rows_of_a_table_are_lines_and_keep_their_links() {
        let row = "<tr><td><a href=/x>Windows on ARM</a></td><td>yes</td></tr>";
        let table = format!("<table><tr><td>{SENTENCE}</td></tr>{row}</table>");
        assert!(read(&format!("<article>{}{table}</article>", prose("news", 3))).contains("|Windows on ARM yes"));
    }
}
