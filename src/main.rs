//! The command line of Zeitnot: reads it and runs the command.

use std::io::{self, Write};

use zeitnot::cli::Invocation;

fn main() {
    zeitnot::signals::set_up();
    zeitnot_engine::system::raise_file_limit();
    zeitnot_engine::system::allocator::set_up();
    let code = Invocation::of_process()
        .unwrap_or_else(|refusal| refusal.exit())
        .run();
    // Whoever needs to know of a failure has been told.
    let _ = io::stdout().flush();
    // Exit handlers would tear a GPU's libraries down while threads use them.
    signal_hook::low_level::exit(code.into())
}
