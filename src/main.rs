//! The binary: parse the command line, run the command, end with its exit code.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    corroborate::cli::run(corroborate::cli::Cli::parse())
}
