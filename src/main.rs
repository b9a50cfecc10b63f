//! The command line of Zeitnot: reads it and runs the command.

use zeitnot::cli::Invocation;

fn main() {
    zeitnot::signals::set_up();
    zeitnot_engine::system::raise_file_limit();
    zeitnot_engine::system::allocator::set_up();
    let code = Invocation::of_process()
        .unwrap_or_else(|refusal| refusal.exit())
        .run();
    zeitnot_engine::system::end(code)
}
