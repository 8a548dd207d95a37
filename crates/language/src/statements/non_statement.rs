//! Classifies a text without a statement (greeting, question, call, vague), to show the user what is missing.

use crate::sentences::sentences;

use super::{GREETING, calls, clean, is_question};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NonStatement {
    /// A greeting, thanks or congratulations.
    Greeting,
    Question,
    /// To subscribe, share or read on.
    Call,
    /// Too few words.
    Vague,
}

impl NonStatement {
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
pub fn non_statement(text: &str) -> NonStatement {
    let cleaned = clean(text);
    let read = sentences(&cleaned);
    if read.iter().any(|sentence| is_question(sentence)) {
        return NonStatement::Question;
    }
    if read.iter().any(|sentence| GREETING.is_match(sentence)) {
        return NonStatement::Greeting;
    }
    // Cleaning removes calls, so the raw text is checked too.
    let is_call = |sentence: &&str| calls::is_call(sentence.trim());
    if read.iter().any(is_call) || sentences(text).iter().chain(&text.lines().collect::<Vec<_>>()).any(is_call) {
        return NonStatement::Call;
    }
    NonStatement::Vague
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_statement_gets_its_kind_in_each_language() {
        for (text, expected) in [
            ("Good morning, everyone! Have a nice day", NonStatement::Greeting),
            ("Thank you all!", NonStatement::Greeting),
            ("Hello! Is it true that the bridge is closed?", NonStatement::Question),
            ("Subscribe to our channel!", NonStatement::Call),
            ("It's true.", NonStatement::Vague),
            ("🔥🔥🔥", NonStatement::Vague),
            ("Доброе утро, друзья!", NonStatement::Greeting),
            ("Привет! Правда ли, что мост закрыли?", NonStatement::Question),
            ("Подписывайтесь на наш канал", NonStatement::Call),
            ("Ну и дела", NonStatement::Vague),
            ("Доброго ранку, друзі!", NonStatement::Greeting),
            ("А що там із мостом?", NonStatement::Question),
            ("Підписуйтесь на наш канал", NonStatement::Call),
            ("Отаке от", NonStatement::Vague),
            ("Bom dia a todos!", NonStatement::Greeting),
            ("É verdade que a ponte fechou?", NonStatement::Question),
            ("Pois é", NonStatement::Vague),
        ] {
            assert_eq!(non_statement(text), expected, "{text}");
        }
    }
}
