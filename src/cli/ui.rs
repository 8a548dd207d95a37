//! `ui`: the page in a browser, of the daemon that runs or of one that is started for it.

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

/// How long whoever has the port may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn run(config: Arc<Config>, of_demo: bool, open: bool, output: Output) -> Result<(), Failure> {
    let address = match HttpAddress::reserve(&config) {
        Ok(address) => address,
        // Its own daemon has the folder and the port: that is the page that is wanted.
        Err(AppError::DataFolderBusy { http: Some(address), .. }) if !of_demo => {
            return show(address.parse().ok(), open, output);
        }
        // On a server's database nobody holds a folder: whoever has the port is asked whether it is one of ours.
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
        // It listens elsewhere than this configuration says.
        Err(AppError::DataFolderBusy { http: Some(address), .. }) => return show(address.parse().ok(), open, output),
        Err(error) => return Err(error.into()),
    };
    serve(app, true, address, open, output).await
}

/// Whether a daemon of ours answers there.
async fn is_daemon(address: SocketAddr) -> bool {
    let Ok(daemon) = LocalDaemon::new(here(address).to_string(), None) else { return false };
    let asked = daemon.call(Method::GET, "/healthz", None);
    let Ok(Ok(answer)) = tokio::time::timeout(PATIENCE, asked).await else { return false };
    answer.get("status").is_some_and(|status| status == "ok") && answer.get("version").is_some()
}

/// An address to reach a server by: one on every address is one of this machine, too.
fn here(address: SocketAddr) -> SocketAddr {
    let ip = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    SocketAddr::new(ip, address.port())
}

async fn serve(app: App, worker: bool, address: HttpAddress, open: bool, output: Output) -> Result<(), Failure> {
    Box::pin(until_stopped(app, ServeOptions { worker, http: true }, address, move |address| {
        // Whoever started it sees the address whether a browser opens or not.
        if let Err(failure) = show(Some(address), open, output) {
            output.hint(&failure.to_string());
        }
        output.hint("Ctrl-C stops it");
    }))
    .await
}

/// Says where the page is and opens it.
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
