//! Threads for parsing what strangers sent.
//!
//! Pages and feeds are parsed by pure code that takes milliseconds, and must neither wait for anything else that blocks
//! (files, the system's resolver) nor keep others from it, whatever a page does to the parser. So parsing has places of
//! its own, about one for each core, and never takes one of the runtime's blocking threads. A parse that does not end
//! cannot be stopped, as no thread can; the caller stops waiting for it, and a spare place stands in for the lost one.
//!
//! What this room never does: parse, or know what is parsed.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

/// How long a caller waits for a place, and then for the result. The slowest pages under the cap take a quarter of a
/// second on one core; forty times that is a parser that hangs, or a machine that does.
const PATIENCE: Duration = Duration::from_secs(10);
/// Places that stand in for those of parses which hang. Each is a core that is lost until the process ends, so that few
/// help and more would only hide it.
const SPARES: usize = 4;
/// As much as the main thread has: parsers of nested markup recurse.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Why nothing came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotParsed {
    /// The parser panicked; only this page is lost.
    #[error("the parser failed at it")]
    Crashed,
    #[error("it was not parsed in time")]
    TooSlow,
    /// It was not tried, which says nothing of the page.
    #[error("no place to parse it was free in time: this machine is too busy")]
    NoPlace,
}

/// Places for parsing. Share one.
#[derive(Debug)]
pub struct Parsers {
    places: Arc<Semaphore>,
    spares: Arc<Semaphore>,
    patience: Duration,
}

impl Default for Parsers {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        // One slow page must not be the only one that is read.
        Self::new(cores.max(2), SPARES, PATIENCE)
    }
}

/// The place of one parse: given back when its thread ends, however it ends.
struct Place(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Parsers {
    fn new(places: usize, spares: usize, patience: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), spares: Arc::new(Semaphore::new(spares)), patience }
    }

    /// Does the work on a thread of its own, once there is a place for it.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, NotParsed> {
        let place = timeout(self.patience, Arc::clone(&self.places).acquire_owned()).await;
        let place = match place {
            Ok(place) => Arc::new(Mutex::new(place.ok())),
            Err(_elapsed) => return Err(NotParsed::NoPlace),
        };
        let (sender, result) = oneshot::channel();
        let own = Place(Arc::clone(&place));
        // A thread costs some tens of microseconds, a page milliseconds.
        let thread = thread::Builder::new().name("parse".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            // Dropped last, and by a panic as well.
            let _own = own;
            // Whoever wanted it may have left.
            drop(sender.send(work()));
        });
        if let Err(error) = thread {
            tracing::warn!(%error, "no thread for parsing; the machine is out of memory or threads");
            return Err(NotParsed::NoPlace);
        }
        match timeout(self.patience, result).await {
            Ok(parsed) => parsed.map_err(|_panicked| NotParsed::Crashed),
            Err(_elapsed) => {
                self.stand_in(&place);
                Err(NotParsed::TooSlow)
            }
        }
    }

    /// Gives the place of a parse that hangs to others, and a spare one to the parse.
    fn stand_in(&self, place: &Mutex<Option<OwnedSemaphorePermit>>) {
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have ended this moment.
        if place.is_none() {
            return;
        }
        match Arc::clone(&self.spares).try_acquire_owned() {
            Ok(spare) => *place = Some(spare),
            Err(_none_left) => tracing::error!("too many parses hang; restart this process"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    /// One blocking thread, and a resolver that blocks it: what sixteen dead links did to the sixteen threads.
    #[test]
    fn parsing_waits_for_no_thread_of_the_runtime() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
        let (end, held) = mpsc::channel::<()>();
        runtime.block_on(async {
            let blocked = tokio::task::spawn_blocking(move || held.recv());
            let parsed = timeout(Duration::from_secs(5), Parsers::default().run(|| 7)).await;
            assert_eq!(parsed.expect("it does not wait"), Ok(7));
            drop(end);
            blocked.await.unwrap().unwrap_err();
        });
    }

    #[tokio::test]
    async fn a_panic_ends_with_its_page() {
        let parsers = Parsers::new(1, 0, Duration::from_secs(10));
        let crashed: Result<(), _> = parsers.run(|| panic!("this page")).await;
        assert_eq!(crashed, Err(NotParsed::Crashed));
        assert_eq!(parsers.run(|| 1).await, Ok(1), "its place is free again");
    }

    #[tokio::test]
    async fn no_more_pages_are_parsed_at_once_than_there_are_places() {
        let parsers = Parsers::new(2, 0, Duration::from_secs(10));
        let (at_work, most) = (Arc::new(Mutex::new((0, 0))), 2);
        let all = (0..8).map(|_| {
            let at_work = Arc::clone(&at_work);
            parsers.run(move || {
                let mut counts = at_work.lock().unwrap();
                *counts = (counts.0 + 1, counts.1.max(counts.0 + 1));
                drop(counts);
                thread::sleep(Duration::from_millis(5));
                at_work.lock().unwrap().0 -= 1;
            })
        });
        assert!(futures::future::join_all(all).await.iter().all(Result::is_ok));
        assert!(at_work.lock().unwrap().1 <= most, "{:?}", at_work.lock().unwrap());
    }

    #[tokio::test]
    async fn a_parse_that_hangs_costs_a_spare_place_until_it_ends() {
        let parsers = Parsers::new(1, 1, SHORT);
        let (end, held) = mpsc::channel::<()>();
        assert_eq!(parsers.run(move || held.recv().is_ok()).await, Err(NotParsed::TooSlow));
        assert_eq!(parsers.run(|| 1).await, Ok(1), "a spare place stands in");
        assert_eq!(parsers.spares.available_permits(), 0);
        drop(end);
        timeout(Duration::from_secs(5), parsers.spares.acquire()).await.unwrap().unwrap().forget();
        // Without spares the places are lost, and a caller is told so in time.
        let (_end, held) = mpsc::channel::<()>();
        assert_eq!(parsers.run(move || held.recv().is_ok()).await, Err(NotParsed::TooSlow));
        assert_eq!(parsers.run(|| 1).await, Err(NotParsed::NoPlace));
    }
}
