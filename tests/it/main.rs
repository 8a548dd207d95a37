//! The integration tests, in one binary: it links once, and they share what is in `support`.

mod broker;
<<<<<<< HEAD
=======
mod commands;
mod daemon;
mod demo;
>>>>>>> e2e
mod simulator;
mod store;
mod support;
mod tidy;
