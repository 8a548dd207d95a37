//! The binary: parse the command line, run the command, end with its exit code.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = corroborate::cli::Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return corroborate::cli::fatal(&format!("the runtime cannot be started: {error}"), 69),
    };
    let code = runtime.block_on(corroborate::cli::run(arguments));
    // A blocking read of standard input must not keep a finished command alive.
    runtime.shutdown_background();
    code
}
