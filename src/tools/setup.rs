//! `zeitnot setup`: finds ONNX Runtime, or fetches it, and says what it found. No other command fetches anything.

use std::fmt;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use super::{ExitStatus, Failure, Output};
use crate::network::backends::onnxruntime::finder::Library;
use crate::network::backends::onnxruntime::{Provider, Runtime};
use crate::network::folders;

#[derive(Debug, Args)]
pub(super) struct SetupArgs {
    /// The kind of device that the library must be able to drive
    #[arg(long, value_name = "NAME", default_value = "cpu",
          value_parser = PossibleValuesParser::new(Provider::ALL.map(Provider::name)))]
    provider: String,
}

/// The library that was found.
#[derive(Serialize)]
struct RuntimeReport {
    library: String,
    version: String,
    source: crate::network::backends::onnxruntime::finder::LibrarySource,
    providers: Vec<&'static str>,
}

impl fmt::Display for RuntimeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "library    {} ({})", self.library, self.source)?;
        writeln!(f, "version    {}", self.version)?;
        writeln!(f, "providers  {}", self.providers.join(", "))
    }
}

/// Runs the command: finds or fetches ONNX Runtime.
pub(super) fn run(args: &SetupArgs, output: &mut Output) -> Result<ExitStatus, Failure> {
    folders::allow_fetching();
    let runtime = Runtime::get(Provider::named(&args.provider).unwrap_or(Provider::Cpu))?;
    let Library { path, version, source } = runtime.library().clone();
    let library = path.display().to_string();
    let setup = RuntimeReport { library, version, source, providers: runtime.providers() };
    output.write(&setup, &setup)?;
    Ok(ExitStatus::Success)
}
