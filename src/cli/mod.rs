//! The command line: one file per command. Only this module prints.
//!
//! * People get text, with colour on a terminal; `--json` prints JSON.
//! * An error is one line: the problem and what to do.
//! * Exit codes: 0 done, 1 failed, 2 usage, 69 a required service is unavailable, 78 configuration.
//!
//! A new command needs a variant in `arguments.rs`, a file here and an example in its help.

mod api;
mod arguments;
mod card;
mod check;
mod config;
mod dead;
mod demo;
mod doctor;
mod domains;
mod enqueue;
mod enrich;
mod eval;
mod exchanges;
mod failure;
mod licenses;
mod lines;
mod models;
mod output;
mod providers;
#[cfg(test)]
mod reference;
mod render;
mod rescore;
mod serve;
mod tokens;
mod ui;
mod upkeep;
mod webhooks;
mod why;

use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory as _;
use opentelemetry_sdk::trace::SdkTracerProvider;

use arguments::TokensAction;
pub use arguments::{Cli, Command};
use failure::Failure;
use output::Output;

use crate::app::{AppError, ServeOptions};
use crate::config::{self as settings, Baseline, Config, LoadOptions, LoadedConfig};
use crate::outbound::otlp;
use crate::telemetry::Audience;

/// Runs the command on its own runtime. Not `async`: an `async` entry would compile the program twice, here and in the
/// binary.
pub fn run(cli: Cli) -> ExitCode {
    // They read files and resolve host names. The default of 512 would use more memory.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = match builder.enable_all().max_blocking_threads(16).build() {
        Ok(runtime) => runtime,
        Err(error) => return fatal(&format!("the runtime cannot be started: {error}"), 69),
    };
    let code = runtime.block_on(finish(cli));
    // A blocking read of standard input must not keep a finished command alive.
    runtime.shutdown_background();
    code
}

async fn finish(cli: Cli) -> ExitCode {
    let mut output = Output::new(
        cli.json,
        cli.quiet,
        settings::process_env().any(|(name, value)| name == "NO_COLOR" && !value.is_empty()),
    );
    // The future is too large for a stack frame.
    match Box::pin(dispatch(cli, &mut output)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // No error, as in other filters.
            if failure.is_broken_pipe() {
                return ExitCode::SUCCESS;
            }
            output.failure(&failure.to_string(), failure.code());
            ExitCode::from(failure.code())
        }
    }
}

fn fatal(message: &str, code: u8) -> ExitCode {
    Output::new(false, false, true).failure(message, code);
    ExitCode::from(code)
}

async fn dispatch(cli: Cli, shared: &mut Output) -> Result<(), Failure> {
    let output = *shared;
    // These must work with an invalid configuration.
    match &cli.command {
        Command::Schema { what } => return config::schema(*what, output),
        Command::Completions { shell } => return completions(*shell),
        Command::Licenses { full } => return licenses::run(*full, output),
        Command::Tokens { action: TokensAction::Generate } => return tokens::generate(output),
        _ => {}
    }
    let loaded = load(&cli);
    // The environment, if the configuration is invalid.
    let log = loaded
        .as_ref()
        .map_or_else(|_unreadable| settings::log_format_of(settings::process_env()), |loaded| loaded.config.log.format);
    *shared = output.with_log(log);
    let output = *shared;
    if let Command::Config { action } = &cli.command {
        return config::run(*action, loaded, output);
    }
    if let Command::Doctor { offline, paid } = cli.command {
        return Box::pin(doctor::run(loaded, doctor::CheckScope::of(offline, paid), output)).await;
    }
    let loaded = loaded.map_err(|error| Failure::configuration(&error))?;
    let daemon = matches!(cli.command, Command::Serve { .. } | Command::Ui { .. });
    let audience = if daemon { Audience::Operator } else { Audience::Person };
    let spans = if daemon { tracer_provider(&loaded.config)? } else { None };
    crate::telemetry::logging::install(&loaded.config.log, audience, spans.as_ref());
    crate::telemetry::exporter::install();
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let baseline = loaded.baseline(cli.config.clone());
    let done = Box::pin(run_command(cli.command, Arc::new(loaded.config), baseline, output)).await;
    if let Some(spans) = spans {
        otlp::close(spans).await;
    }
    done
}

fn tracer_provider(config: &Config) -> Result<Option<SdkTracerProvider>, AppError> {
    otlp::tracer_provider(&config.traces, &config.fetch.user_agent)
        .map_err(|error| AppError::Setup { component: "traces.endpoint", detail: error.to_string() })
}

async fn run_command(command: Command, config: Arc<Config>, baseline: Baseline, output: Output) -> Result<(), Failure> {
    match command {
        Command::Serve { no_worker, no_http, exchanges } => {
            let exchanges = exchanges::open(&exchanges, output)?;
            let options = ServeOptions { worker: !no_worker, http: !no_http };
            Box::pin(serve::run(config, baseline, options, exchanges, output)).await
        }
        Command::Ui { demo, no_open } => Box::pin(ui::run(config, demo, !no_open, output)).await,
        Command::Demo { full } => Box::pin(demo::run(&config, full, output)).await,
        Command::Check { claim, vocabulary, language, full, exchanges } => {
            let (vocabulary, language) = (vocabulary.into(), language.as_deref());
            let wanted = check::Wanted { claim: &claim, vocabulary, language, full };
            check::run(config, wanted, &exchanges, output).await
        }
        Command::Enrich { file, out, exchanges } => {
            enrich::run(config, &file, out.as_deref(), &exchanges, output).await
        }
        Command::Enqueue { file, queue } => enqueue::run(config, &file, queue, output).await,
        Command::Evidence { item_id } => why::evidence(config, &item_id, output).await,
        Command::Why { id } => why::why(config, &id, output).await,
        Command::Eval { file, judge, html, predictions, calibration, decision } => {
            let options = eval::EvalOptions {
                judge,
                html: html.as_deref(),
                predictions: predictions.as_deref(),
                calibration: calibration.as_deref(),
                decision: decision.as_deref(),
            };
            eval::run(&config, &file, options, output).await
        }
        Command::Rescore { since, dry_run } => rescore::run(&config, since, dry_run, output).await,
        Command::Rejudge { since } => rescore::request(&config, since, output).await,
        Command::Domains { action } => domains::run(config, action, output).await,
        Command::Providers { action } => providers::run(config, action, output).await,
        Command::Tokens { action } => tokens::run(config, action, output).await,
        Command::Models { action } => models::run(&config, action, output).await,
        Command::Dead { action } => dead::run(config, action, output).await,
        Command::Webhooks { action } => webhooks::run(config, action, output).await,
        Command::Cleanup { dry_run } => upkeep::cleanup(config, dry_run, output).await,
        Command::Migrate => upkeep::migrate(&config, output).await,
        Command::Config { .. }
        | Command::Doctor { .. }
        | Command::Schema { .. }
        | Command::Licenses { .. }
        | Command::Completions { .. } => Ok(()),
    }
}

fn load(cli: &Cli) -> Result<LoadedConfig, settings::ConfigError> {
    settings::load(LoadOptions { file: cli.config.clone(), env: settings::process_env() })
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "corroborate", &mut script);
    output::write_stdout(&script)
}

fn concurrency(config: &Config) -> usize {
    config.worker.concurrency.max(1)
}
