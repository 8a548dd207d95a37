//! `serve`: the daemon, until it is told to stop. On SIGHUP it reads its configuration again.

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
    // Before the store, which takes a moment to open: a port that is taken is said at once.
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
    // The reloads' arm never completes: what is under way when the daemon has stopped is given up.
    let done = tokio::select! {
        done = serving => done,
        never = reloads(reloader) => match never {},
    };
    done?;
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

/// Takes a changed configuration over whenever SIGHUP asks for it.
async fn reloads(mut reloader: Reloader) -> Infallible {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut hangup) = signal(SignalKind::hangup()) {
            let on_terminal = stderr().is_terminal();
            // Several while one is worked on are one: it is read once more.
            while hangup.recv().await.is_some() {
                if !has_gone(on_terminal) {
                    reloader.reload().await;
                }
            }
        }
    }
    std::future::pending().await
}

/// A terminal that is closed sends SIGHUP, too: nobody wants a daemon that goes on without it.
#[cfg(unix)]
fn has_gone(on_terminal: bool) -> bool {
    on_terminal && !stderr().is_terminal()
}

/// SIGTERM or SIGINT, or the terminal was closed.
async fn first_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let on_terminal = stderr().is_terminal();
        let asked = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()));
        let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = asked else { return std::future::pending().await };
        loop {
            // Each arm only waits.
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
