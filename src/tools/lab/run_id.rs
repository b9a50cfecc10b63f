//! The identity of a run that can be resumed: a hash over all that its results depend on.

use sha2::{Digest, Sha256};

use super::game_args::GameArgs;
use crate::engine::{EngineSetup, Settings};
use crate::lab::matches::{MatchRules, Openings};

/// Collects what the results of a run depend on, except where files lie and how fast the machine is.
#[derive(Debug)]
pub(super) struct RunId(Sha256);

impl RunId {
    pub(super) fn new() -> RunId {
        RunId(Sha256::new())
    }

    /// Adds a text.
    pub(super) fn add(&mut self, text: impl AsRef<[u8]>) {
        self.0.update(text);
    }

    /// Adds all options of an engine, and its network.
    pub(super) fn add_engine(&mut self, setup: &EngineSetup) {
        self.add_settings(setup.settings(), setup.network_sha256());
    }

    /// Adds all options, and the network's SHA-256.
    pub(super) fn add_settings(&mut self, settings: &Settings, network_sha256: Option<&str>) {
        let mut settings = settings.clone();
        // What the file holds counts, not what it is called.
        settings.network.weights_file = network_sha256.unwrap_or_default().to_owned();
        if !settings.tablebase.syzygy_path.is_empty() {
            settings.tablebase.syzygy_path = "tables".into();
        }
        settings.info.log_file.clear();
        settings.network.threads = None;
        settings.values().for_each(|(flag, value)| self.add(format!("--{flag}={value}\n")));
    }

    /// Adds what all games have in common: `names` of what plays, rules and openings.
    pub(super) fn add_games(
        &mut self,
        names: &[&str],
        rules: &MatchRules,
        openings: &Openings,
        args: &GameArgs,
    ) {
        let MatchRules { limits, adjudication, seed } = rules;
        let has_tables = adjudication.tables.is_some();
        let other =
            (names, limits, adjudication.draw, adjudication.win, adjudication.max_plies, has_tables, seed);
        self.add(format!("{other:?} {}", args.sequential));
        self.add(openings.fingerprint().to_le_bytes());
    }

    /// Returns the identity as 12 hexadecimal digits.
    pub(super) fn finish(self) -> String {
        self.0.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}
