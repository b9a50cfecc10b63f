//! The options themselves, and their values.

use super::{OptionError, OptionKind, OptionSpec, OptionValue};
use crate::time::DEFAULT_MANAGER;

/// Declares the options: a field of [`Settings`] with its documentation, kind, UCI name and flag.
macro_rules! settings {
    (@type Switch) => { bool };
    (@type Integer) => { i64 };
    (@type Decimal) => { f64 };
    (@type Choice) => { &'static str };
    (@type Text) => { String };
    (@own Text $default:expr) => { String::from($default) };
    (@own $kind:ident $default:expr) => { $default };
    ($( $(#[doc = $help:literal])+ $field:ident: $kind:ident { default: $default:expr $(, $key:ident: $bound:expr)* },
        $name:literal, $flag:literal; )+) => {
        /// The values of all options.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $( $(#[doc = $help])+ pub $field: settings!(@type $kind), )+
        }

        impl Default for Settings {
            fn default() -> Self {
                Settings { $( $field: settings!(@own $kind $default), )+ }
            }
        }

        impl Settings {
            /// All options, in the order in which they are listed to people.
            pub const SPECS: &'static [OptionSpec] = &[ $( OptionSpec {
                name: $name,
                flag: $flag,
                kind: OptionKind::$kind { default: $default $(, $key: $bound)* },
                help: concat!($($help),+),
            }, )+ ];

            /// The options that are not at their defaults: flag and value.
            pub fn changed(&self) -> Vec<(&'static str, String)> {
                let default = Settings::default();
                let mut changed = Vec::new();
                $( if self.$field != default.$field {
                    changed.push(($flag, self.$field.to_string()));
                } )+
                changed
            }

            fn store(&mut self, name: &str, value: OptionValue) {
                match (name, value) {
                    $( ($name, OptionValue::$kind(value)) => self.$field = value, )+
                    // `OptionSpec::parse` gives each option a value of its own kind.
                    _ => {}
                }
            }
        }
    };
}

settings! {
    /// Network file (.pb.gz, .pb or .onnx). Empty: the newest network in models/ beside the executable or in the source tree, or in the working folder.
    weights_file: Text { default: "" }, "WeightsFile", "weights";
    /// What evaluates positions; parameters may follow in parentheses.
    backend: Text { default: "auto" }, "Backend", "backend";
    /// Parameters of the backend, key=value, separated by commas.
    backend_options: Text { default: "" }, "BackendOptions", "backend-opts";
    /// Policy head of a network that has several.
    policy_head: Text { default: "vanilla" }, "PolicyHead", "policy-head";
    /// OptionValue head of a network that has several.
    value_head: Text { default: "winner" }, "ValueHead", "value-head";
    /// Search threads; 0 leaves it to the backend: as many as the machine has cores, or 5 for an accelerator.
    threads: Integer { default: 0, min: 0, max: 256 }, "Threads", "threads";
    /// Positions per batch; 0 takes the fastest, which is measured while searching where the backend does not know it.
    minibatch_size: Integer { default: 0, min: 0, max: 65536 }, "MinibatchSize", "minibatch-size";
    /// Evaluations that are kept for positions met again.
    nn_cache_size: Integer { default: 2_000_000, min: 0, max: 999_999_999 }, "NNCacheSize", "nncache";
    /// Memory that tree, cache and batches together may take, MB, beside network and program; 0 is no limit, and less than 20 counts as 20. The search goes on there: what it has looked at least makes room.
    ram_limit_mb: Integer { default: 0, min: 0, max: 100_000_000 }, "RamLimitMb", "ramlimit-mb";
    /// Folders with Syzygy tables (.rtbw, .rtbz), separated by the platform's separator (: or, on Windows, ;).
    syzygy_path: Text { default: "" }, "SyzygyPath", "syzygy-paths";
    /// With DTZ tables: search only the root moves that lead to the next capture, pawn move or mate soonest, not all that keep the win.
    syzygy_fast_play: Switch { default: false }, "SyzygyFastPlay", "syzygy-fast-play";
    /// Exploration constant of the PUCT formula.
    cpuct: Decimal { default: 1.745, min: 0.0, max: 100.0 }, "CPuct", "cpuct";
    /// Visits over which the exploration constant grows.
    cpuct_base: Decimal { default: 38739.0, min: 1.0, max: 1e9 }, "CPuctBase", "cpuct-base";
    /// How fast the exploration constant grows.
    cpuct_factor: Decimal { default: 3.894, min: 0.0, max: 1000.0 }, "CPuctFactor", "cpuct-factor";
    /// The exploration constant at the root is made of the three options that follow, not of the ones above.
    root_has_own_cpuct_params: Switch { default: false }, "RootHasOwnCpuctParams", "root-has-own-cpuct-params";
    /// Exploration constant at the root, under RootHasOwnCpuctParams.
    cpuct_at_root: Decimal { default: 1.745, min: 0.0, max: 100.0 }, "CPuctAtRoot", "cpuct-at-root";
    /// Visits over which it grows, under RootHasOwnCpuctParams.
    cpuct_base_at_root: Decimal { default: 38739.0, min: 1.0, max: 1e9 }, "CPuctBaseAtRoot", "cpuct-base-at-root";
    /// How fast it grows, under RootHasOwnCpuctParams.
    cpuct_factor_at_root: Decimal { default: 3.894, min: 0.0, max: 1000.0 }, "CPuctFactorAtRoot", "cpuct-factor-at-root";
    /// What FpuValue is: how much worse than its parent an unvisited move is taken to be, or its value.
    fpu_strategy: Choice { default: "reduction", choices: &["reduction", "absolute"] }, "FpuStrategy", "fpu-strategy";
    /// How much worse than its parent an unvisited move is taken to be, per root of visited policy; or its value.
    fpu_value: Decimal { default: 0.33, min: -100.0, max: 100.0 }, "FpuValue", "fpu-value";
    /// The same for the root's moves; `same` takes FpuStrategy and FpuValue there too.
    fpu_strategy_at_root: Choice { default: "same", choices: &["reduction", "absolute", "same"] }, "FpuStrategyAtRoot", "fpu-strategy-at-root";
    /// What FpuValue is for the root's moves, unless FpuStrategyAtRoot is `same`.
    fpu_value_at_root: Decimal { default: 1.0, min: -100.0, max: 100.0 }, "FpuValueAtRoot", "fpu-value-at-root";
    /// What a draw is worth to White, and with the other sign to Black; a win is 1. -1 is Armageddon: Black wins a draw.
    draw_score: Decimal { default: 0.0, min: -1.0, max: 1.0 }, "DrawScore", "draw-score";
    /// The policy's logits are divided by this before the softmax.
    policy_temperature: Decimal { default: 1.359, min: 0.1, max: 10.0 }, "PolicyTemperature", "policy-softmax-temp";
    /// Share of noise in the policy of the root's moves.
    noise_epsilon: Decimal { default: 0.0, min: 0.0, max: 1.0 }, "DirichletNoiseEpsilon", "noise-epsilon";
    /// The smaller, the fewer moves get most of that noise.
    noise_alpha: Decimal { default: 0.3, min: 0.0, max: 1e7 }, "DirichletNoiseAlpha", "noise-alpha";
    /// The move to play is drawn: a move's chance is its visits to the power of 1 / temperature. 0 plays the best move.
    temperature: Decimal { default: 0.0, min: 0.0, max: 100.0 }, "Temperature", "temperature";
    /// Moves of the game over which the temperature falls to 0; 0: it does not fall.
    temp_decay_moves: Integer { default: 0, min: 0, max: 640 }, "TempDecayMoves", "tempdecay-moves";
    /// Moves of the game before the temperature begins to fall.
    temp_decay_delay_moves: Integer { default: 0, min: 0, max: 100 }, "TempDecayDelayMoves", "tempdecay-delay-moves";
    /// From this move of the game on TempEndgame is the temperature; 0: never.
    temp_cutoff_move: Integer { default: 0, min: 0, max: 1000 }, "TempCutoffMove", "temp-cutoff-move";
    /// Temperature from TempCutoffMove on, and the least to which it falls before.
    temp_endgame: Decimal { default: 0.0, min: 0.0, max: 100.0 }, "TempEndgame", "temp-endgame";
    /// Moves whose expected score is lower than the most visited one's by more than this are not drawn, percent.
    temp_value_cutoff: Decimal { default: 100.0, min: 0.0, max: 100.0 }, "TempValueCutoff", "temp-value-cutoff";
    /// Added to each move's visits before the draw; moves below 0 are not drawn.
    temp_visit_offset: Decimal { default: 0.0, min: -1000.0, max: 1000.0 }, "TempVisitOffset", "temp-visit-offset";
    /// Seed of noise and draws: the same seed gives the same ones in the same position. 0: they differ each time.
    random_seed: Integer { default: 0, min: 0, max: 2_147_483_647 }, "RandomSeed", "random-seed";
    /// What the network sees for positions before the known game.
    history_fill: Choice { default: "fen_only", choices: &["no", "fen_only", "always"] }, "HistoryFill", "history-fill";
    /// The most that the Moves Left Head can add to a move's value.
    moves_left_max_effect: Decimal { default: 0.0345, min: 0.0, max: 1.0 }, "MovesLeftMaxEffect", "moves-left-max-effect";
    /// The Moves Left Head counts only where the value is beyond this.
    moves_left_threshold: Decimal { default: 0.8, min: 0.0, max: 1.0 }, "MovesLeftThreshold", "moves-left-threshold";
    /// What a ply less or more adds to a move's value.
    moves_left_slope: Decimal { default: 0.0027, min: 0.0, max: 1.0 }, "MovesLeftSlope", "moves-left-slope";
    /// Part of that effect that does not depend on the value.
    moves_left_constant_factor: Decimal { default: 0.0, min: -1.0, max: 1.0 }, "MovesLeftConstantFactor", "moves-left-constant-factor";
    /// Part of that effect that grows with the value.
    moves_left_scaled_factor: Decimal { default: 1.6521, min: -2.0, max: 2.0 }, "MovesLeftScaledFactor", "moves-left-scaled-factor";
    /// Part of that effect that grows with the square of the value.
    moves_left_quadratic_factor: Decimal { default: -0.6521, min: -1.0, max: 1.0 }, "MovesLeftQuadraticFactor", "moves-left-quadratic-factor";
    /// A move that certainly wins, loses or draws decides the position before it where it can.
    sticky_endgames: Switch { default: true }, "StickyEndgames", "sticky-endgames";
    /// A position that repeats one in the tree is taken for a draw.
    two_fold_draws: Switch { default: true }, "TwoFoldDraws", "two-fold-draws";
    /// Leaves under evaluation that one batch's gathering may run into.
    max_collision_events: Integer { default: 917, min: 1, max: 65536 }, "MaxCollisionEvents", "max-collision-events";
    /// Visits that one batch's gathering may lose to such leaves.
    max_collision_visits: Integer { default: 80_000, min: 1, max: 100_000_000 }, "MaxCollisionVisits", "max-collision-visits";
    /// Visits of the root up to which only one visit may be lost to collisions.
    collision_scaling_start: Integer { default: 28, min: 1, max: 100_000 }, "MaxCollisionVisitsScalingStart", "max-collision-visits-scaling-start";
    /// Visits of the root from which on MaxCollisionVisits may be lost; 0: in any tree.
    collision_scaling_end: Integer { default: 145_000, min: 0, max: 100_000_000 }, "MaxCollisionVisitsScalingEnd", "max-collision-visits-scaling-end";
    /// How the visits that may be lost grow between these two: 1 is evenly, more is late.
    collision_scaling_power: Decimal { default: 1.25, min: 0.01, max: 100.0 }, "MaxCollisionVisitsScalingPower", "max-collision-visits-scaling-power";
    /// Leaves whose value is known at once, finished games and positions in the cache, take no places in a batch. They are backed up on the spot in any case.
    out_of_order_eval: Switch { default: true }, "OutOfOrderEval", "out-of-order-eval";
    /// Visits to such leaves after which a batch goes to evaluation, however short it is; in batch sizes.
    max_out_of_order_evals_factor: Decimal { default: 2.4, min: 0.0, max: 100.0 }, "MaxOutOfOrderEvalsFactor", "max-out-of-order-evals-factor";
    /// A batch of fewer positions is filled up to so many with those that are likely to be wanted soon. For devices to which a larger batch costs nothing; Lc0's default is 32, ours 0, as on a CPU each position costs its time.
    max_prefetch: Integer { default: 0, min: 0, max: 1024 }, "MaxPrefetch", "max-prefetch";
    /// Visits per second that a search makes at most; 0 is no limit.
    nps_limit: Decimal { default: 0.0, min: 0.0, max: 1e6 }, "NodesPerSecondLimit", "nps-limit";
    /// Elo by which we are stronger than the opponent: a number, or NAME=NUMBER for opponents by UCI_Opponent, separated by commas. Empty: UCI_RatingAdv.
    contempt: Text { default: "" }, "Contempt", "contempt";
    /// The side that contempt favours; `play` is the side that searches, except in infinite search.
    contempt_mode: Choice { default: "play", choices: &["play", "white_side_analysis", "black_side_analysis", "disable"] }, "ContemptMode", "contempt-mode";
    /// Larger contempt counts as this, Elo.
    contempt_max_value: Decimal { default: 420.0, min: 0.0, max: 10_000.0 }, "ContemptMaxValue", "contempt-max-value";
    /// Elo of the favoured side, from which draw rate and accuracy of play follow; 0 leaves them as the network has them.
    wdl_calibration_elo: Decimal { default: 0.0, min: 0.0, max: 10_000.0 }, "WDLCalibrationElo", "wdl-calibration-elo";
    /// Factor on the effect of contempt: 1 is realistic, 0.5 to 0.6 plays best.
    wdl_contempt_attenuation: Decimal { default: 1.0, min: -10.0, max: 10.0 }, "WDLContemptAttenuation", "wdl-contempt-attenuation";
    /// Results that are less certain than this count as this certain under contempt; raise it for odds games.
    wdl_max_s: Decimal { default: 1.4, min: 0.0, max: 10.0 }, "WDLMaxS", "wdl-max-s";
    /// Share of contempt that is taken out of the values shown.
    wdl_eval_objectivity: Decimal { default: 1.0, min: 0.0, max: 1.0 }, "WDLEvalObjectivity", "wdl-eval-objectivity";
    /// Draw rate to expect in equal positions; 0 keeps the network's. Without effect under WDLCalibrationElo.
    wdl_draw_rate_target: Decimal { default: 0.0, min: 0.0, max: 0.999 }, "WDLDrawRateTarget", "wdl-draw-rate-target";
    /// Draw rate in equal positions that the network predicts.
    wdl_draw_rate_reference: Decimal { default: 0.5, min: 0.001, max: 0.999 }, "WDLDrawRateReference", "wdl-draw-rate-reference";
    /// Mean advantage of the openings from which the Elo was measured. Without effect under WDLCalibrationElo.
    wdl_book_exit_bias: Decimal { default: 0.65, min: -2.0, max: 2.0 }, "WDLBookExitBias", "wdl-book-exit-bias";
    /// The opponent, as GUIs name it: title, Elo, computer or human, name.
    opponent: Text { default: "" }, "UCI_Opponent", "opponent";
    /// Elo by which we are stronger, as some GUIs tell it; what contempt starts from.
    rating_advantage: Decimal { default: 0.0, min: -10_000.0, max: 10_000.0 }, "UCI_RatingAdv", "rating-adv";
    /// How the clock is used: name(parameter=value,…).
    time_manager: Text { default: DEFAULT_MANAGER }, "TimeManager", "time-manager";
    /// A move's time counts from `go` in any case, not from the `position` before it.
    strict_timing: Switch { default: false }, "StrictTiming", "strict-timing";
    /// Share of its time that the manager `legacy` takes; another value than 1 chooses that manager.
    slowmover: Decimal { default: 1.0, min: 0.0, max: 100.0 }, "Slowmover", "slowmover";
    /// Nodes that count as a millisecond, so that games are the same on any machine under any load; 0 is off.
    nodestime: Integer { default: 0, min: 0, max: 1_000_000 }, "nodestime", "nodestime";
    /// Under nodestime: the rate rises towards the endgame, as that of real engines does.
    nodestime_dynamic: Switch { default: false }, "NodestimeDynamic", "nodestime-dynamic";
    /// Tell with each move how its time was budgeted and used, as an `info string`.
    verbose_time: Switch { default: false }, "VerboseTime", "verbose-time";
    /// Kept back from every clock for lag and the GUI, ms.
    move_overhead_ms: Integer { default: 200, min: 0, max: 100_000_000 }, "MoveOverheadMs", "move-overhead";
    /// Stop when the best move cannot be overtaken in the remaining visits divided by this; 0 is off.
    smart_pruning_factor: Decimal { default: 1.33, min: 0.0, max: 10.0 }, "SmartPruningFactor", "smart-pruning-factor";
    /// Batches before smart pruning may stop a search.
    smart_pruning_minimum_batches: Integer { default: 0, min: 0, max: 10_000 }, "SmartPruningMinimumBatches", "smart-pruning-minimum-batches";
    /// Stop when a node changes the distribution of visits by less than this; 0 is off.
    minimum_kld_gain_per_node: Decimal { default: 0.0, min: 0.0, max: 1.0 }, "MinimumKLDGainPerNode", "minimum-kldgain-per-node";
    /// Nodes between two looks at that change.
    kld_gain_average_interval: Integer { default: 100, min: 1, max: 10_000_000 }, "KLDGainAverageInterval", "kldgain-average-interval";
    /// `go nodes` counts the visits of this search only, not those kept from earlier ones.
    nodes_as_playouts: Switch { default: false }, "NodesAsPlayouts", "nodes-as-playouts";
    /// Lines that are shown.
    multi_pv: Integer { default: 1, min: 1, max: 500 }, "MultiPV", "multipv";
    /// Show each line's own visits as its nodes, in place of all of them.
    per_pv_counters: Switch { default: false }, "PerPVCounters", "per-pv-counters";
    /// How the score is shown.
    score_type: Choice { default: "WDL_mu", choices: &["centipawn", "centipawn_with_drawscore", "centipawn_2019", "centipawn_2018", "win_percentage", "Q", "W-L", "WDL_mu"] }, "ScoreType", "score-type";
    /// Tell after a search about every root move, as `info string` lines. A LogFile is told in any case.
    verbose_move_stats: Switch { default: false }, "VerboseMoveStats", "verbose-move-stats";
    /// Tell about every root move with every information; without VerboseMoveStats only the LogFile.
    log_live_stats: Switch { default: false }, "LogLiveStats", "log-live-stats";
    /// File to which all that is read and written is added, with times and how each move's time was used; <stderr> is the console.
    log_file: Text { default: "" }, "LogFile", "logfile";
    /// Show win, draw and loss in permille.
    show_wdl: Switch { default: false }, "UCI_ShowWDL", "show-wdl";
    /// Show the positions that the network evaluates per second.
    show_eps: Switch { default: false }, "UCI_ShowEPS", "show-eps";
    /// Show the estimated moves left, where the network knows.
    show_moves_left: Switch { default: false }, "UCI_ShowMovesLeft", "show-movesleft";
    /// Castling is written king takes rook, as Chess960 needs it.
    chess960: Switch { default: false }, "UCI_Chess960", "chess960";
    /// The GUI may let the engine think on the opponent's time.
    ponder: Switch { default: false }, "Ponder", "ponder";
}

impl Settings {
    /// The option with this UCI name, in any case.
    ///
    /// # Errors
    /// [`OptionError::Unknown`], with the nearest name.
    pub fn spec(name: &str) -> Result<&'static OptionSpec, OptionError> {
        let same = |spec: &&OptionSpec| spec.name.eq_ignore_ascii_case(name) || spec.flag == name;
        Settings::SPECS.iter().find(same).ok_or_else(|| OptionError::Unknown {
            name: name.into(),
            hint: nearest(name).map(|near| format!("; did you mean {near}?")).unwrap_or_default(),
        })
    }

    /// Sets an option by its UCI name.
    ///
    /// # Errors
    /// If the name is unknown or the value out of range; nothing has changed then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        let spec = Settings::spec(name)?;
        self.store(spec.name, spec.parse(value)?);
        Ok(())
    }
}

/// The known name that differs least, if it differs by few letters only.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let distance = |spec: &OptionSpec| edit_distance(&name, &spec.name.to_ascii_lowercase());
    let best = Settings::SPECS.iter().min_by_key(|spec| distance(spec))?;
    (distance(best) <= 1 + best.name.len() / 4).then_some(best.name)
}

/// Levenshtein's distance in bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lie_in_their_ranges_and_can_be_set_again() {
        let mut settings = Settings::default();
        for spec in Settings::SPECS {
            settings.set(spec.name, &spec.default_text()).unwrap_or_else(|e| panic!("{e}"));
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn names_and_flags_are_unique() {
        for (i, a) in Settings::SPECS.iter().enumerate() {
            for b in &Settings::SPECS[..i] {
                assert!(!a.name.eq_ignore_ascii_case(b.name) && a.flag != b.flag, "{} {}", a.name, b.name);
            }
        }
    }

    #[test]
    fn setting_by_any_case_and_refusing_the_rest() {
        let mut settings = Settings::default();
        settings.set("cpuct", "2.5").unwrap();
        settings.set("uci_showwdl", "true").unwrap();
        assert_eq!(settings.changed(), [("cpuct", "2.5".into()), ("show-wdl", "true".into())]);
        assert_eq!((settings.cpuct, settings.show_wdl), (2.5, true));
        let before = settings.clone();
        assert_eq!(
            settings.set("Thread", "2").unwrap_err().to_string(),
            "unknown option \"Thread\"; did you mean Threads?"
        );
        assert_eq!(settings.set("Hash", "2").unwrap_err().to_string(), "unknown option \"Hash\"");
        assert!(settings.set("Threads", "257").is_err());
        assert_eq!(settings, before);
    }
}
