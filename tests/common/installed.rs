//! A copy of the program in a folder of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use tempfile::TempDir;

use super::{program, run_with_input};

/// A folder with the program in it, so that files lie beside it.
pub struct Installed {
    folder: TempDir,
}

impl Installed {
    pub fn new() -> Installed {
        let folder = TempDir::new().unwrap();
        let installed = Installed { folder };
        let program = env!("CARGO_BIN_EXE_zeitnot");
        // A link costs nothing, but only on the same file system.
        if fs::hard_link(program, installed.program()).is_err() {
            fs::copy(program, installed.program()).unwrap();
        }
        installed
    }

    pub fn program(&self) -> PathBuf {
        self.path("zeitnot")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the configuration file, and returns its path.
    pub fn configure(&self, lines: &str) -> PathBuf {
        let path = self.path("zeitnot.config");
        fs::write(&path, lines).unwrap();
        path
    }

    /// Runs the program with `arguments` and `input`, which may not need more than its end, in another folder.
    pub fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = program(&self.program(), arguments);
        run_with_input(command.current_dir(env!("CARGO_TARGET_TMPDIR")), input)
    }

    /// Returns the default of an option as `uci` shows it.
    pub fn default_of(&self, option: &str, arguments: &[&str]) -> String {
        let output = self.run(arguments, "uci\n");
        let text = String::from_utf8(output.stdout).unwrap();
        let start = format!("option name {option} type ");
        let line = text.lines().find(|line| line.starts_with(&start));
        let line =
            line.unwrap_or_else(|| panic!("{option}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        line.split(" default ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .into()
    }
}
