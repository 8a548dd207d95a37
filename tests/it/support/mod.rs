//! What the tests stand on. Nothing here asserts what the product does; that is the tests' own.

#[cfg(test)]
pub(crate) mod app;
#[cfg(test)]
pub(crate) mod daemon;
#[cfg(test)]
pub(crate) mod database;
#[cfg(test)]
pub(crate) mod node;
#[cfg(test)]
pub(crate) mod schema;
pub(crate) mod simulator;
#[cfg(test)]
pub(crate) mod stories;
#[cfg(test)]
pub(crate) mod upstream;
