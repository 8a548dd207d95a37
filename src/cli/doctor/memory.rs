//! Checks that the database's memory can hold the vector indexes, which every item uses.

use crate::store::{Store, VectorMemory};

use super::{Finding, Health, failed, finding};

const MB: f64 = 1e6;

/// Returns `None` if the memory is large enough.
pub(super) async fn finding_of(store: &Store) -> Option<Finding> {
    match store.vector_memory().await {
        Ok(memory) => advice(memory).map(|advice| finding("store", Health::Warn, advice)),
        Err(error) => Some(failed("store", &error.into())),
    }
}

fn advice(VectorMemory { indexes, shared_buffers }: VectorMemory) -> Option<String> {
    (indexes > shared_buffers).then(|| {
        format!(
            "the indexes of vectors take {:.0} MB, and the server's shared_buffers is {:.0} MB: items wait for what does not fit; \
             raise it, a quarter of the server's memory is usual (docs/benchmarks.md, Large stores)",
            indexes as f64 / MB,
            shared_buffers as f64 / MB
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_where_the_indexes_do_not_fit_alone() {
        let of = |indexes, shared_buffers| advice(VectorMemory { indexes, shared_buffers });
        assert_eq!(of(128_000_000, 128_000_000), None);
        let text = of(1_950_000_000, 134_217_728).unwrap();
        assert!(text.contains("1950 MB") && text.contains("134 MB") && text.contains("raise it"), "{text}");
    }
}
