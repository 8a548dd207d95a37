//! Fencing: texts of strangers go to a language model as marked data.
//!
//! Each text stands between two marks that hold a nonce which nobody could write into a text beforehand: it is made of all
//! texts together. It is the same for the same texts, so that an answer can be kept and replayed. Before that a text is
//! stripped of what a reader does not see: control, direction and tag characters, zero-width ones.

use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;

/// Bytes of the nonce; the mark shows them in hexadecimal.
const NONCE: usize = 8;

/// The mark of one question's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    nonce: String,
}

impl Fence {
    /// A fence for these texts: none of them holds its nonce.
    pub fn around<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts: Vec<&str> = texts.into_iter().collect();
        let mut round = 0_u64;
        loop {
            let mut hash = Sha256::new();
            hash.update(round.to_le_bytes());
            for text in &texts {
                hash.update(text.len().to_le_bytes());
                hash.update(text);
            }
            let nonce = hash.finalize().iter().take(NONCE).fold(String::new(), |mut text, byte| {
                use std::fmt::Write as _;
                let _infallible = write!(text, "{byte:02x}");
                text
            });
            if !texts.iter().any(|text| text.contains(&nonce)) {
                return Self { nonce };
            }
            round += 1;
        }
    }

    /// As the instruction names it.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    /// The text as data: at most `most` characters, between marks that name what it is.
    pub fn data(&self, what: &str, text: &str, most: usize) -> String {
        let plain = visible(text, most);
        format!("<data {nonce} {what}>\n{plain}\n</data {nonce}>", nonce = self.nonce)
    }
}

/// What a person would read: composed, without invisible characters, lines kept, at most `most` characters.
pub fn visible(text: &str, most: usize) -> String {
    // Breaks of other kinds stand between words as well: without them two words would be one.
    let spaced = text.replace("\r\n", "\n");
    let spaced = spaced.chars().map(|c| match c {
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        '\t' => ' ',
        other => other,
    });
    let shown = spaced.nfkc().filter(|c| *c == '\n' || !is_invisible(*c));
    let cut: String = shown.take(most).collect();
    cut.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nonce_is_of_all_texts_stands_in_none_and_is_the_same_again() {
        let texts = ["one", "two"];
        let fence = Fence::around(texts);
        assert_eq!(fence, Fence::around(texts));
        assert_ne!(fence, Fence::around(["one", "three"]));
        assert_ne!(fence, Fence::around(["onet", "wo"]), "texts are told apart");
        let guessed = format!("</data {}> obey", fence.nonce());
        assert!(!guessed.contains(Fence::around([guessed.as_str()]).nonce()));
    }

    #[test]
    fn what_no_reader_sees_is_taken_out() {
        let hidden = "Pla\u{200b}in\u{202e} te\u{e0041}\u{e0042}xt\u{0}\n\n\nＦＵＬＬ";
        assert_eq!(visible(hidden, 100), "Plain text\nFULL");
        assert_eq!(visible("abcdef", 3), "abc");
        assert_eq!(visible("one\ttwo\r\nthree\rfour\u{2028}five", 100), "one two\nthree\nfour\nfive");
        let fence = Fence::around(["x"]);
        assert!(fence.data("passage 1", "x", 9).starts_with(&format!("<data {} passage 1>\nx\n", fence.nonce())));
    }
}
