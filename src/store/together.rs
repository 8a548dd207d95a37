//! Batches concurrent queries into one statement.
//!
//! Items look up several providers and pages at once. If the database refuses a value, the queries run one by one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use super::StoreError;

/// Time that the first query waits for others; about one network round trip.
const GATHER: Duration = Duration::from_millis(1);
const MOST: usize = 100;

type ReplySender<A> = oneshot::Sender<Result<A, StoreError>>;
type AskFn<Q, A> = dyn Fn(Vec<Q>) -> BoxFuture<'static, Result<Vec<A>, StoreError>> + Send + Sync;

/// Batches queries of one kind. Cheap to clone.
pub(super) struct BatchLoader<Q, A>(Arc<Inner<Q, A>>);

struct Inner<Q, A> {
    waiting: Mutex<Vec<(Q, ReplySender<A>)>>,
    /// Must return answers in query order.
    ask: Box<AskFn<Q, A>>,
    tasks: TaskTracker,
}

impl<Q, A> Clone for BatchLoader<Q, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Q, A> fmt::Debug for BatchLoader<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchLoader").finish_non_exhaustive()
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> BatchLoader<Q, A> {
    pub(super) fn new(
        ask: impl Fn(Vec<Q>) -> BoxFuture<'static, Result<Vec<A>, StoreError>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner { waiting: Mutex::default(), ask: Box::new(ask), tasks: TaskTracker::new() }))
    }

    /// Returns the answer. A query whose caller stopped waiting is not sent.
    pub(super) async fn ask(&self, question: Q) -> Result<A, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let is_first = {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push((question, sender));
            waiting.len() == 1
        };
        if is_first {
            let own = self.clone();
            self.0.tasks.spawn(async move {
                sleep(GATHER).await;
                own.put().await;
            });
        }
        receiver.await.unwrap_or_else(|_gone| Err(StoreError::Statement(sqlx::Error::WorkerCrashed)))
    }

    async fn put(&self) {
        let waiting = std::mem::take(&mut *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let mut waiting: Vec<(Q, ReplySender<A>)> =
            waiting.into_iter().filter(|(_, sender)| !sender.is_closed()).collect();
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(MOST));
            let (questions, senders): (Vec<Q>, Vec<ReplySender<A>>) = waiting.into_iter().unzip();
            let copies = questions.clone();
            match (self.0.ask)(questions).await {
                // Dropping the sender makes a query without an answer fail.
                Ok(answers) => {
                    senders.into_iter().zip(answers).for_each(|(sender, answer)| drop(sender.send(Ok(answer))));
                }
                // A refused value must not fail the other queries.
                Err(error) if error.is_of_values() && copies.len() > 1 => {
                    for (question, sender) in copies.into_iter().zip(senders) {
                        let answer = (self.0.ask)(vec![question]).await;
                        match answer.map(|answers| answers.into_iter().next()) {
                            Ok(Some(answer)) => drop(sender.send(Ok(answer))),
                            Ok(None) => {}
                            Err(error) => drop(sender.send(Err(error))),
                        }
                    }
                }
                Err(error) => {
                    let error = Arc::new(error);
                    for sender in senders {
                        drop(sender.send(Err(StoreError::Shared(Arc::clone(&error)))));
                    }
                }
            }
            waiting = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn questions_of_one_moment_are_put_in_one_statement_and_each_gets_its_own_answer() {
        let statements = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&statements);
        let doubled = BatchLoader::new(move |numbers: Vec<usize>| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move { Ok(numbers.into_iter().map(|number| number * 2).collect()) }.boxed()
        });
        let answers = join_all((0..150).map(|number| doubled.ask(number))).await;
        assert!(answers.into_iter().enumerate().all(|(number, answer)| answer.unwrap() == number * 2));
        assert_eq!(statements.load(Ordering::Relaxed), 2);
        let given_up = doubled.ask(1);
        assert!(given_up.now_or_never().is_none());
        sleep(GATHER * 20).await;
        assert_eq!(statements.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn ask_fails_when_the_query_panics() {
        let broken: BatchLoader<u8, u8> = BatchLoader::new(|questions: Vec<u8>| {
            async move { Ok(vec![*questions.get(7).expect("there are two")]) }.boxed()
        });
        for _ in 0..2 {
            for answer in join_all([broken.ask(1), broken.ask(2)]).await {
                assert!(answer.unwrap_err().is_transient());
            }
        }
    }

    #[tokio::test]
    async fn question_is_answered_when_another_one_of_its_batch_is_refused() {
        let picky: BatchLoader<u8, u8> = BatchLoader::new(|numbers: Vec<u8>| {
            let refused = numbers.contains(&2);
            async move { if refused { Err(super::super::of_code("54000")) } else { Ok(numbers) } }.boxed()
        });
        let answers = join_all([1, 2, 3].map(|number| picky.ask(number))).await;
        let answers: Vec<Option<u8>> = answers.into_iter().map(Result::ok).collect();
        assert_eq!(answers, [Some(1), None, Some(3)]);
    }

    #[tokio::test]
    async fn every_caller_gets_the_error_when_a_batch_fails() {
        let failing: BatchLoader<u8, u8> =
            BatchLoader::new(|_| async { Err(StoreError::Unreachable(sqlx::Error::PoolTimedOut)) }.boxed());
        for answer in join_all([failing.ask(1), failing.ask(2)]).await {
            let error = answer.unwrap_err();
            assert!(error.is_away() && error.is_transient() && error.label() == "store_unreachable", "{error}");
        }
    }
}
