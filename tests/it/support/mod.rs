//! What the tests stand on. Nothing here asserts what the product does; that is the tests' own.

pub(crate) mod simulator;
pub(crate) mod database;
