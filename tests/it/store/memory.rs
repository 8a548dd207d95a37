//! What the store takes of the server's memory.

use crate::support::database;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_indexes_of_vectors_are_seen_beside_the_servers_memory() {
    let Some(database) = database::database().await else { return };
    let memory = database.store.vector_memory().await.unwrap();
    // Two indexes with nothing in them; the tests' server has 128 MB unless told otherwise.
    assert!((8192 * 2..1_000_000).contains(&memory.indexes), "{memory:?}");
    assert!(memory.shared_buffers >= 16 << 20, "{memory:?}");
}
