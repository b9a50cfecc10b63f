//! What the system and libraries say of a failure, and our words for it.
//!
//! Messages are in our words and in one line. GUIs take the system's for a failed start (xboard: "No such
//! file"), and libraries write paragraphs. The foreign text goes to the log of a UCI session, and to stderr
//! where `RUST_LOG` is set.

use std::fmt::Display;
use std::io::{self, Write};

use parking_lot::Mutex;

/// Shows foreign texts on stderr, unless it is empty or `off`.
pub const VERBOSE_VARIABLE: &str = "RUST_LOG";

/// What to set for that, in messages.
pub const VERBOSE_SETTING: &str = "RUST_LOG=info";

/// Who speaks most, in what is kept.
pub const ONNX_RUNTIME: &str = "ONNX Runtime";
pub const SYSTEM: &str = "the operating system";

/// Where the texts go beside stderr.
type Sink = Box<dyn Fn(&str) + Send>;

/// The log of the session that began last.
static LOG: Mutex<Option<Sink>> = Mutex::new(None);

/// Sends all texts to come to `log`, which may call nothing here but [`our_words`].
pub fn log_to(log: impl Fn(&str) + Send + 'static) {
    *LOG.lock() = Some(Box::new(log));
}

/// Keeps what `speaker` says.
pub fn record(speaker: &str, text: &dyn Display) {
    let text = format!("{speaker}: {}", one_line(&text.to_string()));
    if let Some(log) = &*LOG.lock() {
        log(&text);
    }
    if std::env::var_os(VERBOSE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "off") {
        // Where nobody can read it, the work goes on.
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// `text` with all its white space as single blanks.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the system refuses in our words. Its own are kept in the log.
pub fn in_our_words(error: &io::Error) -> String {
    record(SYSTEM, error);
    our_words(error)
}

/// Does the same and keeps nothing, for the log itself.
pub fn our_words(error: &io::Error) -> String {
    use io::ErrorKind;
    let words = match error.kind() {
        ErrorKind::UnexpectedEof => "data end early",
        // A reason without a number is ours, or of what unpacks.
        _ if error.raw_os_error().is_none() && error.get_ref().is_some() => {
            return one_line(&error.to_string());
        }
        ErrorKind::NotFound => "it does not exist",
        ErrorKind::PermissionDenied => "access to it is denied",
        ErrorKind::IsADirectory => "it is a folder",
        ErrorKind::NotADirectory => "a part of its path is no folder",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full",
        ErrorKind::ReadOnlyFilesystem => "its file system is read-only",
        ErrorKind::OutOfMemory | ErrorKind::WouldBlock => "the system has nothing left for it",
        _ => "the system refuses",
    };
    words.into()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn the_system_s_words_are_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let missing = File::open(folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("os error"));
        assert_eq!(in_our_words(&missing), "it does not exist");
        assert_eq!(
            in_our_words(&io::Error::from_raw_os_error(99_999)),
            "the system refuses"
        );
        assert_eq!(in_our_words(&io::Error::other("it is\nodd")), "it is odd");
        assert_eq!(
            in_our_words(&io::ErrorKind::PermissionDenied.into()),
            "access to it is denied"
        );
    }
}
