//! Other people's text in pages, pictures and terminals.

pub(super) fn escape(text: &str) -> String {
    let text = printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Leaves out the characters of other people's text that no page, picture or terminal may get: those that
/// steer terminals or turn the direction of writing.
pub fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .filter(|&c| !c.is_control() && !turns(c) || matches!(c, '\n' | '\t'))
        .collect()
}
