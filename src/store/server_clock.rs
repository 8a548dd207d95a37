//! How the database's clock stands to this machine's.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::{Clock, SystemClock};

/// Whole seconds by which the database's clock was ahead of this machine's when it was last asked; negative: behind.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerClock(Arc<AtomicI64>);

impl ServerClock {
    pub(super) fn learn(&self, moment: DateTime<Utc>) {
        self.0.store((moment - SystemClock.now()).num_seconds(), Ordering::Relaxed);
    }

    fn ahead(&self) -> TimeDelta {
        TimeDelta::seconds(self.0.load(Ordering::Relaxed))
    }
}

/// The later of this machine's clock and the database's: what is ahead of it is ahead of both, whichever was set back.
#[derive(Debug)]
pub struct LaterClock {
    own: Arc<dyn Clock>,
    server: ServerClock,
}

impl LaterClock {
    pub(super) fn new(own: Arc<dyn Clock>, server: ServerClock) -> Self {
        Self { own, server }
    }
}

impl Clock for LaterClock {
    fn now(&self) -> DateTime<Utc> {
        self.own.now() + self.server.ahead().max(TimeDelta::zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_clock_is_the_one_that_was_not_set_back() {
        let server = ServerClock::default();
        let later = LaterClock::new(Arc::new(SystemClock), server.clone());
        let hour = TimeDelta::hours(1);
        for (server_is_at, expected) in
            [(SystemClock.now() + hour, hour), (SystemClock.now() - hour, TimeDelta::zero())]
        {
            server.learn(server_is_at);
            let off = later.now() - SystemClock.now() - expected;
            assert!(off.abs() < TimeDelta::seconds(5), "{off}");
        }
    }
}
