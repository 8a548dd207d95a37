//! The pages, one file each.
//!
//! To add one, add a file here and a line to [`super::ROUTES`].

pub(super) mod audit;
pub(super) mod check;
pub(super) mod docs;
pub(super) mod domains;
pub(super) mod item;
pub(super) mod items;
pub(super) mod overview;
pub(super) mod providers;
pub(super) mod queue;
pub(super) mod sign_in;
pub(super) mod tokens;
