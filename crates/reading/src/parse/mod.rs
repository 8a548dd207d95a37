//! Builds the document of a page in time linear in its length.
//!
//! HTML parsers take quadratic time for deep nesting, repeated formatting tags and many attributes. The tokenizer gets
//! the page in pieces, so that its state shows whether the next `<` begins a tag.
//!
//! * `guard` drops tags and attributes, `nesting` tags that nest too deep.
//! * `sink` counts the parser's steps. A page with too many is rejected.

mod guard;
mod nesting;
mod sink;

use dom_query::Document;
use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use self::guard::{Guard, LastToken};
use super::work::{TooCostly, Work};

/// The parser compares all attributes of a tag in pairs. A tag with more loses all of them.
const MAX_ATTRIBUTES: usize = 200;

/// Builds the document.
///
/// # Errors
/// [`TooCostly`] if the page needs more steps than remain.
pub(super) fn document(html: &str, work: &Work) -> Result<Document, TooCostly> {
    let mut feeder = Feeder {
        html,
        input: StrTendril::from(html),
        at: 0,
        queue: BufferQueue::default(),
        tokenizer: Tokenizer::new(Guard::new(work), TokenizerOpts::default()),
    };
    while feeder.at < html.len() {
        let bracket = feeder.find('<', feeder.at);
        feeder.feed_to(bracket.map_or(html.len(), |at| at + 1));
        if bracket.is_some() {
            feeder.read_bracket();
        }
        if work.is_spent() {
            return Err(TooCostly);
        }
    }
    feeder.tokenizer.end();
    if work.is_spent() { Err(TooCostly) } else { Ok(feeder.tokenizer.sink.into_document()) }
}

struct Feeder<'h, 'w> {
    html: &'h str,
    /// The same text in the tokenizer's form, to take pieces without copying.
    input: StrTendril,
    /// The tokenizer has all bytes before this.
    at: usize,
    queue: BufferQueue,
    tokenizer: Tokenizer<Guard<'w>>,
}

impl Feeder<'_, '_> {
    fn find(&self, what: char, from: usize) -> Option<usize> {
        self.html.get(from..)?.find(what).map(|at| from + at)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.html.as_bytes().get(at).copied()
    }

    fn last_token(&self) -> LastToken {
        self.tokenizer.sink.last_token.get()
    }

    fn feed(&self, piece: StrTendril) {
        self.tokenizer.sink.last_token.set(LastToken::None);
        self.queue.push_back(piece);
        // The tokenizer pauses after each script, so that a browser can run it.
        while !matches!(self.tokenizer.feed(&self.queue), TokenizerResult::Done) {}
    }

    /// Feeds the text up to `end`, rounded up to a character boundary.
    fn feed_to(&mut self, end: usize) {
        let mut end = end.min(self.html.len());
        while !self.html.is_char_boundary(end) {
            end += 1;
        }
        if let (Ok(from), Ok(length)) = (u32::try_from(self.at), u32::try_from(end.saturating_sub(self.at)))
            && length > 0
        {
            self.feed(self.input.subtendril(from, length));
        }
        self.at = end;
    }

    /// Feeds the text from a `<` to the end of its tag, comment or text.
    fn read_bracket(&mut self) {
        // Each iteration except the last feeds one more `<`.
        loop {
            let slash = usize::from(self.byte(self.at) == Some(b'/'));
            match self.byte(self.at + slash) {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    if !self.read_tag() {
                        return;
                    }
                }
                // `</>` is ignored in a page and text in a script.
                Some(b'>') if slash == 1 => return self.feed_to(self.at + 2),
                Some(next) if slash == 1 || matches!(next, b'!' | b'?') => {
                    self.feed_to(self.at + slash + 1);
                    match self.last_token() {
                        LastToken::None => return self.read_comment(),
                        LastToken::Text if next == b'<' => {}
                        _ => return,
                    }
                }
                Some(_) => return,
                None => return self.feed_to(self.html.len()),
            }
        }
    }

    /// Feeds a tag; true if it was text of a script that ended with `<`.
    fn read_tag(&mut self) -> bool {
        let rest = self.html.as_bytes().get(self.at + 1..).unwrap_or_default();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/' | b'<');
        // A slash before the name is not its end.
        let name = rest.iter().position(is_end).map_or(self.html.len(), |at| self.at + at + 2);
        self.feed_to(name);
        let last = self.byte(self.at.saturating_sub(1));
        match self.last_token() {
            LastToken::Text => return last == Some(b'<'),
            LastToken::Tag | LastToken::Other => return false,
            LastToken::None => {}
        }
        let inside = match last {
            Some(b'/') => TagState::Slash,
            Some(b'<') => TagState::Name,
            _ => TagState::Between,
        };
        let tag = self.html.as_bytes().get(self.at..).unwrap_or_default();
        let (length, attributes) = tag_end(tag, inside);
        if attributes <= MAX_ATTRIBUTES {
            self.feed_to(self.at + length);
        } else {
            self.feed(StrTendril::from(">"));
            self.at += length;
        }
        if self.last_token() == LastToken::None && self.at < self.html.len() {
            // The tokenizer's state differs from ours, so that attributes cannot be counted.
            self.tokenizer.sink.work().spend_all();
        }
        false
    }

    fn read_comment(&mut self) {
        while self.last_token() == LastToken::None && self.at < self.html.len() {
            let end = self.find('>', self.at).map_or(self.html.len(), |at| at + 1);
            self.feed_to(end);
        }
    }
}

/// The position in a tag, as in the tokenizer of the HTML standard.
#[derive(Clone, Copy)]
enum TagState {
    Name,
    Between,
    Slash,
    Attribute,
    BehindAttribute,
    BeforeValue,
    Value,
    Quoted(u8),
    BehindQuote,
}

/// Returns the tag's length in bytes with its `>`, and the number of its attributes.
fn tag_end(bytes: &[u8], inside: TagState) -> (usize, usize) {
    let (mut inside, mut attributes) = (inside, 0);
    for (at, byte) in bytes.iter().copied().enumerate() {
        if let TagState::Quoted(quote) = inside {
            if byte == quote {
                inside = TagState::BehindQuote;
            }
            continue;
        }
        inside = match (inside, byte) {
            (_, b'>') => return (at + 1, attributes),
            (TagState::Name | TagState::Value | TagState::BehindQuote | TagState::Slash, _)
                if byte.is_ascii_whitespace() =>
            {
                TagState::Between
            }
            (TagState::Attribute, _) if byte.is_ascii_whitespace() => TagState::BehindAttribute,
            (TagState::BeforeValue, b'"' | b'\'') => TagState::Quoted(byte),
            (TagState::BeforeValue, _) if !byte.is_ascii_whitespace() => TagState::Value,
            (TagState::Attribute | TagState::BehindAttribute, b'=') => TagState::BeforeValue,
            (state, b'/') if !matches!(state, TagState::Value | TagState::BeforeValue) => TagState::Slash,
            (TagState::Between | TagState::Slash | TagState::BehindAttribute | TagState::BehindQuote, _)
                if !byte.is_ascii_whitespace() =>
            {
                attributes += 1;
                TagState::Attribute
            }
            _ => inside,
        };
    }
    (bytes.len(), attributes)
}

#[cfg(test)]
mod tests;
