//! The arguments of the commands that play games, `match` and `tune`: limits, openings, adjudication.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use clap::Args;

use crate::commands::engine_args::count;
use crate::output::{Facts, eprint_message};
use zeitnot_engine::chess::Variant;
use zeitnot_engine::engine::Settings;
use zeitnot_engine::network::cores;
use zeitnot_engine::note::Note;
use zeitnot_engine::options::OptionGroup;
use zeitnot_engine::params::{ParamError, Params};
use zeitnot_engine::tablebase::Tablebase;
use zeitnot_engine::time::TimeControl;
use zeitnot_lab::matches::{Adjudication, DrawRule, MatchConfig, MatchRules, Openings, SideLimit, WinRule};

/// Enough for large batches where clocks are virtual.
const GAMES_PER_THREAD: usize = 32;
const NO_OPENINGS: &str = "none";

#[derive(Debug, Args)]
pub(crate) struct GameArgs {
    /// Nodes of every move. Smart pruning is off then
    #[arg(long, value_name = "N", conflicts_with = "tc", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Clocks: SECONDS, SECONDS+INCREMENT or MOVES/SECONDS+INCREMENT. Virtual ones under --nodestime
    #[arg(long, value_name = "TIME")]
    tc: Option<TimeControl>,
    /// Openings: EPD or FEN lines, or PGN games, also compressed (.gz, .zst, .bz2, .zip). "none" is the start
    /// position alone [default: a built-in book]
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
    /// Take at most N plies of each PGN opening
    #[arg(long, value_name = "N")]
    opening_plies: Option<usize>,
    /// Take the openings in the order of the file, not shuffled
    #[arg(long)]
    pub(super) sequential: bool,
    /// Seed of the order of the openings and of random draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Games at once [default: 32 for each thread, or one for each thread with real clocks]
    #[arg(long, value_name = "N", value_parser = count())]
    concurrency: Option<usize>,
    /// Draws by evaluation: move=40,count=8,score=10 (from move 40 on, both sides within 10 centipawns for 8
    /// moves each)
    #[arg(long, value_name = "LIST")]
    adjudicate_draw: Option<String>,
    /// Wins by evaluation: count=3,score=600 (both sides agree on at least 600 centipawns for 3 moves each)
    #[arg(long, value_name = "LIST")]
    adjudicate_win: Option<String>,
    /// Results from the Syzygy tables in these folders
    #[arg(long, value_name = "FOLDERS")]
    adjudicate_syzygy: Option<String>,
    /// Draw games that reach N plies, those of the opening not counted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_plies: Option<u32>,
}

fn parsed<T>(
    flag: &str,
    text: Option<&str>,
    read: impl Fn(Params) -> Result<T, ParamError>,
) -> Result<Option<T>> {
    let rule = text.map(|text| Params::parse(text).and_then(read)).transpose();
    rule.map_err(|error| argument_error(flag, error))
}

pub(super) fn argument_error(flag: &str, error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("--{flag}: {error}")
}

impl GameArgs {
    /// The limit of a side that may have its `own`.
    pub(super) fn limit(&self, own: Option<SideLimit>) -> Result<SideLimit> {
        let common = self.nodes.map(SideLimit::Nodes).or(self.tc.map(SideLimit::Clock));
        own.or(common).context("say how long to think: --nodes or --tc")
    }

    pub(super) fn facts(&self) -> Facts {
        let plies = match self.opening_plies {
            Some(plies) => format!(", the first {plies} plies"),
            None => String::new(),
        };
        let openings = match &self.openings {
            Some(path) if path.as_os_str() == NO_OPENINGS => "the start position".into(),
            Some(path) => format!("{}{plies}", path.display()),
            None => format!("the built-in book{plies}"),
        };
        let mut rules = Vec::new();
        rules.extend(self.adjudicate_draw.as_ref().map(|rule| format!("draw {rule}")));
        rules.extend(self.adjudicate_win.as_ref().map(|rule| format!("win {rule}")));
        if self.adjudicate_syzygy.is_some() {
            rules.push("Syzygy tables".into());
        }
        rules.extend(self.max_plies.map(|plies| format!("draw at {plies} plies")));
        if rules.is_empty() {
            rules.push("none".into());
        }
        vec![
            ("openings", openings),
            ("adjudication", rules.join("; ")),
            ("seed", self.seed.to_string()),
        ]
    }

    /// Also returns how many games there are with them: none twice where games of one opening `are_alike`.
    /// Says if there are too few openings.
    pub(super) fn read_openings(&self, games: u64, are_alike: bool) -> Result<(Openings, u64)> {
        let mut openings = match &self.openings {
            None => Openings::built_in(self.opening_plies),
            Some(path) if path.as_os_str() == NO_OPENINGS => Openings::standard(),
            Some(path) => {
                Openings::read(path, self.opening_plies).map_err(|error| argument_error("openings", error))?
            }
        };
        openings.notes.iter().for_each(eprint_message);
        if !self.sequential {
            openings.shuffle(self.seed);
        }
        let pairs = games.div_ceil(2);
        let count = openings.len() as u64;
        if pairs > count && are_alike {
            let different = 2 * count;
            eprint_message(format_args!(
                "{games} games, {different} different: without clocks and random moves an opening gives the same two games \
                 again. The run ends after {different}; more --openings give more"
            ));
            return Ok((openings, different));
        }
        if pairs > count {
            eprint_message(format_args!(
                "{pairs} pairs of games, but {count} openings: some are played again"
            ));
        }
        Ok((openings, games))
    }

    fn adjudication(&self) -> Result<Adjudication> {
        let draw = |params: Params| DrawRule::default().read("draws", &params, &[]);
        let win = |params: Params| WinRule::default().read("wins", &params, &[]);
        let tables = self.adjudicate_syzygy.as_deref().map(Tablebase::open).transpose();
        let tables = tables.map_err(|error| argument_error("adjudicate-syzygy", error))?;
        if let Some(tables) = &tables {
            eprint_message(tables.description());
            for fault in tables.damage() {
                let text = format!("--adjudicate-syzygy: {fault}. Games that need it are played on");
                eprint_message(Note::Error(text));
            }
        }
        Ok(Adjudication {
            draw: parsed("adjudicate-draw", self.adjudicate_draw.as_deref(), draw)?,
            win: parsed("adjudicate-win", self.adjudicate_win.as_deref(), win)?,
            tables: tables.map(Arc::new),
            max_plies: self.max_plies,
        })
    }

    /// By default as many games at once as threads in real time, else enough for large batches.
    pub(super) fn config<'a>(
        &self,
        settings: &Settings,
        openings: &'a Openings,
        in_real_time: bool,
        recover: u64,
    ) -> Result<MatchConfig<'a>> {
        let threads = threads(settings);
        let per_thread = if in_real_time { 1 } else { GAMES_PER_THREAD };
        Ok(MatchConfig {
            variant: Variant::of_chess960(settings.chess960 || openings.variant == Variant::Chess960),
            openings,
            threads,
            concurrency: self.concurrency.unwrap_or(threads * per_thread),
            rules: MatchRules {
                adjudication: self.adjudication()?,
                seed: self.seed,
                recover,
            },
        })
    }
}

pub(super) fn threads(settings: &Settings) -> usize {
    settings.network.threads.map_or_else(cores, NonZero::get)
}

pub(super) fn runs_in_real_time(limit: SideLimit, settings: &Settings) -> bool {
    is_time(limit) && settings.stoppers.nodestime.nodes_per_ms == 0
}

fn is_time(limit: SideLimit) -> bool {
    matches!(limit, SideLimit::Clock(_) | SideLimit::MoveTime(_))
}

pub(super) fn are_alike(limit: SideLimit, settings: &Settings) -> bool {
    let is_random =
        |flag: &str| ["noise-epsilon", "temperature", "temp-endgame", "limit-strength"].contains(&flag);
    !runs_in_real_time(limit, settings) && !settings.changed().iter().any(|(flag, _)| is_random(flag))
}

/// At fixed nodes it is off: it looks at real time, and games would not be the same again.
pub(super) fn prunes_smartly(limit: SideLimit, settings: &Settings) -> bool {
    is_time(limit) || settings.stoppers.nodestime.nodes_per_ms != 0
}

/// Options that are set and have no effect in games under `limit`.
pub(super) fn idle_options(limit: SideLimit, settings: &Settings) -> Option<String> {
    let is_idle = |flag: &str| {
        Settings::spec(flag).is_ok_and(Settings::is_for_sessions_only)
            || flag == "smart-pruning-factor" && !prunes_smartly(limit, settings)
    };
    let changed = settings.changed().into_iter().map(|(flag, _)| flag);
    let idle: Vec<_> = changed.filter(|flag| is_idle(flag)).collect();
    (!idle.is_empty()).then(|| format!("without effect in these games: --{}", idle.join(", --")))
}

pub(super) fn settings_under(limit: SideLimit, mut settings: Settings) -> Settings {
    if !prunes_smartly(limit, &settings) {
        settings.stoppers.smart_pruning_factor = 0.0;
    }
    settings
}
