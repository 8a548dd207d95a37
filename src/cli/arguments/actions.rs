//! Subcommands of the commands for domains, providers, tokens, models, dead letters and webhooks.

use clap::{ArgGroup, Args, Subcommand};

/// An action on the domain lists.
#[derive(Debug, Subcommand)]
pub enum DomainsAction {
    /// List the rules.
    List,
    /// Add or change a rule; it applies in every process within seconds.
    #[command(
        group(ArgGroup::new("list").required(true).args(["allow", "deny"])),
        after_help = "Examples:\n  corroborate domains add suspilne.media --allow --why \"public broadcaster\"\n  corroborate domains add spam.example --deny --dry-run\n\nIf the domain stays on its list, omitted values are kept."
    )]
    Add {
        /// example.org covers every host below it; *.gov only what is below gov.
        domain: String,
        /// Trusted: searched first, credibility at least 0.7.
        #[arg(long)]
        allow: bool,
        /// Never fetched, never evidence.
        #[arg(long)]
        deny: bool,
        /// Credibility, 0 to 1; at least 0.7 for an allowed domain.
        #[arg(long)]
        credibility: Option<f64>,
        /// `news`, `fact_checker`, `government`, `academic`, `reference`, `social`, `satire`, `blog` or `link_farm`.
        #[arg(long)]
        source_type: Option<String>,
        /// The reason, for the audit log.
        #[arg(long)]
        why: Option<String>,
        /// Print the changes without applying them.
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove a rule; this applies in every process within seconds.
    #[command(
        after_help = "Examples:\n  corroborate domains remove spam.example --dry-run\n  corroborate domains remove spam.example --why \"it was sold\""
    )]
    Remove {
        /// As `domains list` shows it.
        domain: String,
        /// The reason, for the audit log.
        #[arg(long)]
        why: Option<String>,
        /// Print the changes without applying them.
        #[arg(long)]
        dry_run: bool,
    },
}

/// An action on the providers.
#[derive(Debug, Subcommand)]
pub enum ProvidersAction {
    /// List providers (the default).
    List,
    /// Close the circuit breaker of a provider, in every process.
    #[command(
        after_help = "Example:\n  corroborate providers reset brave\n\nConfigured limits stay in force: a daily limit ends with the day."
    )]
    Reset {
        /// As `providers` shows it.
        name: String,
    },
}

/// An action on tokens.
#[derive(Debug, Subcommand)]
pub enum TokensAction {
    /// Print a random token of 256 bits for the server itself; nothing is stored.
    #[command(
        after_help = "Examples:\n  export ADMIN_TOKEN=$(corroborate tokens generate)\n  corroborate tokens generate > /run/secrets/admin_token      then ADMIN_TOKEN_FILE=/run/secrets/admin_token\n\nFor ADMIN_TOKEN, and another one for http.read_token (CORROBORATE_HTTP_READ_TOKEN). Each may also be given as a file,\nby ADMIN_TOKEN_FILE and CORROBORATE_HTTP_READ_TOKEN_FILE. `tokens add` creates tokens for persons and programs."
    )]
    Generate,
    /// List tokens, valid ones first.
    List,
    /// Create a token and print it once.
    Add {
        /// Name of the person or program.
        name: String,
        /// read: read stored items; check: also check claims; admin: everything.
        #[arg(long, default_value = "read", value_parser = ["read", "check", "admin"])]
        scope: String,
        /// Requests a minute; the limit of any client when absent.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        rate: Option<u32>,
        /// Days until it expires.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
    },
    /// Revoke a token and the sessions that began with it.
    Revoke {
        /// As `tokens list` shows it.
        name: String,
    },
}

/// An action on models.
#[derive(Debug, Subcommand)]
pub enum ModelsAction {
    /// List models of the program, of `MODELS_DIR` and of servers, and which are in use (the default).
    List,
    /// Verify that model files are unchanged and that models load.
    #[command(
        after_help = "Examples:\n  corroborate models verify\n  corroborate models verify multilingual-e5-small\n\nThe exit code is 1 if a model cannot be used. `corroborate eval` measures how accurate the models are."
    )]
    Verify {
        /// Names as `models list` shows them; all when absent.
        names: Vec<String>,
    },
}

/// An action on dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadAction {
    /// List dead letters, oldest first.
    #[command(after_help = "Example:\n  corroborate dead list --limit 200")]
    List {
        /// Maximum number of rows.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
    },
    /// Show a dead letter with its message.
    #[command(after_help = "Example:\n  corroborate dead show ID        ids are listed by `corroborate dead list`")]
    Show {
        /// As `dead list` shows it.
        id: String,
    },
    /// Send messages back to the queue they came from.
    #[command(
        after_help = "Examples:\n  corroborate dead requeue ID ID\n  corroborate dead requeue --all\n\nIds are listed by `corroborate dead list`."
    )]
    Requeue {
        #[command(flatten)]
        which: MessageSelection,
    },
    /// Delete dead letters.
    #[command(
        after_help = "Examples:\n  corroborate dead drop ID\n  corroborate dead drop --all\n\nIds are listed by `corroborate dead list`."
    )]
    Drop {
        #[command(flatten)]
        which: MessageSelection,
    },
}

/// Messages by id, or all.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct MessageSelection {
    /// Ids.
    pub ids: Vec<String>,
    /// All messages.
    #[arg(long)]
    pub all: bool,
}

/// An action on webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhooksAction {
    /// List webhooks with their waiting and failed messages.
    #[command(after_help = "Example:\n  corroborate webhooks list")]
    List,
    /// List failed messages, oldest first; `--json` adds their bodies.
    #[command(after_help = "Example:\n  corroborate webhooks dead --limit 200")]
    Dead {
        /// Maximum number of rows.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=200))]
        limit: i64,
    },
    /// Send failed messages again.
    #[command(
        after_help = "Examples:\n  corroborate webhooks retry 17 18\n  corroborate webhooks retry --all\n\nIds are listed by `corroborate webhooks dead`."
    )]
    Retry {
        #[command(flatten)]
        which: MessageSelection,
    },
    /// Delete failed messages.
    #[command(
        after_help = "Examples:\n  corroborate webhooks drop 17\n  corroborate webhooks drop --all\n\nIds are listed by `corroborate webhooks dead`."
    )]
    Drop {
        #[command(flatten)]
        which: MessageSelection,
    },
    /// Post a signed message of the type `ping`, and print the receiver's response.
    #[command(after_help = "Example:\n  corroborate webhooks test newsroom")]
    Test {
        /// The webhook's name.
        name: String,
    },
    /// Print a new signing key.
    #[command(after_help = "Example:\n  export CORROBORATE_WEBHOOK_NEWSROOM_SECRET=$(corroborate webhooks secret)")]
    Secret,
}
