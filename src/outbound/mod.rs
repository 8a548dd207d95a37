//! The only HTTP client. Everything that leaves the process for a provider or a page goes through here.

pub mod replay;
