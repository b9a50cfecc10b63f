//! The command that runs, as a user can paste it into a shell.

/// Returns the command line of this process.
pub(super) fn command_line() -> String {
    let given = std::env::args_os().skip(1);
    let words = given.map(|word| format!(" {}", quoted(&word.to_string_lossy())));
    format!("zeitnot{}", words.collect::<String>())
}

/// Returns `text` as a shell reads it as one word.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,=:".contains(c);
    let is_bare = !text.is_empty() && text.chars().all(is_plain);
    if is_bare { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
