//! What people should know beside the answers: of a network, a device, tables, or a search.

use std::fmt;

/// A message for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// News, such as what an option was taken for.
    Info(String),
    /// Something could not be done, and what was done instead.
    Error(String),
}

impl Note {
    /// Joins the texts of several notes into one line.
    pub fn join(notes: &[Note]) -> String {
        notes.iter().map(Note::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl<T: Into<String>> From<T> for Note {
    fn from(text: T) -> Note {
        Note::Info(text.into())
    }
}

impl fmt::Display for Note {
    /// Writes the text, behind `ERROR: ` for an error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Info(text) => f.write_str(text),
            Note::Error(text) => write!(f, "ERROR: {text}"),
        }
    }
}

/// Such as `no files`, `1 file` or `2 files`.
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
