//! All options together.

use std::num::NonZero;
use std::sync::LazyLock;
use std::time::Duration;

use super::memory::{MemoryOptions, thread_bytes};
use super::network::NetworkOptions;
use crate::chess::History;
use crate::network::backends::BACKENDS;
use crate::network::{BackendInfo, discover};
use crate::options::{
    IGNORED_OPTIONS, OTHER_NAMES, OptionError, OptionGroup, OptionKind, OptionSpec, OtherName, Visibility,
    nearest_name, option_choice, option_group, own_name, unquoted,
};
use crate::search::{ContemptMode, ContemptOptions, MoveStatsWhen, Reporting, SearchParams};
use crate::tablebase::TablebaseOptions;
use crate::time::estimators::moves_left::ESTIMATORS;
use crate::time::managers::MANAGERS;
use crate::time::{Limit, Nodes, StopperOptions, TimeOptions};

option_group! {
    /// The values of all options.
    pub struct Settings {
        /// The network that is loaded, and what evaluates it.
        network: NetworkOptions;
        /// The limits of a search's memory.
        memory: MemoryOptions;
        /// The endgame tables.
        tablebase: TablebaseOptions;
        /// The parameters of the search.
        search: SearchParams;
        /// Contempt and accuracy of play.
        contempt: ContemptOptions;
        /// The use of the clock.
        time: TimeOptions;
        /// The rules that end a search.
        stoppers: StopperOptions;
        /// Analysis and weaker play.
        strength: StrengthOptions;
        /// The reports about a search.
        info: InfoOptions;
        /// Write castling as king takes rook, as Chess960 requires.
        chess960: bool = false, "UCI_Chess960", "chess960";
        /// Allow pondering: the engine thinks on the opponent's time.
        ponder: bool = false, "Ponder", "ponder";
    }
}

/// Drops the tree before the next search, by Lc0's name and by Stockfish's.
pub const CLEAR_TREE: [OptionSpec; 2] = [
    clear_button("ClearTree", Visibility::Hidden),
    clear_button("Clear Hash", Visibility::Normal),
];

const fn clear_button(name: &'static str, visibility: Visibility) -> OptionSpec {
    OptionSpec {
        meanings: Vec::new(),
        name,
        flag: "",
        kind: OptionKind::Button,
        default: String::new(),
        help: "Lets the next search begin with an empty tree.",
        visibility,
    }
}

static SPECS: LazyLock<Vec<OptionSpec>> = LazyLock::new(Settings::declared);

impl Settings {
    /// The declarations of all options, in their order.
    pub fn specs() -> &'static [OptionSpec] {
        &SPECS
    }

    /// All that hosts may set: our options, aliases, the command, and Lc0's options without effect.
    pub fn listed() -> Vec<OptionSpec> {
        let second = |other: &OtherName| {
            let spec = Settings::specs().iter().find(|spec| spec.name == other.option)?;
            let OtherName { name, flag, help, .. } = *other;
            Some(OptionSpec {
                name,
                flag,
                help,
                ..spec.clone()
            })
        };
        let own = Settings::specs()
            .iter()
            .cloned()
            .chain(OTHER_NAMES.iter().filter_map(second));
        own.chain(CLEAR_TREE)
            .chain(IGNORED_OPTIONS.iter().cloned())
            .collect()
    }

    /// The flagless parameters of a time manager, moves-left estimator or backend.
    pub fn parameters_of(name: &str) -> Option<Vec<OptionSpec>> {
        let managers = MANAGERS.iter().map(|manager| (manager.name, manager.parameters));
        let estimators = ESTIMATORS
            .iter()
            .map(|estimator| (estimator.name, estimator.parameters));
        let backends = BACKENDS.iter().map(|backend| (backend.name, backend.parameters));
        let mut owners = managers.chain(estimators).chain(backends);
        let parameters = owners.find(|(owner, _)| *owner == name)?.1();
        (!parameters.is_empty()).then(|| {
            parameters
                .into_iter()
                .map(|spec| OptionSpec { flag: "", ..spec })
                .collect()
        })
    }

    /// With the present values as defaults, for options up to visibility `least`.
    pub fn uci_lines(&self, least: Visibility) -> impl Iterator<Item = String> {
        Settings::listed()
            .into_iter()
            .filter(move |spec| spec.visibility <= least)
            .map(|spec| {
                let option = Settings::spec(spec.name).ok();
                let value = option.and_then(|option| self.text_of(option.flag));
                spec.uci_line(value.as_deref().unwrap_or(&spec.default))
            })
    }

    /// By UCI name or alias, in any case, or by flag.
    pub fn spec(name: &str) -> Result<&'static OptionSpec, OptionError> {
        let own = own_name(name);
        Settings::specs()
            .iter()
            .find(|spec| spec.is_named(own))
            .ok_or_else(|| unknown(name))
    }

    /// Whether the option concerns only a GUI's display and messages, which games within one process lack.
    pub fn is_for_sessions_only(spec: &OptionSpec) -> bool {
        InfoOptions::declared()
            .iter()
            .any(|of_info| of_info.name == spec.name)
    }

    /// Named as for [`Settings::spec`]. The value may be quoted.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        if self.set_if_known(own_name(name), &unquoted(value))? {
            Ok(())
        } else {
            Err(unknown(name))
        }
    }

    /// Under UCI_LimitStrength the built-in network, for which its levels are measured.
    pub(crate) fn network_to_play(&self) -> NetworkOptions {
        let mut network = self.network.clone();
        if self.strength.limit_strength && !self.strength.analyse_mode {
            network.weights_file = discover::BUILT_IN_NAME.into();
        }
        network
    }

    /// As many as the options name, else `default`, but no more than half of a search's memory has room for.
    pub(crate) fn threads_for(&self, backend: &BackendInfo, default: usize) -> usize {
        let wanted = self.network.threads.map_or(default, NonZero::get);
        let fitting = self.memory.search_bytes() / 2 / thread_bytes(self.batch_size(backend), backend);
        wanted.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1)
    }

    /// Those of a search under UCI.
    pub(crate) fn threads(&self, backend: &BackendInfo) -> usize {
        self.threads_for(backend, backend.preferred_threads)
    }

    /// Bytes that the tree of a search may take.
    pub(super) fn tree_limit(&self, backend: &BackendInfo) -> u64 {
        let threads = self.threads(backend) as u64;
        self.memory
            .search_bytes()
            .saturating_sub(threads * thread_bytes(self.batch_size(backend), backend))
    }

    pub(super) fn batch_size(&self, backend: &BackendInfo) -> usize {
        let chosen = self.search.minibatch_size;
        chosen.map_or(backend.preferred_batch, NonZero::get)
    }

    /// Flags and values of all options.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, String)> {
        Settings::specs()
            .iter()
            .filter_map(|spec| Some((spec.flag, self.text_of(spec.flag)?)))
    }

    /// Flags and values of the options that differ from their defaults.
    pub fn changed(&self) -> Vec<(&'static str, String)> {
        let values = self.values().zip(Settings::specs());
        values
            .filter(|((_, value), spec)| *value != spec.default)
            .map(|(set, _)| set)
            .collect()
    }

    /// The same options for the analysis of positions: a search uses its limits in full, and no time is kept
    /// back for a GUI.
    pub fn for_analysis(mut self) -> Settings {
        self.stoppers.smart_pruning_factor = 0.0;
        self.time.move_overhead = Duration::ZERO;
        self
    }
}

fn unknown(name: &str) -> OptionError {
    let near = nearest_name(name, Settings::specs().iter().map(|spec| spec.name));
    let hint = near
        .map(|near| format!(". Did you mean {near}?"))
        .unwrap_or_default();
    OptionError::Unknown {
        name: name.into(),
        hint,
    }
}

option_choice! {
    /// The form in which a score is shown.
    pub enum ScoreType {
        /// Centipawns computed from win minus loss.
        Centipawn = "centipawn",
        /// Centipawns computed from the value that the search uses.
        CentipawnWithDrawScore = "centipawn_with_drawscore",
        /// Lc0's formula of 2019.
        Centipawn2019 = "centipawn_2019",
        /// Lc0's formula of 2018.
        Centipawn2018 = "centipawn_2018",
        /// Expected points in hundredths of a percent.
        WinPercentage = "win_percentage",
        /// The value that the search uses, in ten-thousandths.
        Q = "Q",
        /// Win minus loss in ten-thousandths.
        WinMinusLoss = "W-L",
        /// The mean advantage in hundredths, where 100 means an even chance to win.
        WdlMu = "WDL_mu",
    }
}

option_group! {
    /// The options that choose what is reported about a search, to the GUI and to the log.
    pub struct InfoOptions {
        /// Report how each move's time was budgeted and used, as an `info string`.
        verbose_time: bool = false, "VerboseTime", "verbose-time";
        /// Number of principal variations to show.
        multi_pv: usize = 1, in 1..=500, "MultiPV", "multipv", common;
        /// Show the visits of each line as its node count, instead of the total.
        per_pv_counters: bool = false, "PerPVCounters", "per-pv-counters";
        /// Format of the score.
        score_type: ScoreType = ScoreType::WdlMu, "ScoreType", "score-type";
        /// Report every root move after a search, as `info string` lines. LogFile receives them in any case.
        verbose_move_stats: bool = false, "VerboseMoveStats", "verbose-move-stats";
        /// Report every root move with each `info` line. Without VerboseMoveStats only LogFile receives the
        /// report.
        log_live_stats: bool = false, "LogLiveStats", "log-live-stats", hidden;
        /// File to which all input and output is appended, with timestamps and each move's use of time.
        /// `<stderr>` writes to the console.
        log_file: String = String::new(), "LogFile", "logfile";
        /// Name that the engine reports to the GUI. Some GUIs choose what they show by this name. If empty,
        /// it is Zeitnot and its version.
        engine_name: String = String::new(), "EngineName", "name", hidden;
        /// Show the chances of win, draw and loss in permille.
        show_wdl: bool = false, "UCI_ShowWDL", "show-wdl", common;
        /// Show the number of positions that the network evaluates per second.
        show_eps: bool = false, "UCI_ShowEPS", "show-eps";
        /// Show the estimated number of moves left, if the network has a Moves Left Head.
        show_moves_left: bool = false, "UCI_ShowMovesLeft", "show-movesleft";
        /// Always measure a move's time from `go`, never from the `position` command before it.
        strict_timing: bool = false, "StrictTiming", "strict-timing", hidden;
    }
}

impl InfoOptions {
    pub(super) fn reporting(&self) -> Reporting {
        let has_reader = self.verbose_move_stats || !self.log_file.is_empty();
        let move_stats = match (has_reader, self.log_live_stats) {
            (true, true) => MoveStatsWhen::Always,
            (true, false) => MoveStatsWhen::AtEnd,
            (false, _) => MoveStatsWhen::Never,
        };
        Reporting {
            lines: self.multi_pv,
            move_stats,
        }
    }
}

option_group! {
    /// The options for analysis and for weaker play.
    #[derive(Copy)]
    pub struct StrengthOptions {
        /// Tell the engine that the GUI analyses. Contempt, DrawScore, noise, temperature and
        /// UCI_LimitStrength then have no effect.
        analyse_mode: bool = false, "UCI_AnalyseMode", "analyse-mode";
        /// Play at about the strength that UCI_Elo sets, with few nodes and moves chosen at random. It has no
        /// effect in infinite search.
        limit_strength: bool = false, "UCI_LimitStrength", "limit-strength";
        /// Strength under UCI_LimitStrength, which plays with the built-in network, whatever network is
        /// named.
        elo: u32 = 1500, in 1000..=2090, "UCI_Elo", "elo";
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weakening {
    pub(super) nodes: Nodes,
    temperature: f32,
}

struct Level {
    elo: f64,
    nodes: f64,
    temperature: f64,
}

/// Measured (`docs/results/programs.md`). In between, temperature and log nodes are interpolated.
const LEVELS: [Level; 5] = [
    Level {
        elo: 700.0,
        nodes: 1.0,
        temperature: 1.0,
    },
    Level {
        elo: 1335.0,
        nodes: 1.0,
        temperature: 0.3,
    },
    Level {
        elo: 1470.0,
        nodes: 2.0,
        temperature: 0.3,
    },
    Level {
        elo: 1785.0,
        nodes: 20.0,
        temperature: 0.3,
    },
    Level {
        elo: 2090.0,
        nodes: 200.0,
        temperature: 0.3,
    },
];

/// From here on mates in one and endings against a bare king are not spoiled.
const SURE_ELO: u32 = 1800;

impl StrengthOptions {
    pub(super) fn weakening(&self, game: &History, limit: Limit) -> Option<Weakening> {
        let is_sure = || self.elo >= SURE_ELO && is_decided(game);
        if !self.limit_strength || self.analyse_mode || limit.is_infinite() || is_sure() {
            return None;
        }
        let elo = f64::from(self.elo);
        let above = LEVELS
            .iter()
            .position(|level| level.elo >= elo)
            .unwrap_or(LEVELS.len() - 1)
            .max(1);
        let [low, high] = [&LEVELS[above - 1], &LEVELS[above]];
        let share = ((elo - low.elo) / (high.elo - low.elo)).clamp(0.0, 1.0);
        let between = |low: f64, high: f64| low + (high - low) * share;
        Some(Weakening {
            nodes: Nodes(libm::exp(between(libm::log(low.nodes), libm::log(high.nodes))).round() as u64),
            temperature: between(low.temperature, high.temperature) as f32,
        })
    }
}

fn is_decided(game: &History) -> bool {
    let current = game.current();
    let is_bare = current.board().by_color(!current.turn()).count() == 1;
    is_bare || !game.mate_by_checks(1).is_empty()
}

impl Settings {
    pub(super) fn for_search(&self, weakening: Option<Weakening>) -> Settings {
        let mut settings = self.clone();
        let search = &mut settings.search;
        if self.strength.analyse_mode {
            search.draw_score = 0.0;
            search.noise.epsilon = 0.0;
            search.temperature.initial = 0.0;
            search.temperature.endgame = 0.0;
            settings.contempt.mode = ContemptMode::Disable;
        }
        if let Some(weakening) = weakening {
            search.temperature = Default::default();
            search.temperature.initial = weakening.temperature;
            // The scale was measured without.
            search.leaf_mate_search = 0;
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;
    use crate::options::ignored_option;

    #[test]
    fn defaults_lie_in_their_ranges_and_can_be_set_again() {
        let mut settings = Settings::default();
        for spec in Settings::specs() {
            settings
                .set(spec.name, &spec.default)
                .unwrap_or_else(|e| panic!("{e}"));
        }
        assert!(settings.values().eq(Settings::default().values()));
        assert_eq!(settings.changed(), []);
        assert_eq!(settings.values().count(), Settings::specs().len());
    }

    #[test]
    fn names_and_flags_are_unique() {
        let listed = Settings::listed();
        for (i, a) in listed.iter().enumerate() {
            for b in &listed[..i] {
                let is_other_flag = a.flag != b.flag || a.flag.is_empty();
                assert!(
                    !a.name.eq_ignore_ascii_case(b.name) && is_other_flag,
                    "{} {}",
                    a.name,
                    b.name
                );
            }
        }
    }

    #[test]
    fn setting_by_any_case_and_refusing_the_rest() {
        let mut settings = Settings::default();
        settings.set("cpuct", "2.5").unwrap();
        settings.set("uci_showwdl", "true").unwrap();
        assert_eq!(
            settings.changed(),
            [("cpuct", "2.5".into()), ("show-wdl", "true".into())]
        );
        assert_eq!((settings.search.cpuct, settings.info.show_wdl), (2.5, true));
        let before = settings.clone();
        assert_eq!(
            settings.set("Thread", "2").unwrap_err().to_string(),
            "unknown option \"Thread\". Did you mean Threads?"
        );
        assert_eq!(
            settings.set("Skill", "2").unwrap_err().to_string(),
            "unknown option \"Skill\""
        );
        assert!(settings.set("Threads", "257").is_err());
        assert_eq!(settings, before);
    }

    #[test]
    fn no_option_of_ours_is_ignored() {
        assert!(
            IGNORED_OPTIONS
                .iter()
                .all(|spec| Settings::spec(spec.name).is_err())
        );
        let is_ignored = |name| ignored_option(name).is_some();
        assert!(
            !Settings::specs()
                .iter()
                .any(|spec| is_ignored(spec.name) || is_ignored(spec.flag))
        );
    }

    #[test]
    fn second_names_set_the_option_itself() {
        let mut settings = Settings::default();
        settings.set("hash", "64").unwrap();
        settings.set("Move Overhead", "100").unwrap();
        assert_eq!(
            settings.changed(),
            [("ramlimit-mb", "64".into()), ("move-overhead", "100".into())]
        );
        let error = settings.set("Hash", "-1").unwrap_err().to_string();
        assert_eq!(
            error,
            "option RamLimitMb: \"-1\" is not an integer from 0 to 100000000"
        );
        for other in &OTHER_NAMES {
            assert_eq!(Settings::spec(other.name).unwrap().name, other.option);
        }
    }

    #[test]
    fn hidden_options_are_listed_only_on_demand() {
        let settings = Settings::default();
        let is_listed = |name: &str, least| {
            let start = format!("option name {name} type ");
            settings.uci_lines(least).any(|line| line.starts_with(&start))
        };
        for (name, [common, normal]) in [
            ("Threads", [true, true]),
            ("CPuct", [false, true]),
            ("Hash", [false, true]),
            ("Move Overhead", [true, true]),
            ("Temperature", [false, false]),
            ("ClearTree", [false, false]),
            ("Clear Hash", [false, true]),
        ] {
            let listed = [Visibility::Common, Visibility::Normal].map(|least| is_listed(name, least));
            assert_eq!(listed, [common, normal], "{name}");
            assert!(is_listed(name, Visibility::Hidden), "{name}");
        }
    }

    fn weakening(elo: u32) -> Weakening {
        let options = StrengthOptions {
            limit_strength: true,
            elo,
            ..StrengthOptions::default()
        };
        options.weakening(&History::start(), Limit::nodes(1)).unwrap()
    }

    #[test]
    fn more_elo_is_never_fewer_nodes_or_a_hotter_draw() {
        let scale: Vec<_> = (1000..=2090).step_by(50).map(weakening).collect();
        for pair in scale.windows(2) {
            assert!(
                pair[0].nodes <= pair[1].nodes && pair[0].temperature >= pair[1].temperature,
                "{pair:?}"
            );
        }
        for Level { elo, nodes, .. } in &LEVELS {
            assert_eq!(weakening(*elo as u32).nodes, Nodes(*nodes as u64), "{elo}");
        }
    }

    #[test]
    fn weaker_play_overlooks_mates() {
        let mut settings = Settings::default();
        settings.strength = StrengthOptions {
            limit_strength: true,
            ..settings.strength
        };
        let weakening = settings.strength.weakening(&History::start(), Limit::nodes(1));
        let weakened = settings.for_search(weakening);
        assert!(settings.search.leaf_mate_search > 0);
        assert_eq!(weakened.search.leaf_mate_search, 0);
    }

    #[test]
    fn analysis_is_never_weakened() {
        let mut options = StrengthOptions {
            limit_strength: true,
            ..StrengthOptions::default()
        };
        let infinite = Limit::Infinite;
        assert_eq!(options.weakening(&History::start(), infinite), None);
        options.analyse_mode = true;
        assert_eq!(options.weakening(&History::start(), Limit::nodes(1)), None);
    }

    /// A regression: 2090 missed mates in one and did not win with a rook against a bare king.
    #[test]
    fn from_1800_on_decided_positions_are_played_at_full_strength() {
        const MATE_IN_ONE: &str = "fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
        for (position, is_decided) in [
            ("startpos", false),
            (MATE_IN_ONE, true),
            ("fen 8/8/8/3k4/8/8/8/R3K3 w - - 0 1", true),
            ("fen 8/8/8/3k4/8/8/8/R3K3 b - - 0 1", false),
            ("fen 8/8/8/3k4/3p4/8/8/R3K3 w - - 0 1", false),
        ] {
            let game = History::from_uci_position(position, Variant::Standard).unwrap();
            for elo in [1799, 1800, 2090] {
                let options = StrengthOptions {
                    limit_strength: true,
                    elo,
                    ..StrengthOptions::default()
                };
                let weakening = options.weakening(&game, Limit::nodes(1));
                assert_eq!(
                    weakening.is_none(),
                    is_decided && elo >= 1800,
                    "{elo}: {position}"
                );
            }
        }
    }
}
