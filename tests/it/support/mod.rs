//! What the tests stand on. Nothing here asserts what the product does; that is the tests' own.

#[cfg(test)]
pub(crate) mod app;
#[cfg(test)]
pub(crate) mod daemon;
#[cfg(test)]
pub(crate) mod database;
#[cfg(test)]
pub(crate) mod node;
#[cfg(test)]
pub(crate) mod otlp;
#[cfg(test)]
#[expect(dead_code, reason = "benches/faults stalls connections as well")]
pub(crate) mod proxy;
#[cfg(test)]
pub(crate) mod schema;
pub(crate) mod simulator;
#[cfg(test)]
pub(crate) mod stories;
#[cfg(test)]
pub(crate) mod upstream;
#[cfg(test)]
pub(crate) mod wire;

/// What is counted by day or month starts anew at midnight UTC, by the servers' clock: a test that counts does not span it.
#[cfg(test)]
pub(crate) async fn away_from_midnight() {
    use corroborate::domain::{Clock as _, SystemClock};
    let seconds = u64::from(chrono::Timelike::num_seconds_from_midnight(&SystemClock.now().time()));
    let left = 24 * 60 * 60 - seconds;
    if left <= 90 {
        tokio::time::sleep(std::time::Duration::from_secs(left + 1)).await;
    }
}

/// Says that a test is skipped for want of a service; where the services are promised, it fails instead.
#[expect(clippy::disallowed_methods, reason = "tests/run says whether the services are there")]
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("CORROBORATE_TEST_REQUIRE_SERVICES").is_none(), "a service is missing: {why}");
    println!("skipped: {why}");
}

/// Says that a test is skipped for want of a program on this machine. tests/run installs these where it starts the services from
/// packages; there the test fails without them. Where the services come from Docker, or are somebody's own, it installs none.
#[expect(clippy::disallowed_methods, reason = "tests/run says where the services come from")]
pub(crate) fn without_program(why: &str) {
    // Set where tests/run has started RabbitMQ from packages.
    if std::env::var_os("TEST_RABBITMQ_DIR").is_some() {
        skipped(why);
    } else {
        println!("skipped: {why}");
    }
}
