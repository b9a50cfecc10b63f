//! The command line of Zeitnot: parses it and runs the command.

use std::process::ExitCode;

use clap::Parser;
use zeitnot::tools::Cli;

fn main() -> ExitCode {
    Cli::parse().run()
}
