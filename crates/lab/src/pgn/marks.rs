//! Marks that people write behind moves, and their numbers in the standard of PGN (NAG).

/// Their numbers and texts. 0 says no more than the move does.
const MARKS: [(u8, &str); 27] = [
    (1, "!"),
    (2, "?"),
    (3, "!! ‼"),
    (4, "?? ⁇"),
    (5, "!? ⁉"),
    (6, "?! ⁈"),
    (7, "□"),
    (10, "="),
    (13, "∞"),
    (14, "⩲ += +/="),
    (15, "⩱ =+ =/+"),
    (16, "± +/-"),
    (17, "∓ -/+"),
    (18, "+- +--"),
    (19, "-+ --+"),
    (22, "⊙"),
    (26, "○"),
    (32, "⟳"),
    (36, "↑"),
    (40, "→"),
    (44, "=/∞"),
    (132, "⇆"),
    (138, "⊕"),
    (142, "⌓"),
    (145, "RR"),
    (146, "N"),
    (0, "D ≅ ≠ † ‡ + # ++"),
];

/// What a word has before its marks, and their numbers.
pub(super) fn behind(word: &str) -> (&str, Vec<u8>) {
    let mut rest = word;
    let mut numbers = Vec::new();
    loop {
        let core = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &rest[core.len()..];
        let (before, number) = match core.strip_suffix(['$', '#']).filter(|_| !digits.is_empty()) {
            // Some escape the `$`, or write it twice. Behind a `#` stand the moves to the mate.
            Some(before) => {
                let number = if core.ends_with('$') { digits } else { "0" };
                let Ok(number) = number.parse() else { break };
                (before.trim_end_matches(['\\', '$']), number)
            }
            // Ends no mark, but nearly every word.
            None if rest.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.') => {
                break;
            }
            None => {
                let plain = rest.replace(['−', '–'], "-");
                let is_last = |mark: &str| {
                    plain.ends_with(mark) && (plain == mark || !mark.starts_with(char::is_alphabetic))
                };
                let marks = MARKS.iter().flat_map(|(number, all)| {
                    all.split(' ')
                        .map(move |mark| (mark.chars().count(), mark, *number))
                });
                let longest = marks
                    .filter(|(_, mark, _)| is_last(mark))
                    .max_by_key(|mark| mark.0);
                let Some((length, _, number)) = longest else { break };
                let start = rest.char_indices().rev().nth(length - 1);
                (&rest[..start.map_or(0, |(at, _)| at)], number)
            }
        };
        rest = before;
        numbers.insert(0, number);
    }
    numbers.retain(|number| *number > 0);
    (rest, numbers)
}
