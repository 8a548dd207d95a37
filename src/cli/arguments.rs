//! The command line's shape and its help.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::judging::vocabularies::Vocabulary as Words;

pub(super) use actions::{
    DeadAction, DomainsAction, ModelsAction, ProvidersAction, TokensAction, WebhooksAction, Which,
};

mod actions;

/// Evidence beside the news: looks claims up, reads the sources, and says how far they agree.
#[derive(Debug, Parser)]
#[command(name = "corroborate", version, max_term_width = 110)]
#[command(
    after_help = "First steps:\n  corroborate demo                       the main job on recorded items, offline\n  corroborate check \"The Eiffel Tower is 330 metres tall\"\n  corroborate serve                      the daemon\n  corroborate doctor                     what is configured, reachable and missing\n\nResults are confidence signals with their sources, never certificates of truth.\nExit codes: 0 done, 1 failed, 2 usage, 78 configuration, 69 a required service is unavailable."
)]
pub struct Cli {
    /// Configuration file (TOML); its keys are described by `corroborate schema config`.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// JSON for machines instead of text for people.
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no hints.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon: workers, HTTP and jobs.
    #[command(
        after_help = "Examples:\n  corroborate serve\n  DATABASE_URL=postgres://… AMQP_URL=amqp://… corroborate serve\n  corroborate serve --no-http        only /healthz, /readyz and /metrics are served"
    )]
    Serve {
        /// Serve HTTP only; take nothing from the queues.
        #[arg(long)]
        no_worker: bool,
        /// Serve only /healthz, /readyz and /metrics.
        #[arg(long)]
        no_http: bool,
        #[command(flatten)]
        exchanges: ExchangeArguments,
    },
    /// Open the page of the daemon in a browser; start a daemon for it where none runs.
    #[command(
        after_help = "Examples:\n  corroborate ui\n  corroborate ui --demo              the recorded items of `corroborate demo`, offline\n  corroborate ui --no-open           say the address only\n\nThe page checks claims, lists what is stored, and edits domains. Ctrl-C stops a daemon that this command started."
    )]
    Ui {
        /// Show what `corroborate demo` stored, on recorded answers; the demo runs first where it has not.
        #[arg(long)]
        demo: bool,
        /// Open no browser.
        #[arg(long)]
        no_open: bool,
    },
    /// The main job on real items, offline, without keys or servers.
    #[command(
        after_help = "Examples:\n  corroborate demo\n  corroborate demo --full            every item with its passages\n\nAnswers come from recordings that ship with the program; the store is an embedded one of its own. A second run\nuses what the first one stored."
    )]
    Demo {
        /// Every item with all that was found, not one of each kind.
        #[arg(long)]
        full: bool,
    },
    /// Check one claim and print what was found.
    #[command(
        after_help = "Examples:\n  corroborate check \"Water boils at 50 °C at sea level\"\n  corroborate check --record runs/ \"The Eiffel Tower is 330 metres tall\"\n  corroborate check --replay runs/ \"The Eiffel Tower is 330 metres tall\"\n  corroborate check --json --vocabulary rag \"Київ є столицею України\""
    )]
    Check {
        /// The claim, in a sentence.
        claim: String,
        /// Words for the verdict.
        #[arg(long, value_enum, default_value_t = Vocabulary::Ours)]
        vocabulary: Vocabulary,
        /// ISO 639-1 code; detected when absent.
        #[arg(long)]
        language: Option<String>,
        /// All passages and figures, not the strongest alone.
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        exchanges: ExchangeArguments,
    },
    /// Enrich items from a file: NDJSON in, NDJSON out.
    #[command(
        after_help = "Examples:\n  corroborate enrich items.ndjson --out results.ndjson\n  cat items.ndjson | corroborate enrich - > results.ndjson\n\nResults are written as they are done. A bad line is reported with its number and the others are done. Run again\nwith the same --out, items whose result stands there are skipped; degraded results are asked again and replaced."
    )]
    Enrich {
        /// NDJSON file, or - for standard input.
        file: PathBuf,
        /// Where results go; standard output when absent.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        exchanges: ExchangeArguments,
    },
    /// Put items into the queue for a running daemon.
    #[command(
        after_help = "Example:\n  corroborate enqueue items.ndjson\n  corroborate enqueue - --queue factcheck < items.ndjson"
    )]
    Enqueue {
        /// NDJSON file, or - for standard input.
        file: PathBuf,
        /// Which queue: the whole pipeline, or the fact-check lookup alone.
        #[arg(long, value_enum, default_value_t = QueueChoice::Enrichment)]
        queue: QueueChoice,
    },
    /// Show the stored evidence of an item.
    #[command(after_help = "Example:\n  corroborate evidence tg:channel1:48211")]
    Evidence {
        /// The item's id, as it was sent; `check --json` prints the one it made up.
        item_id: String,
    },
    /// Show how a claim's verdict came about: the figures it rests on, and each passage with its own.
    #[command(
        after_help = "Examples:\n  corroborate why tg:channel1:48211\n  corroborate why clm_1f0c5a7e9b2d4c6f8a01\n\nFrom the database alone; docs/scoring.md says what each figure is. `evidence` shows the passages' words."
    )]
    Why {
        /// An item's id, or one claim's as `evidence ITEM --json` prints it.
        id: String,
    },
    /// List and edit the allow and deny lists, while the daemon runs.
    #[command(
        after_help = "Examples:\n  corroborate domains list\n  corroborate domains add suspilne.media --allow --why \"public broadcaster\"\n  corroborate domains remove spam.example"
    )]
    Domains {
        #[command(subcommand)]
        action: DomainsAction,
    },
    /// Show whom the daemon asks for evidence, their state and what they cost; ask a paused one again.
    #[command(
        after_help = "Examples:\n  corroborate providers\n  corroborate providers --json\n  corroborate providers reset brave        after a bill was paid or a key was mended at its side"
    )]
    Providers {
        #[command(subcommand)]
        action: Option<ProvidersAction>,
    },
    /// Give out, list and revoke tokens for people and programs that shall not have the server's own.
    #[command(
        after_help = "Examples:\n  export ADMIN_TOKEN=$(corroborate tokens generate)\n  corroborate tokens add \"night desk\" --scope check --rate 60\n  corroborate tokens list\n  corroborate tokens revoke \"night desk\"\n\nThey count where ADMIN_TOKEN is set. A token is shown once; only its digest is kept."
    )]
    Tokens {
        #[command(subcommand)]
        action: TokensAction,
    },
    /// Show which models judge and where they come from; check them; fetch others.
    #[command(
        after_help = "Examples:\n  corroborate models\n  corroborate models verify\n  MODELS_DIR=/var/lib/corroborate/models corroborate models pull multilingual\n\nNothing needs to be fetched: models for English, Russian and Ukrainian ship with the program. A folder in MODELS_DIR with an ONNX graph,\nits tokenizer.json and a model.toml is a model too."
    )]
    Models {
        #[command(subcommand)]
        action: Option<ModelsAction>,
    },
    /// Look at messages that were given up, send them back or drop them.
    #[command(
        after_help = "Examples:\n  corroborate dead list\n  corroborate dead show ID\n  corroborate dead requeue --all\n  corroborate dead drop ID"
    )]
    Dead {
        #[command(subcommand)]
        action: DeadAction,
    },
    /// Web servers that are told of results: what waits, what was given up, a try by hand.
    #[command(
        after_help = "Examples:\n  corroborate webhooks list\n  corroborate webhooks secret            a new key to sign with\n  corroborate webhooks test newsroom     post a signed message of the type ping now\n  corroborate webhooks retry --all"
    )]
    Webhooks {
        #[command(subcommand)]
        action: WebhooksAction,
    },
    /// Judge a labelled file as the daemon judges, and say how often that is right.
    #[command(
        after_help = "Examples:\n  corroborate eval pairs.jsonl\n  corroborate eval claims.jsonl --html report.html --predictions out.jsonl\n  corroborate eval claims.jsonl --decision decision.json\n\nEach line is a pair, {\"id\", \"claim\", \"evidence\": \"text\", \"label\": \"entail|neutral|contradict|not_entail\"},\nor a claim, {\"id\", \"claim\", \"claim_date\", \"evidence\": [{\"text\", \"url\", \"published_at\"}],\n\"label\": \"supported|refuted|contested|not_enough_evidence\"}. Nothing is asked, fetched or stored.\nA claim may bring its \"english\", {\"claim\", \"evidence\": [\"text\"]}: it stands in for a translator, which is not asked here.\nA claim may say which \"set\" it is of: sets weigh the same in a fitted decision model, and it is measured on each without it.\nMacro-F1 is the mean over the labels that stand in the file; a label that is only said shows in the table."
    )]
    Eval {
        /// The labelled rows, one JSON object a line.
        file: PathBuf,
        /// Write a page with the confusion, the reliability diagram and the worst mistakes.
        #[arg(long, value_name = "OUT")]
        html: Option<PathBuf>,
        /// Who judges: the rules alone, the models as configured, or the language model beside them (`LLM_BASE_URL`; each row
        /// is a call).
        #[arg(long, value_enum, default_value_t = Judge::Model)]
        judge: Judge,
        /// Write one JSON line a row: what was said of it, and how surely.
        #[arg(long, value_name = "OUT")]
        predictions: Option<PathBuf>,
        /// Write the curves fitted on these claims, for `scoring.calibration` to name.
        #[arg(long, value_name = "OUT")]
        calibration: Option<PathBuf>,
        /// Write the coefficients of a decision model fitted on these claims, for `scoring.decision` to name.
        #[arg(long, value_name = "OUT")]
        decision: Option<PathBuf>,
    },
    /// Judge stored items again by today's settings and lists, from the database alone.
    #[command(
        after_help = "Examples:\n  corroborate rescore --dry-run\n  corroborate rescore --since 2026-11-01\n\nNothing is searched, fetched or asked of a model: the stored passages keep what they were judged to say. Credibility, quality,\nverdict, confidence, tier, score, justification and correction are computed anew, and passages of denied domains are\nleft out. With unchanged settings nothing changes. Where a verdict changed, claim.changed and item.updated\ngo to the results exchange and the webhooks, sent by a daemon that runs; --dry-run sends nothing."
    )]
    Rescore {
        /// Only items judged since then: a day (2026-11-01) or a moment (2026-11-01T08:00:00Z), UTC.
        #[arg(long, value_name = "DATE", value_parser = super::moment::moment)]
        since: Option<DateTime<Utc>>,
        /// Show what would change; change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove what has expired (the daemon does it by itself).
    #[command(after_help = "Example:\n  corroborate cleanup --dry-run")]
    Cleanup {
        /// Count only.
        #[arg(long)]
        dry_run: bool,
    },
    /// Bring the database's schema up to date.
    #[command(after_help = "Example:\n  DATABASE_URL=postgres://… corroborate migrate")]
    Migrate,
    /// Check or show the configuration.
    #[command(
        after_help = "Examples:\n  corroborate config check\n  corroborate --config my.toml config check --json\n  corroborate config show"
    )]
    Config {
        #[command(subcommand)]
        action: ConfigAction,
    },
    /// Print a JSON Schema.
    #[command(after_help = "Example:\n  corroborate schema item > item.schema.json")]
    Schema {
        /// Of what.
        #[arg(value_enum)]
        what: SchemaChoice,
    },
    /// Check the installation: what is configured, what answers when it is asked, and what is missing.
    ///
    /// Each part is asked once: the store, the queue, the models, the translator and every provider.
    #[command(after_help = "Example:\n  corroborate doctor\n  corroborate doctor --offline")]
    Doctor {
        /// Ask no provider, translator or model server.
        #[arg(long)]
        offline: bool,
        /// Ask also those that charge for every question; without it their address is tried, and not the key.
        #[arg(long, conflicts_with = "offline")]
        paid: bool,
    },
    /// Print the licences of the program and of the models, dictionaries, lists and texts in it.
    #[command(
        after_help = "Examples:\n  corroborate licenses           the data in the program: origin, licence, attribution, where it ships\n  corroborate licenses --json    the same as JSON, with the third-party crates\n  corroborate licenses --full    with the third-party crates and every licence text\n\nThe file NOTICE of the source holds the same."
    )]
    Licenses {
        /// Print the licence texts and the third-party crates too.
        #[arg(long)]
        full: bool,
    },
    /// Print a completion script for a shell.
    #[command(after_help = "Example:\n  corroborate completions bash > /etc/bash_completion.d/corroborate")]
    Completions {
        /// For which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// What becomes of the exchanges with providers and pages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct ExchangeArguments {
    /// Keep every exchange with providers and pages in this folder, without keys. Everything is asked anew, whatever
    /// the store knows.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Record also the answers of providers whose terms forbid storing them (Brave); for your own use.
    #[arg(long, requires = "record")]
    pub record_transient: bool,
    /// Answer from the recordings in this folder, offline, at the time they were made. The store is an empty one that is
    /// thrown away: a temporary folder, or with `DATABASE_URL` a schema of its own in that database. What was not
    /// recorded is named and degrades the result.
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,
}

/// Who judges labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Judge {
    /// Words, names and figures alone.
    Rules,
    /// The models as configured.
    Model,
    /// The same with the language model beside them; of pairs, the language model alone.
    Llm,
}

/// What to do with the configuration.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ConfigAction {
    /// Say whether it can be used, and what is wrong with it.
    Check,
    /// Every key with its value and where that comes from; secrets are never shown.
    Show,
    /// What a language model is told, for each use: name, version, and the text itself.
    Prompts,
}

/// Which schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SchemaChoice {
    /// What upstream sends.
    Item,
    /// What the daemon publishes.
    Result,
    /// The configuration file.
    Config,
}

/// Which queue.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum QueueChoice {
    /// The whole pipeline, before all others.
    Important,
    /// The whole pipeline.
    Enrichment,
    /// The fact-check lookup alone.
    Factcheck,
}

/// Words for verdicts.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Vocabulary {
    /// `supported`, `refuted`, `contested`, `misleading`, `outdated`, `not_enough_evidence`, `not_verifiable`
    Ours,
    /// Supported, Refuted, Contested, Not enough evidence
    Module,
    /// VERIFIED, CONTRADICTED, OUTDATED, PARTIAL, UNVERIFIABLE
    Loop,
    /// Verdadeiro, Falso, Fora de Contexto, …
    Pipeline,
    /// True, False, Partially True, Misleading, …
    Rag,
}

impl From<Vocabulary> for Words {
    fn from(choice: Vocabulary) -> Self {
        match choice {
            Vocabulary::Ours => Self::Ours,
            Vocabulary::Module => Self::Module,
            Vocabulary::Loop => Self::Loop,
            Vocabulary::Pipeline => Self::Pipeline,
            Vocabulary::Rag => Self::Rag,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_argument_teaches_by_help() {
        fn teaches(command: &clap::Command) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} has no help");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} of {name} has no help", argument.get_id());
            }
            command.get_subcommands().for_each(teaches);
        }
        teaches(&Cli::command());
    }

    /// What a wrong call is told.
    fn refused(arguments: &[&str]) -> String {
        Cli::try_parse_from(["corroborate"].iter().chain(arguments)).unwrap_err().to_string()
    }

    #[test]
    fn a_choice_that_is_missing_is_named_whole() {
        let told = refused(&["domains", "add", "a.example"]);
        assert!(told.contains("--allow") && told.contains("--deny"), "{told}");
        for verb in ["requeue", "drop"] {
            let told = refused(&["dead", verb]);
            assert!(told.contains("IDS") && told.contains("--all"), "{told}");
            refused(&["dead", verb, "7", "--all"]);
            for good in [&["7", "8"][..], &["--all"]] {
                assert!(Cli::try_parse_from(["corroborate", "dead", verb].iter().chain(good)).is_ok(), "{good:?}");
            }
        }
    }

    #[test]
    fn a_rule_is_allowed_or_denied_not_both_and_not_neither() {
        let parse =
            |more: &[&str]| Cli::try_parse_from(["corroborate", "domains", "add", "a.example"].iter().chain(more));
        assert!(parse(&["--allow"]).is_ok());
        assert!(parse(&["--allow", "--deny"]).is_err());
        assert!(parse(&[]).is_err());
    }
}
