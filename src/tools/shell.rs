//! `zeitnot completions` and `zeitnot man`: what shells and `man` know of the command line, made from its declaration.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, ExitStatus, Failure, Output, with_all_in_help};

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell; its own documentation says where it looks for the file
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Write a page for each command (zeitnot.1, zeitnot-bench.1, …) into this folder instead
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Runs `completions`: writes the shell's completions.
pub(super) fn completions(args: &CompletionsArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut with_all_in_help(Cli::command()), "zeitnot", &mut text);
    write(output, &text)
}

/// Runs `man`: writes the program's page, or the pages of all commands into a folder.
pub(super) fn man(args: &ManArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    // A page names its command's version, and subcommands have none of their own.
    let command = with_all_in_help(Cli::command()).propagate_version(true).disable_help_subcommand(true);
    match &args.out {
        Some(folder) => {
            let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
            fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(command, folder).map_err(failed)?;
            Ok(ExitStatus::Success)
        }
        None => {
            let mut text = Vec::new();
            Man::new(command).render(&mut text)?;
            write(output, &text)
        }
    }
}

fn write(output: &mut Output, text: &[u8]) -> Result<ExitStatus, Failure> {
    let text = String::from_utf8_lossy(text);
    output.write(&text, &text)?;
    Ok(ExitStatus::Success)
}
