//! The rooms that read what strangers sent, and nothing else of the product: they know no I/O, so that they build without
//! the database, the broker and the models, in a fraction of the time.

pub use corroborate_domain as domain;
pub use corroborate_language as language;
pub use corroborate_reading as reading;

#[path = "../../../src/config/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the rooms above it use the rest")]
pub mod config;
