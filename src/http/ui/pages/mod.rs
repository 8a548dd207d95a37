//! One file for each page: what it asks of the other rooms, and what its template shows.

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
