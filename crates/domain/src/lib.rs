//! Types and rules that every room shares. No I/O, no async, no clock of its own.
//!
//! Nothing here knows where an item came from or where a result goes. To add a type, put it in the file of its
//! subject (`item`, `evidence`, `verdict`, `result`, `rules`) and give it a docstring with shape and units.

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
pub use item::{Item, Reject};
pub use message_id::MessageId;
pub use reason::Reason;
pub use result::ItemResult;
pub use verdict::{ClaimKind, RatingClass, Stance, Status, Tier, Verdict};
