//! `serve`: runs the daemon until a stop signal.
//!
//! A second signal stops it at once. SIGHUP reloads the configuration.

use std::convert::Infallible;
use std::io::{IsTerminal as _, stderr};
use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::exchanges;
use super::failure::Failure;
use super::output::Output;
use crate::app::{App, Exchanges, HttpAddress, Purpose, Reloader, ServeOptions};
use crate::config::{Baseline, Config};

pub(super) async fn run(
    config: Arc<Config>,
    baseline: Baseline,
    options: ServeOptions,
    exchanges: Exchanges,
    output: Output,
) -> Result<(), Failure> {
    let embedded = config.database.url.is_none();
    let table = config.amqp.url.is_none();
    // Before the store, so that a port in use is reported at once.
    let address = HttpAddress::reserve(&config)?;
    let app = App::open_with(config, Purpose::Daemon { worker: options.worker }, exchanges.clone()).await?;
    let reloader = app.reloader(baseline);
    let worker = options.worker;
    let serving = until_stopped(app, options, address, |address| {
        let store = if embedded { "embedded store" } else { "Postgres" };
        let queue = if table { "queue in the store" } else { "RabbitMQ" };
        tracing::info!(%address, store, queue, worker, "ready");
        output.hint(&format!("corroborate is ready on http://{address} ({store}, {queue}); Ctrl-C stops it"));
    });
    // The reload arm never completes; a running reload is dropped.
    let done = tokio::select! {
        done = serving => done,
        never = reloads(reloader) => match never {},
    };
    done?;
    exchanges::close(&exchanges, output);
    Ok(())
}

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
        tracing::info!("stopping; finishing the items in work");
        stop.cancel();
        // A second signal stops at once.
        first_signal().await;
        tracing::warn!("second stop signal; exiting at once, unfinished items are redelivered");
        std::process::exit(130);
    };
    // The signal arm ends only with the process.
    tokio::select! {
        done = app.serve(options, address, shutdown, on_ready) => Ok(done?),
        () = signals => Ok(()),
    }
}

async fn reloads(mut reloader: Reloader) -> Infallible {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut hangup) = signal(SignalKind::hangup()) {
            let on_terminal = stderr().is_terminal();
            // Several signals during a reload cause one more.
            while hangup.recv().await.is_some() {
                if !has_gone(on_terminal) {
                    reloader.reload().await;
                }
            }
        }
    }
    std::future::pending().await
}

/// Returns true for a closed terminal, which also sends SIGHUP and must stop the daemon.
#[cfg(unix)]
fn has_gone(on_terminal: bool) -> bool {
    on_terminal && !stderr().is_terminal()
}

/// Waits for SIGTERM, SIGINT or a closed terminal.
async fn first_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let on_terminal = stderr().is_terminal();
        let asked = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()));
        let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = asked else { return std::future::pending().await };
        loop {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = interrupt.recv() => return,
                _ = hangup.recv() => if has_gone(on_terminal) { return },
            }
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
