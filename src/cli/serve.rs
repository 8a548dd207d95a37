//! `serve`: the daemon, until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::exchanges;
use super::failure::Failure;
use super::output::Output;
use crate::app::{App, Exchanges, HttpAddress, Purpose, ServeOptions};
use crate::config::Config;

pub(super) async fn run(
    config: Arc<Config>,
    worker: bool,
    http: bool,
    exchanges: Exchanges,
    output: Output,
) -> Result<(), Failure> {
    let embedded = config.database.url.is_none();
    let table = config.amqp.url.is_none();
    // Before the store, which takes a moment to open: a port that is taken is said at once.
    let address = HttpAddress::reserve(&config)?;
    let app = App::open_with(config, Purpose::Daemon { worker }, exchanges.clone()).await?;
    let done = until_stopped(app, ServeOptions { worker, http }, address, |address| {
        let store = if embedded { "embedded store" } else { "Postgres" };
        let queue = if table { "queue in the store" } else { "RabbitMQ" };
        tracing::info!(%address, store, queue, worker, "ready");
        output.hint(&format!("corroborate is ready on http://{address} ({store}, {queue}); Ctrl-C stops it"));
    });
    done.await?;
    exchanges::close(&exchanges, output);
    Ok(())
}

/// Serves until a signal.
pub(super) async fn until_stopped(
    app: App,
    options: ServeOptions,
    address: HttpAddress,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), Failure> {
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let signals = async move {
        first_signal().await;
        tracing::info!("stopping: no new items are taken, those begun are finished");
        stop.cancel();
        // Whoever asks twice does not want to wait.
        first_signal().await;
        tracing::warn!("told to stop a second time: leaving at once; unfinished items are delivered again");
        std::process::exit(130);
    };
    // The signals' arm never completes but by leaving the process.
    tokio::select! {
        done = app.serve(options, address, shutdown, on_ready) => Ok(done?),
        () = signals => Ok(()),
    }
}

/// SIGTERM or SIGINT.
async fn first_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(mut terminate), Ok(mut interrupt)) => {
                // Both arms only wait.
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            _ => std::future::pending().await,
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
