use proptest::prelude::*;

use super::*;
use crate::work::MAX_STEPS;

/// Counts the elements that a selector matches.
fn count(document: &Document, selector: &str) -> usize {
    document.select(selector).length()
}

fn parsed(html: &str) -> Document {
    document(html, &Work::default()).unwrap()
}

/// Level of the deepest element.
fn depth(document: &Document) -> usize {
    let depth = |node: dom_query::NodeRef<'_>| std::iter::successors(node.parent(), dom_query::NodeRef::parent).count();
    document.root().descendants_it().map(depth).max().unwrap_or_default()
}

#[test]
fn written_pages_are_built_as_the_parser_alone_builds_them() {
    for page in [
        "<!doctype html><html lang=en><head><title>a < b</title><script>var a = '<div></div><div>';</script></head><body>\
         <div class=\"a>b\"><p>One<p>Two <b>bold</b><ul><li>1<li>2</ul><table><tr><td>1<td>2<tr><td>3</table></div>\
         <!-- <div> --><svg><path id='M0'/><g><rect/></g></svg>&amp<a href=\"/x?a=1&b=2\">l</a></body></html>",
        "<script><!-- <script> </script> --> </script><p>x",
        "<style>a</styl></style ><p>x</p x y><textarea><p></textarea><xmp><b></xmp>",
        "<p>1</><p>2</ x><p>3<?php a > b ?><p>4<!DOCTYPE html><p>5<!-->6<!--->7<!---->8<![CDATA[9]]>",
        "<table><b>x<tr><td>y</table><select><option>a<option>b</select><br/><img/src=a/><a<b id=c>z",
        "\u{feff}<p>é</é><p>\r\n</p\r><plaintext><p>never</p>",
    ] {
        let alone = Document::from(page);
        // Comments are dropped.
        let nodes: Vec<_> = alone.root().descendants_it().collect();
        let is_comment = |node: &dom_query::NodeRef<'_>| {
            node.query_or(false, |node| matches!(node.data, dom_query::NodeData::Comment { .. }))
        };
        nodes.iter().filter(|node| is_comment(node)).for_each(dom_query::NodeRef::remove_from_parent);
        assert_eq!(*parsed(page).html(), *alone.html(), "{page}");
    }
}

#[test]
fn deep_nesting_is_cut_and_the_text_stays() {
    let page = format!("{}deep text{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
    let document = parsed(&page);
    assert!((250..300).contains(&count(&document, "div")));
    assert_eq!(document.text().matches("deep text").count(), 1);
    // Deceiving the estimate of open elements must not make the tree deeper.
    let page = "<div><object></div>".repeat(450);
    assert!(depth(&parsed(&page)) <= 310);
}

#[test]
fn unclosed_formatting_is_cut_and_its_blocks_stay() {
    let document = parsed(&format!("{}{}", "<div><b id=1><i id=2></div>".repeat(500), "<p>x</p>".repeat(100)));
    assert_eq!(count(&document, "p"), 100);
    assert!(count(&document, "b") < 3_000, "they are opened again in every paragraph");
    let document = parsed(&format!("{}<div><p>text</p></div>", "<font size=1>y<p>z</p>".repeat(1_000)));
    assert_eq!(count(&document, "p"), 1_001);
}

#[test]
fn tags_with_absurd_attributes_lose_them() {
    let attributes: String = (0..1_000).map(|n| format!(" a{n}=1")).collect::<Vec<_>>().concat();
    for place in [
        "",
        "<svg><style>",
        "<math>",
        "<svg><title>",
        "<!-- x --!>",
        "<!-->",
        "&amp",
        "</>",
        "<style></style<b></style>",
    ] {
        let document = parsed(&format!("{place}<p id=kept class=x>a<b id=no{attributes}>b</b><p id=too>c"));
        assert_eq!(
            (count(&document, "#kept.x"), count(&document, "#no"), count(&document, "#too")),
            (1, 0, 1),
            "{place}"
        );
        assert!(document.text().ends_with("abc"), "{place}");
    }
}

#[test]
fn what_the_parser_would_walk_again_and_again_is_refused() {
    let dangling = |n: usize| format!("<b class=c{n}><object></b></object>");
    for (name, page) in [
        ("foreign end tags", format!("<svg><style>{}{}", "<g>".repeat(100_000), "</x>".repeat(100_000))),
        ("scopes", format!("{}{}", "<div><object></div>".repeat(3_000), "</p>".repeat(20_000))),
        (
            "formatting behind markers",
            format!(
                "<div>{}</div>{}",
                (0..400).map(dangling).collect::<Vec<_>>().concat(),
                "<div>x</div>".repeat(5_000)
            ),
        ),
        ("elements", "<p>".repeat(300_000)),
        ("attributes", "<p id=1 class=2 href=3 src=4 rel=5 name=6>".repeat(40_000)),
    ] {
        let work = Work::default();
        assert_eq!(document(&page, &work).err(), Some(TooCostly), "{name}");
        // One tag must not take much more than all steps.
        assert!(work.taken() < MAX_STEPS + MAX_STEPS / 10, "{name}: {}", work.taken());
    }
}

#[test]
fn attributes_are_counted_as_the_standard_parts_them() {
    for (tag, attributes) in [
        (">", 0),
        (" a b=c d='e f' g=\"h>i\">", 4),
        (" a = b c>", 2),
        (" a=b\"c d>", 2),
        ("=\"x y\">", 2),
        ("a/b/c>", 3),
        (" a=\"1\"b='2'/>", 2),
        (" a==\"b c\">", 2),
        ("\n a\n=\n'b'\n>", 1),
        (" <b <c>", 2),
        (" a=/b/c >", 1),
    ] {
        assert_eq!(tag_end(format!("{tag}rest").as_bytes(), TagState::Between), (tag.len(), attributes), "{tag}");
    }
    assert_eq!(tag_end(b" a='never closed", TagState::Between).0, 16);
}

proptest! {
    /// If the tokenizer's state were not always known, some of these texts would be rejected.
    #[test]
    fn where_the_tokenizer_is_is_always_known(html in "(</?(p|style|script|svg|title|b|textarea|x)?|[<>/!?=\"' -]|--|CDATA\\[|\\]\\]>|&amp|é|[a-c \n]{1,4}){0,60}") {
        prop_assert!(document(&html, &Work::default()).is_ok());
    }
}
