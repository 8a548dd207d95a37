//! Connects the worker's [`Allowance`] for shedding with the store.
//!
//! All processes share the allowance in the store.

use std::time::Duration;

use futures::future::BoxFuture;

use crate::broker::QueueName;
use crate::store::Store;
use crate::worker::Allowance;

#[derive(Debug)]
pub(super) struct FleetAllowance(pub(super) Store);

impl Allowance for FleetAllowance {
    fn shed(&self, queue: QueueName) -> BoxFuture<'_, Result<u64, String>> {
        Box::pin(async move { self.0.shed_so_far(queue).await.map_err(|error| error.to_string()) })
    }

    fn allow(
        &self,
        queue: QueueName,
        excess: u64,
        shed_before: u64,
        every: Duration,
    ) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            self.0.allow_shedding(queue, excess, shed_before, every).await.map_err(|error| error.to_string())
        })
    }

    fn take(&self, queue: QueueName) -> BoxFuture<'_, Result<bool, String>> {
        Box::pin(async move { self.0.take_shedding(queue).await.map_err(|error| error.to_string()) })
    }
}
