//! Threads for parsing untrusted pages and feeds, and for other work on long texts.
//!
//! Parsing is pure code that takes milliseconds. It must not wait for other blocking work (files, the system's resolver),
//! nor delay it, whatever a page does to the parser. Therefore it has its own threads, about one for each core, and never
//! takes one of the runtime's blocking threads.
//!
//! No thread can be stopped from outside. When a parse does not end, its caller stops waiting, and a spare thread takes its
//! place. When no spare is left and the parses still hang after a while, [`Parsers::watch`] fails: only a restart gives the
//! cores back. The pages that hung are stored as failed by then, so that the next process does not read them again at once.
//!
//! This module never parses, and has no rule about its content.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long a caller waits for a place, and then for the result. The slowest pages under the cap take a quarter of a
/// second on one core; a parse that takes forty times that hangs.
const PARSE_TIMEOUT: Duration = Duration::from_secs(10);
/// How many times longer work may take that its caller cannot do without: a machine that stalls for some seconds
/// must not cost an item.
const NEEDED_FACTOR: u32 = 6;
/// Places that replace those of parses that hang. Each is a core that is lost until the process ends: a few help, and
/// more would only hide the problem.
const SPARE_PLACES: usize = 4;
/// How long parses may hang without a spare place before the process ends. On an overloaded machine they end meanwhile,
/// and items that read the pages that hung are committed.
const EXHAUSTED_TIMEOUT: Duration = Duration::from_secs(30);
/// As much as the main thread has: parsers of nested markup recurse.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The parser panicked; only this page is lost.
    #[error("the parser failed")]
    Crashed,
    #[error("parsing did not end in time")]
    TooSlow,
    /// The parse did not begin; the page may be sound.
    #[error("no free parser in time: this machine is too busy")]
    NoPlace,
}

/// Places for parsing. Share one.
#[derive(Debug)]
pub struct Parsers {
    places: Arc<Semaphore>,
    spares: Arc<Semaphore>,
    parse_timeout: Duration,
    exhausted_timeout: Duration,
    /// Parses that hang without a spare place.
    stuck: watch::Sender<usize>,
}

impl Default for Parsers {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        // One slow page must not be the only one that is read.
        Self::new(cores.max(2), SPARE_PLACES, PARSE_TIMEOUT, EXHAUSTED_TIMEOUT)
    }
}

/// What one parse holds.
#[derive(Debug)]
enum ParsePermit {
    Permit(OwnedSemaphorePermit),
    /// The parse hangs, and there was no spare place.
    Stuck(OwnedSemaphorePermit, watch::Sender<usize>),
}

/// The place of one parse, released when its thread ends, however it ends.
struct PlaceGuard(Arc<Mutex<Option<ParsePermit>>>);

impl Drop for PlaceGuard {
    fn drop(&mut self) {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ParsePermit::Stuck(_permit, stuck)) = place {
            stuck.send_modify(|count| *count = count.saturating_sub(1));
        }
    }
}

/// A parse without a caller. Dropping this gives its place to others, and a spare one to the parse until its thread ends.
struct AbandonedParse<'a> {
    parsers: &'a Parsers,
    place: Option<Arc<Mutex<Option<ParsePermit>>>>,
}

impl Drop for AbandonedParse<'_> {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            self.parsers.swap_place(place);
        }
    }
}

impl Parsers {
    /// `exhausted_timeout`: how long parses may hang without a spare place before [`Parsers::watch`] fails.
    fn new(places: usize, spares: usize, parse_timeout: Duration, exhausted_timeout: Duration) -> Self {
        let (places, spares) = (Arc::new(Semaphore::new(places)), Arc::new(Semaphore::new(spares)));
        Self { places, spares, parse_timeout, exhausted_timeout, stuck: watch::Sender::new(0) }
    }

    /// Does the work on a thread of its own, once there is a place for it.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, ParseError> {
        let permit = timeout(self.parse_timeout, Arc::clone(&self.places).acquire_owned()).await;
        // The semaphore is never closed.
        let Ok(Ok(permit)) = permit else { return Err(ParseError::NoPlace) };
        self.on_thread(permit, self.parse_timeout, work).await
    }

    /// The same for work that its caller cannot do without: waits for a place for as long as it takes, and longer for the
    /// result.
    pub async fn run_when_free<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ParseError> {
        let Ok(permit) = Arc::clone(&self.places).acquire_owned().await else { return Err(ParseError::NoPlace) };
        self.on_thread(permit, self.parse_timeout * NEEDED_FACTOR, work).await
    }

    async fn on_thread<T: Send + 'static>(
        &self,
        permit: OwnedSemaphorePermit,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ParseError> {
        let place = Arc::new(Mutex::new(Some(ParsePermit::Permit(permit))));
        let (sender, result) = oneshot::channel();
        let release = PlaceGuard(Arc::clone(&place));
        // A thread costs some tens of microseconds, a page milliseconds.
        let thread = thread::Builder::new().name("parse".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            // Dropped last, and by a panic as well.
            let _release = release;
            // The caller may have left.
            drop(sender.send(work()));
        });
        if let Err(error) = thread {
            tracing::warn!(%error, "no thread for parsing; out of memory or threads");
            return Err(ParseError::NoPlace);
        }
        // Also when the caller leaves before the limit: nothing would watch the parse any more, and it may hang.
        let mut abandoned = AbandonedParse { parsers: self, place: Some(place) };
        let parsed = timeout(limit, result).await;
        if parsed.is_ok() {
            abandoned.place = None;
        }
        parsed.map_or(Err(ParseError::TooSlow), |parsed| parsed.map_err(|_panicked| ParseError::Crashed))
    }

    /// Gives the place of a parse that hangs to others, and a spare one to the parse.
    fn swap_place(&self, place: &Mutex<Option<ParsePermit>>) {
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        // The parse may have ended this moment.
        let Some(ParsePermit::Permit(permit)) = place.take() else { return };
        *place = Some(if let Ok(spare) = Arc::clone(&self.spares).try_acquire_owned() {
            ParsePermit::Permit(spare)
        } else {
            self.stuck.send_modify(|count| *count += 1);
            ParsePermit::Stuck(permit, self.stuck.clone())
        });
    }

    /// Why pages may not be read any more: parses hang, and no spare place is left. `None` while there are places.
    pub fn exhausted(&self) -> Option<String> {
        let stuck = *self.stuck.borrow();
        (stuck > 0).then(|| exhausted_text(stuck))
    }

    /// Returns when `stop` is cancelled.
    ///
    /// # Errors
    /// When parses have hung without a spare place for so long that only a restart helps.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) -> Result<(), String> {
        let mut stuck = self.stuck.subscribe();
        let exhausted = async {
            loop {
                // The sender is in `self`, so that neither wait fails.
                let _stuck = stuck.wait_for(|count| *count > 0).await.is_ok();
                let recovered = stuck.wait_for(|count| *count == 0);
                if timeout(self.exhausted_timeout, recovered).await.is_err() {
                    return;
                }
            }
        };
        if stop.run_until_cancelled(exhausted).await.is_none() {
            return Ok(());
        }
        Err(exhausted_text(*self.stuck.borrow()))
    }
}

fn exhausted_text(stuck: usize) -> String {
    format!(
        "{stuck} parse(s) hang beyond the {SPARE_PLACES} spare threads; only a restart ends them. The pages are stored as \
         failed (reader_too_slow); please report their addresses"
    )
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
        let parsers = Parsers::new(1, 0, Duration::from_secs(10), SHORT);
        let crashed: Result<(), _> = parsers.run(|| panic!("this page")).await;
        assert_eq!(crashed, Err(ParseError::Crashed));
        assert_eq!(parsers.run(|| 1).await, Ok(1), "its place is free again");
    }

    #[tokio::test]
    async fn no_more_pages_are_parsed_at_once_than_there_are_places() {
        let parsers = Parsers::new(2, 0, Duration::from_secs(10), SHORT);
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
        let parsers = Parsers::new(1, 1, SHORT, SHORT);
        let (end, held) = mpsc::channel::<()>();
        assert_eq!(parsers.run(move || held.recv().is_ok()).await, Err(ParseError::TooSlow));
        assert_eq!(parsers.run(|| 1).await, Ok(1), "a spare place stands in");
        assert_eq!(parsers.spares.available_permits(), 0);
        drop(end);
        timeout(Duration::from_secs(5), parsers.spares.acquire()).await.unwrap().unwrap().forget();
        // Without spares the places are lost, and a caller gets an error in time.
        let (_end, held) = mpsc::channel::<()>();
        assert_eq!(parsers.run(move || held.recv().is_ok()).await, Err(ParseError::TooSlow));
        assert_eq!(parsers.run(|| 1).await, Err(ParseError::NoPlace));
    }

    #[tokio::test]
    async fn place_is_free_again_when_the_caller_of_a_hung_parse_leaves() {
        let parsers = Parsers::new(1, 1, Duration::from_secs(10), SHORT);
        let (end, held) = mpsc::channel::<()>();
        assert!(timeout(SHORT, parsers.run(move || held.recv().is_ok())).await.is_err(), "the caller leaves");
        assert_eq!(parsers.run(|| 1).await, Ok(1), "a spare place stands in");
        let (second_end, held) = mpsc::channel::<()>();
        assert!(timeout(SHORT, parsers.run(move || held.recv().is_ok())).await.is_err());
        assert!(parsers.exhausted().is_some(), "no spare place is left for the second one");
        drop((end, second_end));
    }

    #[tokio::test]
    async fn watch_fails_when_parses_hang_without_a_spare_place() {
        let parsers = Arc::new(Parsers::new(2, 1, SHORT, SHORT));
        let watch = Arc::clone(&parsers).watch(CancellationToken::new());
        tokio::pin!(watch);
        let mut ends = Vec::new();
        for number in 1..=2 {
            assert_eq!(parsers.exhausted(), None, "before the hung parse {number}");
            let (end, held) = mpsc::channel::<()>();
            ends.push(end);
            assert_eq!(parsers.run(move || held.recv().is_ok()).await, Err(ParseError::TooSlow));
        }
        assert!(parsers.exhausted().is_some_and(|reason| reason.starts_with("1 parse(s) hang")));
        assert_eq!(parsers.run(|| 1).await, Ok(1), "items in work can still read their pages");
        let failed = timeout(Duration::from_secs(5), watch).await.expect("it does not wait for ever");
        assert!(failed.unwrap_err().contains("restart"));
    }

    #[tokio::test]
    async fn watch_goes_on_when_slow_parses_end_in_time() {
        let parsers = Arc::new(Parsers::new(1, 0, SHORT, Duration::from_secs(10)));
        let stop = CancellationToken::new();
        let watch = tokio_util::task::TaskTracker::new().spawn(Arc::clone(&parsers).watch(stop.clone()));
        let (end, held) = mpsc::channel::<()>();
        assert_eq!(parsers.run(move || held.recv().is_ok()).await, Err(ParseError::TooSlow));
        assert!(parsers.exhausted().is_some());
        drop(end);
        while parsers.exhausted().is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
        assert_eq!(watch.await.unwrap(), Ok(()));
    }
}
