//! The command line of Zeitnot: reads it and runs the command.

use std::process::ExitCode;

use zeitnot::cli::Cli;

fn main() -> ExitCode {
    Cli::of_process().run()
}
