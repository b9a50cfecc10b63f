//! The command line of Zeitnot: reads it and runs the command.

use std::process::ExitCode;

use zeitnot::cli::Cli;

fn main() -> ExitCode {
    zeitnot::signals::set_up();
    zeitnot_engine::system::raise_file_limit();
    Cli::of_process().run()
}
