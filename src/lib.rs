//! The program Zeitnot: its command line, the protocol UCI, the analysis server, and the set-up of a machine.
//!
//! # Layers
//!
//! Modules in dependency order: each may use those below it, never those above (`tests/architecture.rs`
//! checks that). All use the engine ([`zeitnot_engine`]), and the commands that measure use the laboratory
//! ([`zeitnot_lab`]).
//!
//! | module | job |
//! |---|---|
//! | [`cli`] | arguments, Lc0's flags and the configuration become an invocation |
//! | `commands` | a file for each command, in an order of their own |
//! | `config_file` | `zeitnot.config`: reads and writes it |
//! | [`signals`] | what signals do to the process |
//! | [`uci`] | the protocol: reads a GUI's commands, writes the engine's answers |
//! | `serve` | the analysis server: its clients and their JSON |
//! | `setup` | what a machine needs for its GPU: finds out, chooses, fetches |
//! | `output` | results on stdout, messages on stderr, exit codes |

// Tests may unwrap. Everything else says what went wrong.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod cli;
mod commands;
mod config_file;
mod output;
mod serve;
mod setup;
pub mod signals;
#[cfg(test)]
mod tests {
    mod documentation;
}
pub mod uci;
