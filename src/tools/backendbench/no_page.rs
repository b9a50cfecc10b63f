//! The stand-in for the page in a build without the laboratory, which has no plots.

use std::path::Path;

use super::report::ThroughputReport;
use crate::tools::Failure;
use crate::tools::output::eprint_message;

/// Says that there is no page; the other files are written.
///
/// # Errors
/// Never fails in this build.
pub(super) fn write(_: &ThroughputReport, _: &Path) -> Result<(), Failure> {
    eprint_message(
        "this build has no laboratory: index.html, throughput.svg and latency.svg are not written",
    );
    Ok(())
}
