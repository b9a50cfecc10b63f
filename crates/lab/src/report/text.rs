//! Other people's text in pages, pictures and terminals.

pub(super) fn escape(text: &str) -> String {
    let text = printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// At most `length` characters of a text.
pub fn cut(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.into();
    }
    let kept = text.chars().take(length.saturating_sub(1));
    kept.chain(['…']).take(length).collect()
}

/// Leaves out the characters of other people's text that no page, picture or terminal may get: those that
/// steer terminals or turn the direction of writing.
pub fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .filter(|&c| !c.is_control() && !turns(c) || matches!(c, '\n' | '\t'))
        .collect()
}
