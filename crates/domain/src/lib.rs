//! Types and rules that every module shares.
//!
//! No I/O, no async code; the time comes from a [`Clock`]. Nothing here knows the origin of an item or the destination
//! of a result.
//!
//! To add a type, put it in the file of its subject (`item`, `evidence`, `verdict`, `result`, `rules`) and document its
//! shape and units.

pub mod clock;
pub mod degradation;
pub mod event;
pub mod evidence;
pub mod excerpt;
pub mod ids;
pub mod item;
pub mod limits;
pub mod message_id;
pub mod reason;
pub mod result;
pub mod rules;
pub mod secret_names;
pub mod verdict;

pub use clock::{Clock, SystemClock};
pub use degradation::Degradation;
pub use event::Event;
pub use item::{Item, RejectReason};
pub use message_id::MessageId;
pub use reason::Reason;
pub use result::ItemResult;
pub use verdict::{ClaimKind, RatingClass, Stance, Status, Tier, Verdict};
