//! The options that choose what is reported about a search. `uci` writes accordingly.

use crate::options::{option_choice, option_group};
use crate::search::{MoveStatsWhen, Reporting};

option_choice! {
    /// The form in which a score is shown.
    pub enum ScoreType {
        /// Hundredths of a pawn from win minus loss.
        Centipawn = "centipawn",
        /// The same from the value that the search works with.
        CentipawnWithDrawScore = "centipawn_with_drawscore",
        /// The formula of Lc0 in 2019.
        Centipawn2019 = "centipawn_2019",
        /// The formula of Lc0 in 2018.
        Centipawn2018 = "centipawn_2018",
        /// Expected points, hundredths of a percent.
        WinPercentage = "win_percentage",
        /// The value that the search works with, ten-thousandths.
        Q = "Q",
        /// Win minus loss, ten-thousandths.
        WinMinusLoss = "W-L",
        /// Hundredths of the mean advantage, where 100 is an even chance to win.
        WdlMu = "WDL_mu",
    }
}

option_group! {
    /// The options that choose what is reported about a search, to the GUI and to the log.
    pub struct InfoOptions {
        /// Report with each move how its time was budgeted and used, as an `info string`.
        verbose_time: bool = false, "VerboseTime", "verbose-time";
        /// Number of lines that are shown.
        multi_pv: usize = 1, in 1..=500, "MultiPV", "multipv", common;
        /// Show each line's own visits as its nodes, in place of all of them.
        per_pv_counters: bool = false, "PerPVCounters", "per-pv-counters";
        /// Form in which the score is shown.
        score_type: ScoreType = ScoreType::WdlMu, "ScoreType", "score-type";
        /// Report every root move after a search, as `info string` lines. A LogFile gets them in any case.
        verbose_move_stats: bool = false, "VerboseMoveStats", "verbose-move-stats";
        /// Report every root move with every `info`; without VerboseMoveStats only to the LogFile.
        log_live_stats: bool = false, "LogLiveStats", "log-live-stats", hidden;
        /// File to which all input and output is appended, with times and how each move's time was used; `<stderr>` is the console.
        log_file: String = String::new(), "LogFile", "logfile";
        /// Name that `uci` is answered with, where a GUI decides by it what it shows; empty is Zeitnot with its version.
        engine_name: String = String::new(), "EngineName", "name", hidden;
        /// Show win, draw and loss in permille.
        show_wdl: bool = false, "UCI_ShowWDL", "show-wdl", common;
        /// Show the positions that the network evaluates per second.
        show_eps: bool = false, "UCI_ShowEPS", "show-eps";
        /// Show the estimated moves left, where the network has a Moves Left Head.
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
