//! Files of openings: EPD and FEN lines, PGN, compressed or in a zip. The first byte chooses the ending of the file's name.

use zeitnot_engine::chess::Variant;
use zeitnot_lab::matches::Openings;

const ENDINGS: [&str; 6] = ["epd", "pgn", "epd.gz", "epd.zst", "pgn.bz2", "zip"];

/// Reads openings and plays all of them.
pub fn run(data: &[u8]) -> bool {
    let Some((choice, content)) = data.split_first() else {
        return false;
    };
    let ending = ENDINGS[usize::from(*choice) % ENDINGS.len()];
    let (_folder, path) = super::file(&format!("input.{ending}"), content);
    let Ok(openings) = Openings::read(&path, Some(20)) else {
        return false;
    };
    for pair in 0..openings.len().min(100) as u64 {
        openings
            .at(pair)
            .history(Variant::Chess960)
            .expect("checked when it was read");
    }
    true
}
