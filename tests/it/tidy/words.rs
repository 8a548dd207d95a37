//! The word list of `STYLE.md`: documents use none of these words, and comments use fewer with each change.

use std::path::Path;

use super::{files, is_rust, program_files, read, report};

/// Archaic words, and words for people or places that stand for parts of the program. Each has a common word or a term.
const WORDS: [&str; 18] = [
    "anew",
    "mend",
    "mends",
    "mended",
    "beside",
    "whoever",
    "whomever",
    "dearest",
    "aloud",
    "shall",
    "yardstick",
    "purse",
    "heard",
    "spoken",
    "told",
    "tells",
    "somebody",
    "doorman",
];

/// How often the comments of the program may use one of the words. Lower it when you rewrite comments; never raise it.
const MAX_IN_COMMENTS: usize = 5;

/// The words of the list in a text, in order.
fn found(text: &str) -> Vec<&str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| WORDS.iter().any(|listed| word.eq_ignore_ascii_case(listed)))
        .collect()
}

#[test]
fn documents_use_no_word_of_the_list() {
    let is_document = |path: &Path| {
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        // Licences and texts of others, the rules themselves, and prose that a generator or an upstream wrote.
        let is_other = ["STYLE.md", "GLOSSARY.md", "LICENSE", "ORIGIN.md"].iter().any(|name| path.ends_with(name))
            || ["LICENSES", "models", "docs/reference", "src/inference/llm/prompts"]
                .iter()
                .any(|place| path.starts_with(place));
        is_markdown && !is_other
    };
    let mut offences = Vec::new();
    for path in files("", is_document) {
        for (number, line) in read(&path).lines().enumerate() {
            offences.extend(found(line).into_iter().map(|word| format!("{}:{}: {word}", path.display(), number + 1)));
        }
    }
    report("words of STYLE.md", &offences);
}

#[test]
fn comments_use_fewer_words_of_the_list_with_each_change() {
    let in_comments = |path: &Path| -> usize {
        read(path).lines().filter(|line| line.trim_start().starts_with("//")).map(|line| found(line).len()).sum()
    };
    let used: usize = program_files(is_rust).iter().map(|path| in_comments(path)).sum();
    println!("{used} words of the list in comments");
    assert!(used <= MAX_IN_COMMENTS, "{used} words of the list in comments, {MAX_IN_COMMENTS} at most (STYLE.md)");
}

#[test]
fn list_is_matched_by_whole_words() {
    assert_eq!(found("Commend it, mend it; `told` twice."), ["mend", "told"]);
}
