//! The prompts: files in `prompts/`, each with a version that changes with its text. `corroborate config prompts` shows them.

use super::Purpose;

/// A prompt as it ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// The file's name without its ending; uses with several texts have several.
    pub name: &'static str,
    pub purpose: Purpose,
    pub version: u32,
    /// What it is for and what a call costs about, in a line.
    pub about: &'static str,
    /// The instruction, without the head.
    pub text: &'static str,
}

macro_rules! files {
    ($($name:literal => $purpose:ident),* $(,)?) => {
        /// Every file, in the order an item meets them.
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

/// Every prompt that ships, in the order an item meets them.
pub fn all() -> Vec<Prompt> {
    FILES.iter().filter_map(|(name, purpose, file)| read(name, *purpose, file)).collect()
}

/// The prompt of that name.
pub fn named(name: &str) -> Option<Prompt> {
    FILES.iter().find(|(known, ..)| *known == name).and_then(|(name, purpose, file)| read(name, *purpose, file))
}

/// A file is `version: N`, `about: …`, an empty line, and the text.
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
    fn every_file_has_a_version_and_says_what_it_is_for() {
        assert_eq!(all().len(), FILES.len());
        assert!(all().iter().all(|prompt| prompt.version > 0 && !prompt.about.is_empty() && !prompt.text.is_empty()));
        assert_eq!(named("adjudicate").map(|prompt| prompt.purpose), Some(Purpose::Adjudicate));
        assert_eq!(named("nothing"), None);
    }
}
