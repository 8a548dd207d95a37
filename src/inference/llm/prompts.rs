//! Prompts: files in `prompts/`, each with a version that changes with its text.
//!
//! `corroborate config prompts` shows them.

use super::Purpose;

/// A prompt in the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// File name without extension; a purpose can have several.
    pub name: &'static str,
    pub purpose: Purpose,
    pub version: u32,
    /// One line: its use and approximate cost.
    pub about: &'static str,
    /// The instruction, without the header.
    pub text: &'static str,
}

macro_rules! files {
    ($($name:literal => $purpose:ident),* $(,)?) => {
        /// In the order of an item's processing.
        const FILES: &[(&str, Purpose, &str)] =
            &[$(($name, Purpose::$purpose, include_str!(concat!("prompts/", $name, ".md")))),*];
    };
}

files! {
    "claims_rules" => Claims,
    "claims_original_text" => Claims,
    "claims_link_context" => Claims,
    "claims_image" => Claims,
    "claims_video_transcript" => Claims,
    "explain" => Explain,
    "sufficiency" => Sufficiency,
    "search" => Search,
    "translate" => Translate,
    "adjudicate" => Adjudicate,
    "correct" => Correct,
    "summary" => Summary,
}

/// All prompts, in the order of an item's processing.
pub fn all() -> Vec<Prompt> {
    FILES.iter().filter_map(|(name, purpose, file)| read(name, *purpose, file)).collect()
}

pub fn named(name: &str) -> Option<Prompt> {
    FILES.iter().find(|(known, ..)| *known == name).and_then(|(name, purpose, file)| read(name, *purpose, file))
}

/// Parses `version: N`, `about: …`, an empty line and the text.
fn read(name: &'static str, purpose: Purpose, file: &'static str) -> Option<Prompt> {
    let (head, text) = file.split_once("\n\n")?;
    let field = |key: &str| head.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let version = field("version:")?.parse().ok()?;
    Some(Prompt { name, purpose, version, about: field("about:")?, text: text.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_has_version_and_purpose_when_its_file_is_read() {
        assert_eq!(all().len(), FILES.len());
        assert!(all().iter().all(|prompt| prompt.version > 0 && !prompt.about.is_empty() && !prompt.text.is_empty()));
        assert_eq!(named("adjudicate").map(|prompt| prompt.purpose), Some(Purpose::Adjudicate));
        assert_eq!(named("nothing"), None);
    }
}
