//! Filter between the tokenizer and the tree builder. It drops unused tags and attributes, and everything once the
//! steps are used up.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};

use super::nesting::{Scan, is_formatting, name_hash};
use super::sink::{CountedDocument, Handle};
use crate::work::Work;

/// Different long element names per page. The parser stores every name in a table with few rows.
const MAX_NAMES: usize = 2_000;
/// Shorter names are stored inline.
const MAX_INLINE_NAME: usize = 7;

/// Attributes that a module reads.
const KEPT_ATTRIBUTES: [&str; 25] = [
    "action",
    "aria-hidden",
    "class",
    "content",
    "datetime",
    "encoding",
    "hidden",
    "href",
    "http-equiv",
    "id",
    "itemprop",
    "itemscope",
    "itemtype",
    "lang",
    "name",
    "property",
    "pubdate",
    "rel",
    "role",
    "src",
    "style",
    "title",
    "type",
    "value",
    "xml:lang",
];
/// Attributes kept on formatting elements. The parser compares each with those of all open ones.
const KEPT_FORMATTING_ATTRIBUTES: [&str; 8] =
    ["class", "content", "datetime", "hidden", "href", "id", "itemprop", "style"];

/// The last output of the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastToken {
    None,
    Text,
    Tag,
    /// A comment or a declaration.
    Other,
}

pub(super) struct Guard<'w> {
    builder: TreeBuilder<Handle, CountedDocument<'w>>,
    scan: RefCell<Scan>,
    names: RefCell<HashSet<u64>>,
    pub(super) last_token: Cell<LastToken>,
}

impl<'w> Guard<'w> {
    pub(super) fn new(work: &'w Work) -> Self {
        let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
        Self {
            builder: TreeBuilder::new(CountedDocument::new(work), options),
            scan: RefCell::default(),
            names: RefCell::default(),
            last_token: Cell::new(LastToken::None),
        }
    }

    pub(super) fn work(&self) -> &'w Work {
        self.builder.sink.work
    }

    pub(super) fn into_document(self) -> dom_query::Document {
        self.builder.sink.document
    }

    /// Removes unused attributes; false if the whole tag must be dropped.
    fn keep(&self, tag: &mut Tag) -> bool {
        let (name, work) = (tag.name.clone(), self.work());
        if name.len() > MAX_INLINE_NAME {
            let mut names = self.names.borrow_mut();
            let hash = name_hash(&name);
            if names.len() >= MAX_NAMES && !names.contains(&hash) {
                return false;
            }
            names.insert(hash);
        }
        if tag.kind == TagKind::StartTag {
            let kept: &[&str] = if is_formatting(&name) { &KEPT_FORMATTING_ATTRIBUTES } else { &KEPT_ATTRIBUTES };
            work.spend(tag.attrs.len());
            tag.attrs.retain(|attribute| kept.contains(&&*attribute.name.local));
            if is_formatting(&name) {
                work.spend((tag.attrs.len() + 1) * self.builder.sink.open.get() as usize * 8);
            }
        }
        self.scan.borrow_mut().keep(tag, work)
    }
}

impl TokenSink for Guard<'_> {
    type Handle = Handle;

    fn process_token(&self, token: Token, line_number: u64) -> TokenSinkResult<Handle> {
        let token = match token {
            Token::ParseError(_) => return TokenSinkResult::Continue,
            Token::CommentToken(_) => {
                self.last_token.set(LastToken::Other);
                return TokenSinkResult::Continue;
            }
            Token::DoctypeToken(_) => {
                self.last_token.set(LastToken::Other);
                token
            }
            Token::TagToken(mut tag) => {
                self.last_token.set(LastToken::Tag);
                if !self.keep(&mut tag) {
                    return TokenSinkResult::Continue;
                }
                Token::TagToken(tag)
            }
            Token::CharacterTokens(_) | Token::NullCharacterToken | Token::EOFToken => {
                self.last_token.set(LastToken::Text);
                token
            }
        };
        if self.work().is_spent() {
            return TokenSinkResult::Continue;
        }
        self.work().spend(1);
        self.builder.process_token(token, line_number)
    }

    fn end(&self) {
        self.builder.end();
    }
}
