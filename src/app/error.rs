//! The errors that stop the program, and their exit codes.
//!
//! Errors of lower modules are wrapped unchanged. A new error needs its exit code in [`AppError::exit_code`].

use crate::broker::QueueError;
use crate::store::StoreError;
use crate::supervisor::Failure;

#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(
        "port {} cannot be used for HTTP ({address}: {source}); stop the program that listens there, or set HTTP_BIND to \
         another address ({}:0 takes any free port)", .address.port(), .address.ip()
    )]
    Bind { address: std::net::SocketAddr, source: std::io::Error },
    #[error("the data folder {path} is in use by process {pid}{}", .http.as_deref().map(|at| format!(", which serves http://{at}")).unwrap_or_default())]
    DataFolderBusy { path: String, pid: u32, http: Option<String> },
    #[error("this build has no embedded database; set DATABASE_URL, or build with the feature `embedded`")]
    NoEmbedded,
    #[error("{component} could not be set up: {detail}")]
    Setup { component: &'static str, detail: String },
    #[error("{component} did not respond within {} seconds; check that it runs", .limit.as_secs())]
    Silent { component: &'static str, limit: std::time::Duration },
    #[error("{task} ended unexpectedly: {detail}")]
    Crashed { task: &'static str, detail: String },
    #[error(transparent)]
    Pipeline(#[from] crate::pipeline::PipelineError),
}

impl AppError {
    /// Returns 78 for configuration errors, 69 if a required service is unavailable, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Store(error) | Self::Pipeline(crate::pipeline::PipelineError::Store(error)) => store_code(error),
            Self::Queue(QueueError::BadSettings { .. }) | Self::Setup { .. } => crate::config::EXIT_CODE,
            Self::Queue(_)
            | Self::Bind { .. }
            | Self::DataFolderBusy { .. }
            | Self::NoEmbedded
            | Self::Silent { .. } => 69,
            Self::Crashed { .. } | Self::Pipeline(_) => 1,
        }
    }
}

impl From<Failure> for AppError {
    fn from(Failure { task, detail }: Failure) -> Self {
        Self::Crashed { task, detail }
    }
}

fn store_code(error: &StoreError) -> u8 {
    match error {
        StoreError::BadUrl | StoreError::Dimension { .. } => crate::config::EXIT_CODE,
        StoreError::Statement(_) | StoreError::Corrupt { .. } | StoreError::NoEvidence { .. } => 1,
        _ => 69,
    }
}
