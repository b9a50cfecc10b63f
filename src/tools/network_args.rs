//! The arguments with which every command that evaluates chooses its network and backend.

use std::path::PathBuf;

use clap::Args;

use crate::network::BackendError;
use crate::network::backends::{BackendConfig, DEFAULT_POLICY_HEAD, DEFAULT_VALUE_HEAD};

/// Network and backend; a command flattens it into its own arguments.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// Network file [default: the newest in models/ or the working folder]
    #[arg(short, long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// What evaluates positions: trivial, random, simulated
    #[arg(short, long, value_name = "NAME", default_value = "random")]
    pub backend: String,
    /// Parameters of the backend: key=value,…
    #[arg(short = 'o', long, value_name = "PARAMS", default_value = "", hide_default_value = true)]
    pub backend_opts: String,
    /// Policy head of a network that has several: vanilla, optimistic, soft, opponent
    #[arg(long, value_name = "HEAD", default_value = DEFAULT_POLICY_HEAD)]
    pub policy_head: String,
    /// Value head of a network that has several: winner, q, st
    #[arg(long, value_name = "HEAD", default_value = DEFAULT_VALUE_HEAD)]
    pub value_head: String,
}

impl NetworkArgs {
    /// What [`crate::network::backends::create`] needs.
    ///
    /// # Errors
    /// If the backend's name or parameters are not of the grammar.
    pub fn config(&self) -> Result<BackendConfig, BackendError> {
        Ok(BackendConfig {
            weights: self.weights.clone(),
            policy_head: self.policy_head.clone(),
            value_head: self.value_head.clone(),
            ..BackendConfig::parse(&self.backend, &self.backend_opts)?
        })
    }
}
