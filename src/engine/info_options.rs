//! The options that choose what is reported about a search. `uci` writes accordingly.

use crate::options::{option_choice, option_group};
use crate::search::{MoveStatsWhen, Reporting};

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
        /// Report every root move with each `info` line. Without VerboseMoveStats only LogFile receives the report.
        log_live_stats: bool = false, "LogLiveStats", "log-live-stats", hidden;
        /// File to which all input and output is appended, with timestamps and each move's use of time. `<stderr>` writes to the console.
        log_file: String = String::new(), "LogFile", "logfile";
        /// Name that the engine reports to the GUI. Some GUIs choose what they show by this name. If empty, it is Zeitnot and its version.
        engine_name: String = String::new(), "EngineName", "name", hidden;
        /// Show the chances of win, draw and loss in permille.
        show_wdl: bool = false, "UCI_ShowWDL", "show-wdl", common;
        /// Show the number of positions that the network evaluates per second.
        show_eps: bool = false, "UCI_ShowEPS", "show-eps";
        /// Show the estimated number of moves left, if the network has a Moves Left Head.
        show_moves_left: bool = false, "UCI_ShowMovesLeft", "show-movesleft";
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
        Reporting { lines: self.multi_pv, move_stats }
    }
}
