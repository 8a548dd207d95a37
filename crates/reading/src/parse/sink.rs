//! The document that the parser builds. It counts the parser's steps and limits the depth.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use dom_query::{Document, NodeId};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName};

use crate::work::Work;

/// Levels of the tree. Deeper nodes become siblings, as in browsers. Normal pages have fewer than 100.
pub(super) const MAX_DEPTH: u32 = 300;
/// Open elements, which the parser searches for many tags. More means that tags were written to deceive
/// [`super::nesting`].
const MAX_OPEN: u32 = 1_000;
/// Elements, texts and attributes, 40–120 bytes each. No page of the labelled sets has as many.
const MAX_NODES: usize = 200_000;

/// A node and the index of its depth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handle {
    id: NodeId,
    nth: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Depth {
    /// Level in the tree.
    tree: u32,
    /// Number of the parser's open elements above it.
    open: u32,
}

pub(super) struct CountedDocument<'w> {
    pub(super) document: Document,
    pub(super) work: &'w Work,
    depths: RefCell<Vec<Depth>>,
    attributes: Cell<usize>,
    pub(super) open: Cell<u32>,
}

impl<'w> CountedDocument<'w> {
    pub(super) fn new(work: &'w Work) -> Self {
        Self {
            document: Document::default(),
            work,
            depths: RefCell::new(vec![Depth::default()]),
            attributes: Cell::new(0),
            open: Cell::new(0),
        }
    }

    fn handle(&self, id: NodeId) -> Handle {
        let mut depths = self.depths.borrow_mut();
        depths.push(Depth::default());
        if self.document.tree.len() + self.attributes.get() > MAX_NODES {
            self.work.spend_all();
        }
        Handle { id, nth: depths.len() - 1 }
    }

    fn depth(&self, handle: &Handle) -> Depth {
        self.depths.borrow().get(handle.nth).copied().unwrap_or_default()
    }

    /// Records the depth of a new child.
    fn place(&self, child: &NodeOrText<Handle>, depth: Depth) {
        if depth.open > MAX_OPEN {
            self.work.spend_all();
        }
        if let NodeOrText::AppendNode(child) = child
            && let Some(own) = self.depths.borrow_mut().get_mut(child.nth)
        {
            *own = depth;
            self.open.set(depth.open);
        }
    }
}

fn plain(child: NodeOrText<Handle>) -> NodeOrText<NodeId> {
    match child {
        NodeOrText::AppendNode(handle) => NodeOrText::AppendNode(handle.id),
        NodeOrText::AppendText(text) => NodeOrText::AppendText(text),
    }
}

impl TreeSink for CountedDocument<'_> {
    type ElemName<'a>
        = Ref<'a, QualName>
    where
        Self: 'a;
    type Output = Document;
    type Handle = Handle;

    fn finish(self) -> Document {
        self.document
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: self.document.get_document(), nth: 0 }
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        let depth = self.depth(target);
        let contents = self.handle(self.document.get_template_contents(&target.id));
        self.place(&NodeOrText::AppendNode(contents), Depth { tree: 0, open: depth.open });
        contents
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        self.work.spend(1);
        x.id == y.id
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> Ref<'a, QualName> {
        self.work.spend(1);
        self.document.elem_name(&target.id)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.work.spend(10 + attrs.len() * 4);
        self.attributes.set(self.attributes.get() + attrs.len());
        self.handle(self.document.create_element(name, attrs, flags))
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        self.handle(self.document.create_comment(text))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        self.handle(self.document.create_pi(target, data))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        let above = self.depth(parent);
        let is_deepest = above.tree >= MAX_DEPTH;
        self.place(&child, Depth { tree: above.tree + u32::from(!is_deepest), open: above.open + 1 });
        let around = if is_deepest { self.document.tree.parent_of(&parent.id) } else { None };
        self.document.append(&around.map_or(parent.id, |node| node.id), plain(child));
        self.work.spend(2);
        if self.document.tree.len() + self.attributes.get() > MAX_NODES {
            self.work.spend_all();
        }
    }

    fn append_based_on_parent_node(&self, element: &Handle, prev_element: &Handle, child: NodeOrText<Handle>) {
        if self.document.tree.parent_of(&element.id).is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(prev_element, child);
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.document.append_doctype_to_document(name, public_id, system_id);
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let depth = self.depth(sibling);
        self.place(&child, Depth { tree: depth.tree, open: depth.open + 1 });
        self.document.append_before_sibling(&sibling.id, plain(child));
        self.work.spend(2);
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        self.work.spend(attrs.len() * 16);
        self.document.add_attrs_if_missing(&target.id, attrs);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.work.spend(2);
        self.document.remove_from_parent(&target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        self.work.spend(self.document.tree.child_ids_of_it(&node.id, false).count() * 2);
        self.document.reparent_children(&node.id, &new_parent.id);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(&handle.id)
    }
}
