//! The binary: parse the command line, run the command, end with its exit code.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = corroborate::cli::Cli::parse();
    // Pages are parsed and names resolved on the blocking threads; each of the default 512 would keep memory of its own.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = match builder.enable_all().max_blocking_threads(16).build() {
        Ok(runtime) => runtime,
        Err(error) => return corroborate::cli::fatal(&format!("the runtime cannot be started: {error}"), 69),
    };
    let code = runtime.block_on(corroborate::cli::run(arguments));
    // A blocking read of standard input must not keep a finished command alive.
    runtime.shutdown_background();
    code
}
