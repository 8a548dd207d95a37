//! Classifies a text without a statement (greeting, question, call, vague), to show the user what is missing.

use crate::sentences::sentences;

use super::{GREETING, calls, clean, is_question};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Silence {
    /// A greeting, thanks or congratulations.
    Greeting,
    Question,
    /// To subscribe, share or read on.
    Call,
    /// Too few words.
    Vague,
}

impl Silence {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Greeting => "greeting",
            Self::Question => "question",
            Self::Call => "call",
            Self::Vague => "vague",
        }
    }
}

/// Classifies a text; a greeting before a question is a question.
pub fn silence(text: &str) -> Silence {
    let cleaned = clean(text);
    let read = sentences(&cleaned);
    if read.iter().any(|sentence| is_question(sentence)) {
        return Silence::Question;
    }
    if read.iter().any(|sentence| GREETING.is_match(sentence)) {
        return Silence::Greeting;
    }
    // Cleaning removes calls, so the raw text is checked too.
    let is_call = |sentence: &&str| calls::is_call(sentence.trim());
    if read.iter().any(is_call) || sentences(text).iter().chain(&text.lines().collect::<Vec<_>>()).any(is_call) {
        return Silence::Call;
    }
    Silence::Vague
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_questions_calls_and_scraps_are_told_apart_in_each_language() {
        for (text, expected) in [
            ("Good morning, everyone! Have a nice day", Silence::Greeting),
            ("Thank you all!", Silence::Greeting),
            ("Hello! Is it true that the bridge is closed?", Silence::Question),
            ("Subscribe to our channel!", Silence::Call),
            ("It's true.", Silence::Vague),
            ("🔥🔥🔥", Silence::Vague),
            ("Доброе утро, друзья!", Silence::Greeting),
            ("Привет! Правда ли, что мост закрыли?", Silence::Question),
            ("Подписывайтесь на наш канал", Silence::Call),
            ("Ну и дела", Silence::Vague),
            ("Доброго ранку, друзі!", Silence::Greeting),
            ("А що там із мостом?", Silence::Question),
            ("Підписуйтесь на наш канал", Silence::Call),
            ("Отаке от", Silence::Vague),
            ("Bom dia a todos!", Silence::Greeting),
            ("É verdade que a ponte fechou?", Silence::Question),
            ("Pois é", Silence::Vague),
        ] {
            assert_eq!(silence(text), expected, "{text}");
        }
    }
}
