//! Stands in for the page in a build without the laboratory, which has no plots.

use std::path::Path;

use super::document::Document;
use crate::tools::Failure;
use crate::tools::output::eprint_message;

/// Refuses to make a page.
///
/// # Errors
/// Always fails: [`Failure::Input`] says what this build can write.
pub(super) fn html(_: &Document) -> Result<String, Failure> {
    let text = "this build has no laboratory and writes no HTML: name a .md or .json file, or build with --features lab";
    Err(Failure::Input(text.into()))
}

/// Says that there is no page; the other files are written.
///
/// # Errors
/// Never fails in this build.
pub(super) fn write(_: &Document, _: &Path) -> Result<(), Failure> {
    eprint_message("this build has no laboratory: index.html and speed.svg are not written");
    Ok(())
}
