//! Lines of EPD: four fields of a position, or the six of a FEN, and the operations behind them.

/// Splits a line of EPD or FEN into the position as FEN and the operations. A position without the two counters gets `0 1`.
/// What is no position stays none, for whoever reads the FEN.
pub fn split_epd(line: &str) -> (String, &str) {
    let mut rest = line.trim();
    let mut fields: Vec<_> = (0..4).map(|_| take_word(&mut rest)).collect();
    let mut behind = rest;
    let counters = [take_word(&mut behind), take_word(&mut behind)];
    if counters.iter().all(|word| word.parse::<u32>().is_ok()) {
        fields.extend(counters);
        rest = behind;
    } else {
        fields.extend(["0", "1"]);
    }
    (fields.join(" "), rest)
}

/// Takes the first word off a text.
fn take_word<'a>(text: &mut &'a str) -> &'a str {
    let (word, behind) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    *text = behind.trim_start();
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_and_operations_are_told_apart() {
        let fen = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -";
        for (line, counters, operations) in [
            ("", "0 1", ""),
            (" 3 41", "3 41", ""),
            (" bm b4f4; id \"x\";", "0 1", "bm b4f4; id \"x\";"),
            ("  3  41 bm b4f4;", "3 41", "bm b4f4;"),
            (" 12 bm b4f4;", "0 1", "12 bm b4f4;"),
        ] {
            assert_eq!(split_epd(&format!(" {fen}{line} ")), (format!("{fen} {counters}"), operations));
        }
    }
}
