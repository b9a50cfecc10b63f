//! The commands of the [laboratory](zeitnot_lab): measurements with many games.

mod analyse;
mod game_args;
mod matches;
mod movesleft;
mod report;
pub(super) mod run;
mod timelab;
mod tune;

use clap::Subcommand;

use crate::output::{ExitStatus, Failure, Output};
use zeitnot_lab::LabError;
use zeitnot_lab::rows::RowError;

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Analyse recorded games: what should have been played, and where the time went, as comments and a page
    #[command(
        visible_alias = "analyze",
        after_help = "Example: zeitnot analyse game.pgn --nodes 2000 --out analysis"
    )]
    Analyse(Box<analyse::AnalyseArgs>),
    /// Play engine A against engine B, many games at once, and say which is stronger
    #[command(
        after_help = "Example: zeitnot match --games 100 --nodes 200 --a name=new,CPuct=2 --b name=old --out match1"
    )]
    Match(Box<matches::MatchArgs>),
    /// Compare values of many options at once, by games of the engine against itself
    #[command(
        after_help = "Example: zeitnot tune --params 'CPuct=1.7|2' --games 2000 --nodes 100 --out tune1"
    )]
    Tune(Box<tune::TuneArgs>),
    /// Replay recorded games through time managers, in virtual time
    #[command(after_help = "Example: zeitnot timelab --manager legacy --tc 180+2")]
    Timelab(Box<timelab::TimelabArgs>),
    /// Measure moves-left estimators on recorded games
    #[command(after_help = "Example: zeitnot movesleft --pgn games.pgn")]
    Movesleft(Box<movesleft::MovesLeftArgs>),
    /// Put the results of several runs together, such as those of shards
    #[command(after_help = "Example: zeitnot report shard1/games.csv shard2/games.csv --out report")]
    Report(report::ReportArgs),
}

impl LabCommand {
    pub(super) fn run(self, output: &mut Output) -> Result<ExitStatus, Failure> {
        match self {
            LabCommand::Analyse(args) => analyse::run(&args, output),
            LabCommand::Match(args) => matches::run(&args, output),
            LabCommand::Tune(args) => tune::run(&args, output),
            LabCommand::Timelab(args) => timelab::run(&args, output),
            LabCommand::Movesleft(args) => movesleft::run(&args, output),
            LabCommand::Report(args) => report::run(&args, output),
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        Failure::Measurement(Box::new(error))
    }
}

impl From<RowError> for Failure {
    fn from(error: RowError) -> Failure {
        Failure::Measurement(Box::new(error))
    }
}
