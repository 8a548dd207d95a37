//! The rooms that read what strangers sent, and nothing else of the product: they know no I/O, so that they build without
//! the database, the broker and the models, in a fraction of the time.

#![expect(dead_code, unused_imports, reason = "the rooms above these use the rest")]

#[path = "../../../src/config/mod.rs"]
pub mod config;
#[path = "../../../src/domain/mod.rs"]
pub mod domain;
#[path = "../../../src/language/mod.rs"]
pub mod language;
#[path = "../../../src/reading/mod.rs"]
pub mod reading;
