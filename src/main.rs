//! The command line of Zeitnot: reads it and runs the command.

use std::process::ExitCode;

use zeitnot::cli::Invocation;

fn main() -> ExitCode {
    zeitnot::signals::set_up();
    zeitnot_engine::system::raise_file_limit();
    zeitnot_engine::system::allocator::set_up();
    Invocation::of_process()
        .unwrap_or_else(|refusal| refusal.exit())
        .run()
}
