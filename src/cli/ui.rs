//! `ui`: opens the web UI of the running daemon, or starts a daemon for it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::output::Output;
use super::serve::until_stopped;
use crate::app::{App, AppError, HttpAddress, Purpose, ServeOptions, demo};
use crate::config::Config;
use crate::outbound::Method;
use crate::outbound::local::LocalDaemon;

/// How long the program on the port may take to identify itself.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn run(config: Arc<Config>, of_demo: bool, open: bool, output: Output) -> Result<(), Failure> {
    let address = match HttpAddress::reserve(&config) {
        Ok(address) => address,
        // A daemon with this folder and port is the wanted one.
        Err(AppError::DataFolderBusy { http: Some(address), .. }) if !of_demo => {
            return show(address.parse().ok(), open, output);
        }
        // A database server has no data folder, so the program on the port is asked.
        Err(AppError::Bind { address, .. }) if !of_demo && is_daemon(address).await => {
            return show(Some(address), open, output);
        }
        Err(error) => return Err(error.into()),
    };
    if of_demo {
        output.hint("the demo's items are judged where they are not stored yet; this takes some seconds");
        Box::pin(demo::run(&config, |_done, _of| {})).await?;
        let app = Box::pin(demo::open(&config)).await?;
        return serve(app, false, address, open, output).await;
    }
    let app = match Box::pin(App::open(config, Purpose::Daemon { worker: true })).await {
        Ok(app) => app,
        // It listens on another address than configured.
        Err(AppError::DataFolderBusy { http: Some(address), .. }) => return show(address.parse().ok(), open, output),
        Err(error) => return Err(error.into()),
    };
    serve(app, true, address, open, output).await
}

async fn is_daemon(address: SocketAddr) -> bool {
    let Ok(daemon) = LocalDaemon::new(here(address).to_string(), None) else { return false };
    let asked = daemon.call(Method::GET, "/healthz", None);
    let Ok(Ok(answer)) = tokio::time::timeout(PATIENCE, asked).await else { return false };
    answer.get("status").is_some_and(|status| status == "ok") && answer.get("version").is_some()
}

/// Replaces an unspecified address with loopback.
fn here(address: SocketAddr) -> SocketAddr {
    let ip = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    SocketAddr::new(ip, address.port())
}

async fn serve(app: App, worker: bool, address: HttpAddress, open: bool, output: Output) -> Result<(), Failure> {
    Box::pin(until_stopped(app, ServeOptions { worker, http: true }, address, move |address| {
        // Printed even if no browser opens.
        if let Err(failure) = show(Some(address), open, output) {
            output.hint(&failure.to_string());
        }
        output.hint("Ctrl-C stops it");
    }))
    .await
}

fn show(address: Option<SocketAddr>, open: bool, output: Output) -> Result<(), Failure> {
    let address = address.ok_or_else(|| Failure::failed("the running daemon's address cannot be read"))?;
    let url = format!("http://{}/", here(address));
    if output.json {
        output.value(&serde_json::json!({ "url": url }))?;
    } else {
        output.text(&format!("{url}\n"))?;
    }
    if open && let Err(error) = open::that_detached(&url) {
        output.hint(&format!("no browser could be opened ({error}); open the address above"));
    }
    Ok(())
}
