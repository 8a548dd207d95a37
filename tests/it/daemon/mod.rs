//! The promises of the running daemon: the real program, a real broker, a real database, a simulated world around it.
//!
//! Every test has a database and names at the broker of its own. Without the services (`tests/run` starts them) the tests
//! say that they are skipped.
#![cfg(test)]

mod backup;
mod brake;
mod channels;
mod commits;
#[cfg(target_os = "linux")]
mod dead;
mod degraded;
mod domains;
#[cfg(feature = "embedded")]
mod embedded;
mod feeds;
mod fleet;
mod http;
mod knowledge;
mod lifecycle;
mod limits;
mod loss;
mod models;
mod outbox;
mod pages;
mod plans;
mod pooler;
mod providers;
#[cfg(feature = "embedded")]
mod reach;
mod refused;
mod reload;
mod remembered;
mod replies;
mod round_trips;
#[cfg(feature = "embedded")]
mod surface;
mod traces;
mod work;
