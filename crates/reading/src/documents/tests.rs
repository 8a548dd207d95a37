use proptest::prelude::*;

use super::*;

fn shown(text: &str, format: Format) -> Vec<(String, (usize, usize), String)> {
    sections(text, format).into_iter().map(|part| (part.heading, part.lines, part.text)).collect()
}

#[test]
fn markdown_is_cut_at_its_headings() {
    let text = "# Guide\n\nThe **daemon** reads\nthe [file](http://x/y).\n\n## Time limits\n\n- fetch: `15s`\n- ask: 10s\n\n```\n# not a heading\n```\n\nSetext\n------\nmore\n";
    assert_eq!(
        shown(text, Format::Markdown),
        [
            ("Guide".to_owned(), (3, 4), "The daemon reads the file.".to_owned()),
            ("Guide › Time limits".to_owned(), (8, 12), "fetch: 15s\n\nask: 10s\n\n# not a heading".to_owned()),
            ("Guide › Setext".to_owned(), (17, 17), "more".to_owned()),
        ]
    );
}

#[test]
fn restructured_text_is_cut_at_its_underlines() {
    let text = "=====\nTitle\n=====\n\nIntro.\n\nPart\n----\n\nBody of\nthe part.\n";
    let found = shown(text, Format::Rst);
    assert_eq!(found[0], ("Title".to_owned(), (5, 5), "Intro.".to_owned()));
    assert_eq!(found[1], ("Title › Part".to_owned(), (10, 11), "Body of the part.".to_owned()));
}

#[test]
fn code_is_cut_at_its_definitions_with_the_comments_above() {
    let text = "use x;\n\n/// Waits at most\n/// ten seconds.\n#[test]\npub fn wait(limit: u8) {\n    sleep();\n}\n\nstruct Next {\n    a: u8,\n}\n";
    let found = sections(text, Format::Code);
    assert_eq!(found.len(), 3);
    assert_eq!((found[1].heading.as_str(), found[1].lines), ("pub fn wait(limit: u8)", (3, 7)));
    assert!(found[1].text.starts_with("Waits at most ten seconds.\n\n#[test]\npub fn"), "{}", found[1].text);
    assert_eq!((found[2].heading.as_str(), found[2].lines), ("struct Next", (10, 11)));
    let python = "import os\n\nclass A:\n    def b(self):\n        return 1\n\n    def c(self):\n        return 2\n";
    let headings: Vec<String> = sections(python, Format::Code).into_iter().map(|part| part.heading).collect();
    assert_eq!(headings, ["", "class A", "class A › def b(self)", "class A › def c(self)"]);
}

#[test]
fn html_keeps_its_lines_and_loses_its_scripts() {
    let text = "<html><head><style>p{}</style>\n<script>var a = '<p>no</p>';\n</script></head>\n<body><h2>Limits</h2>\n<p>Ten &amp; a\nhalf.</p><p>Next.</p></body></html>";
    let found = shown(text, Format::Html);
    assert_eq!(found, [("Limits".to_owned(), (5, 6), "Ten & a half.\n\nNext.".to_owned())]);
}

#[test]
fn long_texts_are_cut_at_blank_lines_and_cover_every_line() {
    let text: String = (0..200).map(|n| if n % 10 == 9 { "\n".to_owned() } else { format!("line {n}\n") }).collect();
    let found = sections(&text, Format::Prose);
    assert!(found.len() >= 5 && found.iter().all(|part| part.lines.1 - part.lines.0 < MAX_LINES));
    assert!(found.windows(2).all(|pair| pair[0].lines.1 < pair[1].lines.0));
    let words: usize = found.iter().map(|part| part.text.matches("line").count()).sum();
    assert_eq!(words, 180);
}

#[test]
fn file_has_no_format_when_it_is_generated_or_binary() {
    for (name, format) in [
        ("README", Some(Format::Prose)),
        ("a.MD", Some(Format::Markdown)),
        ("Cargo.lock", None),
        ("x.min.js", None),
        ("photo.jpeg", None),
        ("noext", None),
        ("main.rs", Some(Format::Code)),
        ("app.toml", Some(Format::Data)),
    ] {
        assert_eq!(Format::of(name), format, "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in "(?s)[ #=<>/a-zі\\-*`\n\\[\\]()|.]{0,400}") {
        for format in [Format::Prose, Format::Markdown, Format::Rst, Format::Html, Format::Code, Format::Data] {
            for part in sections(&text, format) {
                prop_assert!(!part.text.trim().is_empty());
                prop_assert!(part.lines.0 >= 1 && part.lines.0 <= part.lines.1);
                prop_assert!(part.lines.1 <= text.matches('\n').count() + 1);
            }
        }
    }
}
