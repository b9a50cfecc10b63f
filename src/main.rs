//! The command line: dispatches to the commands.

fn main() {}
