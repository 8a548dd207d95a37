//! The integration tests, in one binary: it links once, and they share what is in `support`.

mod simulator;
mod support;
mod tidy;
